"""The transpose through shared memory: right for any size, and without conflicts if padded."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.transpose_tiled import TILE, transpose_conflicts, transpose_tiled

SIGNATURES = {
    transpose_conflicts: "void(float32[:, ::1], float32[:, ::1])",
    transpose_tiled: "void(float32[:, ::1], float32[:, ::1])",
}


def launch(kernel, a):
    h, w = a.shape
    out = cuda.to_device(np.full((w, h), np.nan, np.float32))
    grid = -(-w // TILE), -(-h // TILE)
    report = gl.xray(kernel)[grid, (TILE, TILE)](cuda.to_device(a), out)
    return out.copy_to_host(), report


@pytest.mark.parametrize("kernel", SIGNATURES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (32, 64), (33, 31), (40, 72)])
def test_the_picture_is_turned(kernel, shape):
    a = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    out, report = launch(kernel, a)
    assert not report.findings
    np.testing.assert_array_equal(out, a.T)


def test_padding_takes_the_conflicts_away():
    a = np.zeros((4 * TILE, 2 * TILE), np.float32)
    conflicting, padded = (launch(kernel, a)[1].totals for kernel in SIGNATURES)
    warps = 4 * 2 * TILE
    for totals in (conflicting, padded):
        assert (totals.sectors_per_load, totals.sectors_per_store) == (4, 4)
        assert totals.barriers == warps
        assert totals.shared_store_conflicts == 0
    assert conflicting.shared_load_conflicts == warps * 31
    assert padded.shared_load_conflicts == 0
