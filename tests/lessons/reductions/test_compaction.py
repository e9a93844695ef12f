"""Compaction warp by warp: its reference against a plain loop, and what the kernel costs."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.reductions.scan import COMPACT_WARPS, compact_warps


def inputs(n):
    return np.random.default_rng(n).random(n, np.float32), poisoned(-(-n // 32), dtype=np.int32)


@pytest.mark.parametrize(("n", "limit"), [(1, 0.5), (31, 0.5), (32, -1), (500, 0.9), (640, 2)])
def test_what_is_wanted_stands_at_the_front_in_order(n, limit):
    values, counts = inputs(n)
    kept, counts = COMPACT_WARPS.reference(values, limit, np.zeros_like(values), counts)
    for warp, first in enumerate(range(0, n, 32)):
        part = values[first : first + 32]
        wanted = [v for v in part if v > limit]
        assert counts[warp] == len(wanted)
        assert kept[first : first + 32].tolist() == wanted + [0] * (len(part) - len(wanted))


def test_costs():
    values, counts = inputs(1280)
    given = [cuda.to_device(array) for array in (values, np.zeros_like(values), counts)]
    report = gl.xray(compact_warps)[10, 128](given[0], np.float32(0.5), *given[1:])
    assert not report.findings
    counted = report.totals
    assert counted.atomics == counted.barriers == counted.shared_load_wavefronts == 0
    assert counted.flops64 == 0
    assert counted.global_load_requests <= 2 * 40
