"""Kernels that exchange values inside a block: their references, and what they cost."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.blocks import (
    BLOCK,
    BLOCK_SUM,
    REVERSE_BLOCK,
    SMOOTH_BLOCK,
    TIMES,
    block_sum,
    reverse_block,
    smooth_block,
)
from gpulearn.kernels.specification import poisoned

SIZES = [1, BLOCK, BLOCK + 1, 1000]
WARPS = BLOCK // 32


def stretches(a):
    return [a[start : start + BLOCK] for start in range(0, len(a), BLOCK)]


@pytest.mark.parametrize("n", SIZES)
def test_the_references_equal_loops_over_each_stretch(n):
    a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float32)
    (turned,) = REVERSE_BLOCK.reference(a)
    (sums,) = BLOCK_SUM.reference(a, None)
    (smoothed,) = SMOOTH_BLOCK.reference(a, None)
    assert turned.tolist() == [x for s in stretches(a.tolist()) for x in reversed(s)]
    assert sums.tolist() == [sum(s) for s in stretches(a.tolist())]
    expected = a.tolist()
    for _ in range(TIMES):
        last = list(expected)
        for i in range(n):
            left = last[i - 1] if i % BLOCK else last[i]
            right = last[i + 1] if i + 1 < n and (i + 1) % BLOCK else last[i]
            expected[i] = (left + last[i] + right) / 3
    np.testing.assert_allclose(smoothed, expected, rtol=1e-6, atol=1e-6)


def test_costs():
    a = cuda.to_device(np.ones(10 * BLOCK, np.float32))
    turned = gl.xray(reverse_block)[10, BLOCK](a).totals
    assert (turned.sectors_per_load, turned.sectors_per_store) == (4, 4)
    assert turned.barriers == 10 * WARPS
    summed = gl.xray(block_sum)[10, BLOCK](a, cuda.to_device(np.zeros(10, np.float32))).totals
    assert summed.barriers == 10 * WARPS * 7  # log₂ 128
    smoothed = gl.xray(smooth_block)[10, BLOCK](a, cuda.to_device(poisoned(10 * BLOCK))).totals
    assert smoothed.barriers == 10 * WARPS * 2 * TIMES
    for totals in (turned, summed, smoothed):
        assert totals.shared_load_conflicts == totals.shared_store_conflicts == 0
        assert totals.flops64 == 0
