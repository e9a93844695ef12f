"""The 1-D stencil, alone and shared: same numbers, other costs."""

import numpy as np
import pytest

from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.shared_memory.stencil import RADIUS, STENCIL_1D, STENCIL_1D_NAIVE, WINDOW
from tests.gpulearn.kernels.launched import launched
from tests.gpulearn.kernels.lesson_kernels import EDGES


@pytest.mark.parametrize("n", [1, RADIUS, 2 * RADIUS + 1, 20])
def test_the_reference_adds_what_lies_within_the_radius(n):
    a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float32)
    (sums,) = STENCIL_1D.reference(a, None)
    reach = [range(max(i - RADIUS, 0), min(i + RADIUS + 1, n)) for i in range(n)]
    assert sums.tolist() == [sum(float(a[j]) for j in near) for near in reach]


@pytest.mark.parametrize("n", [RADIUS, BLOCK, BLOCK + 1, 1000])
def test_neighbors_are_added(n):
    a = np.random.default_rng(n).normal(size=n).astype(np.float32)
    launched(STENCIL_1D_NAIVE, a, poisoned(n), rtol=1e-5, atol=1e-5)


def test_the_window_is_read_once():
    a = np.ones(8 * BLOCK, np.float32)
    naive, shared = (
        launched(s, a, poisoned(a.size)).totals for s in (STENCIL_1D_NAIVE, STENCIL_1D)
    )
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
    report = launched(EDGES, image, poisoned(rows, columns - 1))
    halo = rows * ((columns - 1) // BLOCK)  # one pixel of the next block, where there is one
    assert report.arrays["image"].bytes_requested == 4 * (image.size + halo)
