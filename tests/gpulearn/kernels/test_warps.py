"""Warps and lanes, and the same work with and without lanes that part."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray

from .launched import launched
from .lesson_kernels import STRIPES, WARPS_AND_LANES

warps_and_lanes = WARPS_AND_LANES.kernel


@pytest.mark.parametrize("block", [(32, 2), (16, 4), (5, 7), (33, 1)])
def test_threads_are_counted_with_x_fastest(block):
    x, y = block
    warp, lane = (cuda.to_device(np.full((2 * y, 3 * x), -1, np.int32)) for _ in range(2))
    report = xray(warps_and_lanes)[(3, 2), block](warp, lane)
    assert not report.findings, report
    number = np.tile(np.arange(x * y).reshape(y, x), (2, 3))
    got = warp.copy_to_host(), lane.copy_to_host()
    np.testing.assert_array_equal(got, (number // 32, number % 32))
    np.testing.assert_array_equal(got, WARPS_AND_LANES.reference(*got, block=block))


def test_a_thread_more_is_a_warp_more():
    counts = []
    for threads in (32, 33, 64):
        places = (cuda.to_device(np.zeros((1, threads), np.int32)) for _ in range(2))
        counts.append(xray(warps_and_lanes)[1, (threads, 1)](*places).totals)
    assert counts[1].instructions == counts[2].instructions == 2 * counts[0].instructions
    assert [c.lanes_per_instruction for c in counts] == [32, 16.5, 32]


def striped(image, width):
    """The report of a launch, held against the reference."""
    return launched(STRIPES, image, np.full_like(image, np.nan), width, block=(32, 8))


def test_every_other_stripe_is_darkened_in_a_picture_that_no_block_divides():
    striped(np.random.default_rng(3).random((9, 33), np.float32), 3)
    image = np.full((1, 5), 0.25, np.float32)
    assert STRIPES.reference(image, image, 2)[0].tolist() == [[0.125, 0.125, 0.75, 0.75, 0.125]]


def test_every_warp_parts_or_none():
    image = np.zeros((64, 128), np.float32)
    narrow, wide = striped(image, 1), striped(image, 32)
    assert narrow.totals.divergent_branches == 64 * 128 // 32
    assert wide.totals.divergent_branches == 0
    assert wide.totals.lanes_per_instruction == 32 > narrow.totals.lanes_per_instruction
    assert narrow.totals.instructions > wide.totals.instructions
    assert narrow.totals.bytes_requested == wide.totals.bytes_requested
    assert narrow.totals.global_store_sectors == 2 * wide.totals.global_store_sectors
