"""Copies in every order: right everywhere, and at the price that notebook 04 states."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.kernels.copies import (
    copy_by_columns,
    copy_by_rows,
    copy_coalesced,
    copy_gather,
    copy_in_runs,
    copy_strided,
)

VECTORS = "float32[::1], float32[::1]"
PICTURES = "float32[:, ::1], float32[:, ::1]"
SIGNATURES = {
    copy_strided: f"void({VECTORS}, int64)",
    copy_gather: "void(float32[::1], int64[::1], float32[::1])",
    copy_by_columns: f"void({PICTURES})",
    copy_by_rows: f"void({PICTURES})",
    copy_in_runs: f"void({VECTORS})",
    copy_coalesced: f"void({VECTORS})",
}


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def launched(kernel, grid, block, out, *before, after=()):
    """The report of a launch and what it wrote into `out`, poisoned before."""
    device = cuda.to_device(np.full_like(out, np.nan))
    moved = [cuda.to_device(a) for a in before]
    report = xray(kernel)[grid, block](*moved, device, *after)
    assert report.ok, report
    assert not report.findings, report
    return report, device.copy_to_host()


def blocks(n: int, threads: int = 128) -> int:
    return -(-n // threads)


@pytest.mark.parametrize("n", [1, 31, 129, 1000])
@pytest.mark.parametrize("stride", [1, 2, 3, 8, 33])
def test_strided(n, stride):
    source = numbers((n - 1) * stride + 1)
    _, out = launched(copy_strided, blocks(n), 128, source[:n], source, after=(stride,))
    np.testing.assert_array_equal(out, source[::stride])


@pytest.mark.parametrize("n", [1, 31, 129, 1000])
def test_gathered(n):
    source = numbers(n)
    index = np.random.default_rng(n).permutation(n)
    _, out = launched(copy_gather, blocks(n), 128, source, source, index)
    np.testing.assert_array_equal(out, source[index])


@pytest.mark.parametrize("kernel", [copy_in_runs, copy_coalesced])
@pytest.mark.parametrize("n", [1, 31, 129, 1000])
@pytest.mark.parametrize(("grid", "block"), [(1, 1), (3, 32), (2, 48), (9, 128)])
def test_fewer_or_more_threads_than_elements(kernel, n, grid, block):
    source = numbers(n)
    _, out = launched(kernel, grid, block, source, source)
    np.testing.assert_array_equal(out, source)


@pytest.mark.parametrize("kernel", [copy_by_columns, copy_by_rows])
@pytest.mark.parametrize("shape", [(1, 1), (37, 70), (70, 37)])
@pytest.mark.parametrize("block", [(32, 8), (16, 16), (5, 7)])
def test_pictures(kernel, shape, block):
    image = numbers(*shape)
    grid = (blocks(max(shape), block[0]), blocks(max(shape), block[1]))
    _, out = launched(kernel, grid, block, image, image)
    np.testing.assert_array_equal(out, image)


# --- what they cost -------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
def test_sectors_of_a_stride(stride, sectors):
    source = numbers(512 * stride)
    report, _ = launched(copy_strided, 4, 128, source[:512], source, after=(stride,))
    assert report.totals.sectors_per_load == sectors
    assert report.totals.sectors_per_store == 4


def gathered(index):
    """Sectors of each request of the source, in a given order of its elements."""
    source = numbers(2**16)
    report, _ = launched(copy_gather, 512, 128, source, source, index)
    return report.arrays["source"].sectors_per_load


@pytest.mark.parametrize(("offset", "sectors"), [(0, 4), (1, 5), (7, 5), (8, 4)])
def test_sectors_of_an_offset(offset, sectors):
    index = np.minimum(np.arange(2**16) + offset, 2**16 - 1)
    assert gathered(index) == pytest.approx(sectors, abs=0.001)  # the end is cut


def test_backwards_costs_nothing_and_one_for_all_least():
    assert gathered(np.arange(2**16)[::-1].copy()) == 4
    assert gathered(np.zeros(2**16, int)) == 1


def test_order_within_a_warp_costs_nothing_and_across_warps_almost_everything():
    rng = np.random.default_rng(0)
    near = rng.permuted(np.arange(2**16).reshape(-1, 32), axis=1).ravel()
    assert gathered(near) == 4
    assert 31.5 < gathered(rng.permutation(2**16)) <= 32


@pytest.mark.parametrize(("block", "sectors"), [((32, 8), 32), ((16, 16), 16), ((8, 32), 8)])
def test_x_as_the_row_walks_down_columns(block, sectors):
    image = numbers(256, 512)
    columns, rows = 512 // block[1], 256 // block[0]
    slow, _ = launched(copy_by_columns, (rows, columns), block, image, image)
    assert slow.totals.sectors_per_load == slow.totals.sectors_per_store == sectors
    fast, _ = launched(copy_by_rows, (512 // block[0], 256 // block[1]), block, image, image)
    assert fast.totals.sectors_per_load == fast.totals.sectors_per_store == 4


def test_runs_cost_eight_times_the_traffic():
    source = numbers(2**14)
    runs, _ = launched(copy_in_runs, 2, 128, source, source)
    side_by_side, _ = launched(copy_coalesced, 2, 128, source, source)
    assert runs.totals.bytes_moved == 8 * side_by_side.totals.bytes_moved
    assert side_by_side.totals.bytes_moved == side_by_side.totals.bytes_requested
