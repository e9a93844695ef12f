"""Barriers by exhaustive search: divergence is found exactly where threads part."""

import numpy as np
import pytest

from simt import cuda

from .harness import line, only, xray


def scripted(leaves, waits, out):
    t = cuda.grid(1)
    for step in range(leaves.shape[0]):
        if leaves[step, t]:
            return
        if waits[step, t]:
            cuda.syncthreads()
    out[t] = 1


def verdict(leaves: np.ndarray, waits: np.ndarray, block: int) -> set[str]:
    """Whether some thread of a block waits while another goes on, or has left."""
    found = set()
    for start in range(0, leaves.shape[1], block):
        gone = np.zeros(block, bool)
        for step in range(len(leaves)):
            gone |= leaves[step, start : start + block]
            here = waits[step, start : start + block] & ~gone
            if here.any() and not (here | gone).all():
                return {"barrier-divergence"}
            if here.any() and gone.any():
                found.add("left-before-barrier")
    return found


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_barriers_that_not_all_threads_meet(first: int) -> None:
    seen: set[str] = set()
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        block, grid, steps = int(rng.choice([32, 40, 64])), int(rng.integers(1, 4)), 3
        per_block = rng.random((steps, grid)) < 0.5
        waits = np.repeat(per_block, block, axis=1)
        leaves = np.zeros((steps, grid * block), bool)
        if rng.random() < 0.4:  # a whole block leaves: that is no mistake
            leaves[rng.integers(steps), :block] = True
        if rng.random() < 0.3:
            leaves[rng.integers(steps), rng.integers(grid * block)] = True
        if rng.random() < 0.3:
            waits[rng.integers(steps), rng.integers(grid * block)] ^= True
        want = verdict(leaves, waits, block)
        seen |= want or {"none"}
        out = np.zeros(grid * block)
        report = xray(scripted, grid, block, leaves, waits, out)
        found = {f.kind: f for f in report.findings}
        stopped = "barrier-divergence" in want
        # blocks run together: another's threads may have left before this one's part
        assert set(found) - {"left-before-barrier"} == want - {"left-before-barrier"}, seed
        assert stopped or set(found) == want, f"seed {seed}: {report.findings}"
        assert {f.line for f in report.findings} <= {line(scripted, "syncthreads")}
        if "left-before-barrier" in found:
            assert found["left-before-barrier"].other_line == line(scripted, "return")
            assert report.ok is not stopped
        if not stopped:
            stayed = ~leaves.any(axis=0)
            np.testing.assert_array_equal(out, stayed, err_msg=f"seed {seed}")
    assert seen == {"none", "barrier-divergence", "left-before-barrier"}


def count_those_left(out):
    i = cuda.grid(1)
    if i % 4 == 3:
        return
    out[0, i] = cuda.syncthreads_count(i % 2)
    out[1, i] = cuda.syncthreads_and(3 - i % 4)
    out[2, i] = cuda.syncthreads_or(i % 4 // 3)


def test_a_barrier_asks_only_those_who_have_not_left() -> None:
    out = np.full((3, 64), -1)
    report = xray(count_those_left, 2, 32, out)
    assert {f.kind for f in report.findings} == {"left-before-barrier"}
    stays = np.arange(64) % 4 != 3
    for row, want in zip(out, (8, 1, 0), strict=True):
        np.testing.assert_array_equal(row, np.where(stays, want, -1))


def heat(old, new, steps):
    i = cuda.grid(1)
    if i >= len(old):
        return
    everybody = cuda.cg.this_grid()
    for step in range(steps):
        source, target = (old, new) if step % 2 == 0 else (new, old)
        target[i] = 0.5 * (source[max(i - 1, 0)] + source[min(i + 1, len(old) - 1)])
        everybody.sync()


@pytest.mark.parametrize(("size", "kind"), [(96, ""), (65, "left-before-barrier")])
def test_the_whole_grid_waits_for_those_who_have_not_left(size: int, kind: str) -> None:
    pytest.importorskip("numba_cuda")  # Numba alone cannot judge this kernel
    old, new = np.random.default_rng(0).integers(0, 9, size).astype(float), np.zeros(size)
    want = old.copy()
    report = xray(heat, 3, 32, old, new, 6)
    assert [f.kind for f in report.findings] == ([kind] if kind else [])
    for _ in range(6):
        want = 0.5 * (want[np.maximum(np.arange(size) - 1, 0)] + np.append(want[1:], want[-1]))
    np.testing.assert_array_equal(old, want)


def test_a_block_whose_first_thread_has_left_never_tells_the_grid() -> None:
    report = xray(heat, 3, 32, np.zeros(64), np.zeros(64), 2)
    assert "not all blocks" in only(report, "barrier-divergence").message


@pytest.mark.parametrize(("grid", "block", "fits"), [(296, 1024, 1), (297, 1024, 0), (4737, 1, 0)])
def test_a_grid_that_waits_as_a_whole_has_to_fit_on_a_gpu(
    grid: int, block: int, fits: bool
) -> None:
    report = xray(heat, grid, block, np.zeros(grid * block), np.zeros(grid * block), 1)
    assert report.ok is bool(fits)
    if not fits:
        assert "at most" in only(report, "launch-limit").message
