"""Scans: equal to NumPy's running sums, and the additions that each makes."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.reductions.scan import (
    ADD_OFFSETS,
    EXCLUSIVE_SCAN,
    SCAN_BLELLOCH,
    SCAN_BLOCKS,
    SCAN_HILLIS_STEELE,
    add_offsets,
    exclusive_scan,
    scan_blelloch,
    scan_blocks,
    scan_hillis_steele,
)


def values(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)


def xrayed(kernel, grid, block, given):
    out = cuda.to_device(np.full(given.size, 987_654, np.int32))
    report = gl.xray(kernel)[grid, block](cuda.to_device(given), out)
    assert not report.findings
    return report, out.copy_to_host()


@pytest.mark.parametrize("n", [0, 1, 2, 64, 1000])
def test_the_references_equal_a_loop_over_the_values(n):
    given = values(n)
    before, after, total = [], [], 0
    for value in given.tolist():
        before.append(total)
        total += value
        after.append(total)
    out = np.empty(n, np.int32)
    assert SCAN_HILLIS_STEELE.reference(given, out)[0].tolist() == after
    assert EXCLUSIVE_SCAN.reference(given, out)[0].tolist() == before
    blocks = -(-n // 64)
    scanned, totals = SCAN_BLOCKS.reference(given, out, np.empty(blocks, np.int32), block=64)
    (offsets,) = EXCLUSIVE_SCAN.reference(totals, totals)
    assert totals.sum() == total
    assert [scanned[i] for i in range(0, n, 64)] == [0] * blocks
    assert ADD_OFFSETS.reference(scanned, offsets, block=64)[0].tolist() == before


@pytest.mark.parametrize(
    ("specification", "n", "block"),
    [
        *((SCAN_HILLIS_STEELE, n, n) for n in (1, 33, 256)),
        *((SCAN_BLELLOCH, n, n) for n in (1, 64, 256)),
    ],
)
def test_one_block_is_scanned(specification, n, block):
    _, out = xrayed(specification.kernel, 1, block, values(n))
    np.testing.assert_array_equal(out, *specification.reference(values(n), out))


@pytest.mark.parametrize("n", [1, 64, 1000])
def test_three_launches_scan_many_blocks(n):
    blocks = -(-n // 64)
    given, out = cuda.to_device(values(n)), cuda.to_device(np.zeros(n, np.int32))
    totals, offsets = (cuda.to_device(np.zeros(blocks, np.int32)) for _ in range(2))
    scan_blocks[blocks, 64](given, out, totals)
    exclusive_scan[1, 64](totals, offsets)
    add_offsets[blocks, 64](out, offsets)
    expected = EXCLUSIVE_SCAN.expected(values(n), np.empty(n, np.int32))
    np.testing.assert_array_equal(out.copy_to_host(), expected[1])


def test_blelloch_adds_less_and_waits_more():
    rounds = {k: xrayed(k, 1, 256, values(256))[0] for k in (scan_hillis_steele, scan_blelloch)}
    flat, tree = rounds[scan_hillis_steele].totals, rounds[scan_blelloch].totals
    assert flat.barriers == 8 * (1 + 2 * 8)
    assert tree.barriers == 8 * (2 + 2 * 8)
    assert flat.shared_load_conflicts == 0 < tree.shared_load_conflicts

    def additions(kernel, text):
        report = rounds[kernel]
        return sum(
            report.lines[n].active_lanes for n, line in report.source.items() if text in line
        )

    assert additions(scan_hillis_steele, "s[t] += before") == 8 * 256
    assert additions(scan_blelloch, "s[right] +=") == 2 * 255
