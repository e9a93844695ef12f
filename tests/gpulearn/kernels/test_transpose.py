"""The transpose: which side of it loses, and that through shared memory none does."""

from __future__ import annotations

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.transpose import (
    TRANSPOSE_NAIVE,
    TRANSPOSE_TILED,
    TRANSPOSE_TO_ROWS,
    column_passes,
)

from .launched import launched


@pytest.mark.parametrize("specification", [TRANSPOSE_NAIVE, TRANSPOSE_TILED])
def test_reference_agrees_with_plain_python(specification):
    image = np.arange(6).reshape(2, 3)
    assert specification.reference(image, None)[0].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("specification", "sectors"),
    [(TRANSPOSE_NAIVE, (4, 32)), (TRANSPOSE_TO_ROWS, (32, 4)), (TRANSPOSE_TILED, (4, 4))],
)
def test_the_write_loses_or_the_read_does_or_none(specification, sectors):
    image, out = np.zeros((128, 256), np.float32), np.full((256, 128), np.nan, np.float32)
    totals = launched(specification, image, out).totals
    assert (totals.sectors_per_load, totals.sectors_per_store) == sectors
    assert totals.barriers == (4 * 8 * 32 if specification is TRANSPOSE_TILED else 0)
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
