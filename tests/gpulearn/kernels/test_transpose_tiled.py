"""The transpose through shared memory: right for any size, coalesced, and without conflicts."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.transpose_tiled import TILE, TRANSPOSE_TILED, column_passes

from .launched import launched


def turned(image):
    """The report of a launch, held against the reference."""
    return launched(TRANSPOSE_TILED, image, np.full(image.shape[::-1], np.nan, np.float32))


@pytest.mark.parametrize("shape", [(1, 70), (33, 31), (40, 72)])
def test_the_picture_is_turned(shape):
    turned(np.random.default_rng(1).normal(size=shape).astype(np.float32))


def test_costs():
    totals = turned(np.zeros((4 * TILE, 2 * TILE), np.float32)).totals
    assert (totals.sectors_per_load, totals.sectors_per_store) == (4, 4)
    assert totals.barriers == 4 * 2 * TILE
    assert totals.shared_load_conflicts == totals.shared_store_conflicts == 0


@pytest.mark.parametrize("side", [8, 16, 32])
@pytest.mark.parametrize("spare", [0, 1, 2, 8])
def test_the_passes_of_a_column_are_those_that_the_machine_counts(side, spare):
    width = side + spare

    @cuda.jit
    def turn(out):
        tile = cuda.shared.array((side, width), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tile[ty, tx] = tx
        cuda.syncthreads()
        out[ty, tx] = tile[tx, ty]

    report = gl.xray(turn)[1, (side, side)](cuda.to_device(np.zeros((side, side), np.float32)))
    warps = side * side // 32
    assert column_passes(side, width) == report.totals.shared_load_wavefronts / warps
