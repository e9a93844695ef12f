"""Barriers by exhaustive search: divergence is found exactly where threads part."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda

from .harness import findings, line


def scripted(leaves, waits, out):
    t = cuda.grid(1)
    for step in range(leaves.shape[0]):
        if leaves[step, t]:
            return
        if waits[step, t]:
            cuda.syncthreads()
    out[t] = 1


def diverges(leaves: np.ndarray, waits: np.ndarray, block: int) -> bool:
    """Whether some thread of a block waits while another goes on, or has left."""
    for start in range(0, leaves.shape[1], block):
        gone = np.zeros(block, bool)
        for step in range(len(leaves)):
            gone |= leaves[step, start : start + block]
            here = waits[step, start : start + block] & ~gone
            if here.any() and not here.all():
                return True
    return False


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_barriers_that_not_all_threads_meet(first: int) -> None:
    seen = set()
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
        want = diverges(leaves, waits, block)
        seen.add(want)
        out = cuda.to_device(np.zeros(grid * block))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = cuda.to_device(leaves), cuda.to_device(waits), out
            report = gl.xray(scripted)[grid, block](*args)
        found = findings(report, "barrier-divergence")
        assert bool(found) is want, f"seed {seed}: {report.findings}"
        if want:
            assert line(scripted, "syncthreads") in (found[0].line, found[0].other_line)
        else:
            stayed = ~leaves.any(axis=0)
            np.testing.assert_array_equal(out.copy_to_host(), stayed, err_msg=f"seed {seed}")
    assert seen == {True, False}
