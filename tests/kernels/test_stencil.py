"""The 1-D stencil, alone and shared: same numbers, other costs."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.stencil import RADIUS, WINDOW, edges, stencil_1d, stencil_1d_naive

SIGNATURES = {
    edges: "void(float32[:, ::1], float32[:, ::1])",
    stencil_1d_naive: "void(float32[::1], float32[::1])",
    stencil_1d: "void(float32[::1], float32[::1])",
}
SUMS = stencil_1d_naive, stencil_1d


def launch(kernel, a):
    out = cuda.to_device(np.full(a.size, np.nan, np.float32))
    report = gl.xray(kernel)[-(-a.size // BLOCK), BLOCK](cuda.to_device(a), out)
    return out.copy_to_host(), report


@pytest.mark.parametrize("kernel", SUMS)
@pytest.mark.parametrize("n", [1, RADIUS, 2 * RADIUS + 1, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
def test_neighbours_are_added(kernel, n):
    a = np.random.default_rng(n).normal(size=n).astype(np.float32)
    out, report = launch(kernel, a)
    padded = np.pad(a.astype(np.float64), RADIUS)
    expected = sum(padded[k : k + n] for k in range(2 * RADIUS + 1))
    assert not report.findings
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_the_window_is_read_once():
    a = np.ones(8 * BLOCK, np.float32)
    naive, shared = (launch(kernel, a)[1].totals for kernel in SUMS)
    reads = [t.bytes_requested // 4 - a.size for t in (naive, shared)]
    edges = 2 * sum(range(1, RADIUS + 1)), 2 * RADIUS  # beyond the ends nothing is read
    assert reads == [a.size * (2 * RADIUS + 1) - edges[0], 8 * WINDOW - edges[1]]
    assert shared.shared_load_conflicts == shared.shared_store_conflicts == 0
    assert shared.barriers == 8 * BLOCK // 32
    assert naive.flops64 == shared.flops64 == 0


@pytest.mark.parametrize("shape", [(1, 2), (3, BLOCK), (2, BLOCK + 1), (4, 300), (5, 2 * BLOCK)])
def test_edges_are_differences_along_rows(shape):
    image = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    rows, columns = shape
    out = cuda.to_device(np.full((rows, columns - 1), np.nan, np.float32))
    grid = -(-columns // BLOCK), rows
    report = gl.xray(edges)[grid, BLOCK](cuda.to_device(image), out)
    assert not report.findings
    np.testing.assert_array_equal(out.copy_to_host(), abs(np.diff(image)))
    halo = rows * ((columns - 1) // BLOCK)  # one pixel of the next block, where there is one
    assert report.arrays["image"].bytes_requested == 4 * (image.size + halo)
