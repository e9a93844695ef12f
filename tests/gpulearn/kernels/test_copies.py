"""Copies in every order: right everywhere, and at the price that notebook 04 states."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn.kernels.copies import COPY_BY_ROWS, COPY_COALESCED, COPY_IN_RUNS, COPY_STRIDED

from .launched import launched
from .lesson_kernels import COPY_BY_COLUMNS, COPY_GATHER, CUT_OUT, EVERY_EIGHTH


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def empty(*shape):
    return np.full(shape, np.nan, np.float32)


def test_references_agree_with_plain_python():
    source, index = numbers(7), np.array([6, 0, 3])
    strided = [source[3 * i] for i in range(3)]
    assert COPY_STRIDED.reference(source, empty(3), 3)[0].tolist() == strided
    gathered = [source[i] for i in index.tolist()]
    assert COPY_GATHER.reference(source, index, empty(3))[0].tolist() == gathered
    for copy in (COPY_BY_COLUMNS, COPY_BY_ROWS, COPY_IN_RUNS, COPY_COALESCED):
        assert copy.reference(source, empty(7))[0].tolist() == source.tolist()


@pytest.mark.parametrize(("n", "grid", "block"), [(1000, 3, 32), (1, 9, 128)])
def test_fewer_or_more_threads_than_elements(n, grid, block):
    launched(COPY_IN_RUNS, numbers(n), empty(n), grid=grid, block=block)


def test_a_picture_that_no_block_divides_is_copied_by_columns():
    args = numbers(37, 70), empty(37, 70)
    launched(COPY_BY_COLUMNS, *args, grid=(5, 5), block=(16, 16))


def test_parts_of_a_picture():
    """Held against a loop: the references are slices, as the kernels' indices are sums."""
    image = numbers(203, 254)
    there = launched(CUT_OUT, image, empty(27, 46))
    assert there.totals.sectors_per_load == pytest.approx(4, abs=1)
    assert CUT_OUT.reference(image, empty(3, 2))[0][2, 1] == image[178, 209]
    image = numbers(64, 512)
    assert launched(EVERY_EIGHTH, image, empty(8, 64)).totals.sectors_per_load == 32
    assert EVERY_EIGHTH.reference(image, empty(3, 2))[0][2, 1] == image[16, 8]


# --- what they cost -------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
def test_sectors_of_a_stride(stride, sectors):
    report = launched(COPY_STRIDED, numbers(512 * stride), empty(512), stride)
    assert report.totals.sectors_per_load == sectors
    assert report.totals.sectors_per_store == 4


@pytest.mark.parametrize(("block", "sectors"), [((32, 8), 32), ((16, 16), 16), ((8, 32), 8)])
def test_x_as_the_row_walks_down_columns(block, sectors):
    args = (numbers(256, 512), empty(256, 512))
    slow = launched(COPY_BY_COLUMNS, *args, block=block)
    assert slow.totals.sectors_per_load == slow.totals.sectors_per_store == sectors
    fast = launched(COPY_BY_ROWS, *args, block=block)
    assert fast.totals.sectors_per_load == fast.totals.sectors_per_store == 4


def test_runs_cost_eight_times_the_traffic():
    args = (numbers(2**14), empty(2**14))
    runs, side_by_side = (launched(s, *args, grid=2) for s in (COPY_IN_RUNS, COPY_COALESCED))
    assert runs.totals.bytes_moved == 8 * side_by_side.totals.bytes_moved
    assert side_by_side.totals.bytes_moved == side_by_side.totals.bytes_requested
