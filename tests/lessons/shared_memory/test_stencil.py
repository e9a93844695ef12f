"""The 1-D stencil, alone and shared: same numbers, other costs."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.shared_memory.stencil import (
    EDGES,
    RADIUS,
    STENCIL_1D,
    STENCIL_1D_NAIVE,
    WINDOW,
)

SUMS = STENCIL_1D_NAIVE, STENCIL_1D


def launch(specification, a, out):
    there = cuda.to_device(out)
    shape = specification.shape(a, out)
    report = gl.xray(specification.kernel)[shape](cuda.to_device(a), there)
    return there.copy_to_host(), report


@pytest.mark.parametrize("n", [1, RADIUS, 2 * RADIUS + 1, 20])
def test_the_reference_adds_what_lies_within_the_radius(n):
    a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float32)
    (sums,) = STENCIL_1D.reference(a, None)
    reach = [range(max(i - RADIUS, 0), min(i + RADIUS + 1, n)) for i in range(n)]
    assert sums.tolist() == [sum(float(a[j]) for j in near) for near in reach]


def test_the_reference_of_edges_takes_each_pixel_from_the_next():
    assert EDGES.reference(np.float32([[1, 4, 2], [0, 0, -5]]), None)[0].tolist() == [
        [3, 2],
        [0, 5],
    ]


@pytest.mark.parametrize("specification", SUMS, ids=lambda s: s.name)
@pytest.mark.parametrize("n", [RADIUS, BLOCK, BLOCK + 1, 1000])
def test_neighbours_are_added(specification, n):
    a = np.random.default_rng(n).normal(size=n).astype(np.float32)
    out, report = launch(specification, a, poisoned(n))
    assert not report.findings
    np.testing.assert_allclose(out, *specification.reference(a, out), rtol=1e-5, atol=1e-5)


def test_the_window_is_read_once():
    a = np.ones(8 * BLOCK, np.float32)
    naive, shared = (launch(s, a, poisoned(a.size))[1].totals for s in SUMS)
    reads = [t.bytes_requested // 4 - a.size for t in (naive, shared)]
    edges = 2 * sum(range(1, RADIUS + 1)), 2 * RADIUS  # beyond the ends nothing is read
    assert reads == [a.size * (2 * RADIUS + 1) - edges[0], 8 * WINDOW - edges[1]]
    assert shared.shared_load_conflicts == shared.shared_store_conflicts == 0
    assert shared.barriers == 8 * BLOCK // 32
    assert naive.flops64 == shared.flops64 == 0


@pytest.mark.parametrize("shape", [(1, 2), (3, BLOCK), (4, 300)])
def test_edges_are_differences_along_rows(shape):
    image = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    rows, columns = shape
    out, report = launch(EDGES, image, poisoned(rows, columns - 1))
    assert not report.findings
    np.testing.assert_array_equal(out, *EDGES.reference(image, out))
    halo = rows * ((columns - 1) // BLOCK)  # one pixel of the next block, where there is one
    assert report.arrays["image"].bytes_requested == 4 * (image.size + halo)
