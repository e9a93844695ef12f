"""Compaction warp by warp, against a plain loop and under the machine."""

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.reductions.compaction import COMPACT_WARPS, compact_warps

from tests.gpulearn.kernels.launched import launched

SIGNATURES = {compact_warps: "void(float32[::1], float32, float32[::1], int32[::1])"}


@pytest.mark.parametrize("block", [32, 96, 128])
@pytest.mark.parametrize(
    ("n", "limit"), [(1, 0.5), (31, 0.5), (32, -1), (33, 0.5), (500, 0.9), (640, 2)]
)
def test_what_is_wanted_stands_at_the_front_in_order(n, limit, block):
    values = np.random.default_rng(n).random(n, np.float32)
    given = (
        values,
        np.float32(limit),
        np.zeros(n, np.float32),
        poisoned(-(-n // 32), dtype=np.int32),
    )
    counted = launched(COMPACT_WARPS, *given, block=block).totals
    assert counted.atomics == counted.barriers == counted.shared_load_wavefronts == 0
    assert counted.flops64 == 0
    assert counted.global_load_requests <= 2 * -(-n // 32)
    kept, counts = COMPACT_WARPS.reference(*given)
    for warp, first in enumerate(range(0, n, 32)):
        wanted = [v for v in values[first : first + 32] if v > limit]
        assert counts[warp] == len(wanted)
        rest = len(values[first : first + 32]) - len(wanted)
        assert kept[first : first + 32].tolist() == wanted + [0] * rest
