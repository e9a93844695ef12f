"""Compaction warp by warp, against a plain loop and under the machine."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.reductions.compaction import COMPACT_WARPS, compact_warps


def launched(n, limit, block):
    values = np.random.default_rng(n).random(n, np.float32)
    kept, counts = np.zeros(n, np.float32), poisoned(-(-n // 32), dtype=np.int32)
    there = [cuda.to_device(x) for x in (values, kept, counts)]
    grid, block = COMPACT_WARPS.shape(values, limit, kept, counts, block=block)
    report = gl.xray(compact_warps)[grid, block](there[0], np.float32(limit), *there[1:])
    assert not report.findings
    return values, there[1].copy_to_host(), there[2].copy_to_host(), report


@pytest.mark.parametrize("block", [32, 96, 128])
@pytest.mark.parametrize(
    ("n", "limit"), [(1, 0.5), (31, 0.5), (32, -1), (33, 0.5), (500, 0.9), (640, 2)]
)
def test_what_is_wanted_stands_at_the_front_in_order(n, limit, block):
    values, kept, counts, _ = launched(n, limit, block)
    for warp, first in enumerate(range(0, n, 32)):
        wanted = [v for v in values[first : first + 32] if v > limit]
        assert counts[warp] == len(wanted)
        rest = len(values[first : first + 32]) - len(wanted)
        assert kept[first : first + 32].tolist() == wanted + [0] * rest
    expected = COMPACT_WARPS.reference(values, limit, kept, counts)
    np.testing.assert_array_equal(kept, expected[0])
    np.testing.assert_array_equal(counts, expected[1])


def test_costs():
    *_, report = launched(1280, 0.5, 128)
    counted = report.totals
    assert counted.atomics == counted.barriers == counted.shared_load_wavefronts == 0
    assert counted.flops64 == 0
    assert counted.global_load_requests <= 2 * 40
