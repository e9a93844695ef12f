"""The kernels in C++ against their twins in Numba, and the sums that foresee launch and PTX."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.judge.kernel_exercise import simulate
from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM, block_sum
from gpulearn.kernels.transpose import transpose_tiled
from gpulearn.kernels.vectors import saxpy_grid_stride
from gpulearn_lessons.cuda_cpp.cpp_costs import launch_configuration, read_ptx
from gpulearn_lessons.cuda_cpp.cpp_sources import BLOCK_SUM_CPP, SAXPY_CPP, TRANSPOSE_CPP
from gpulearn_lessons.cuda_cpp.read_ptx import cases
from gpulearn_lessons.shared_memory import transpose_tiled as of_transpose
from simt.cpp import cpp

pytestmark = pytest.mark.usefixtures("_nvrtc")

MEMORY = ("sectors", "requests", "wavefronts", "conflicts", "barriers", "bytes")


def of_memory(report):
    return {
        name: value
        for name, value in vars(report.totals).items()
        if name.endswith(MEMORY) or name.startswith(MEMORY)
    }


def test_the_transpose_costs_what_its_twin_does():
    for launch in of_transpose.cases():
        twin = simulate(transpose_tiled, launch)
        given = (*launch.args, *launch.args[0].shape)
        ours = simulate(TRANSPOSE_CPP, replace(launch, args=given))
        np.testing.assert_array_equal(ours.results[0], launch.args[0].T)
        assert of_memory(ours.report) == of_memory(twin.report)


@pytest.mark.parametrize(("n", "grid", "block"), [(256, 2, 64), (1000, 8, 16), (41, 1, 1)])
def test_saxpy_is_its_twin(n, grid, block):
    x, y = np.random.default_rng(n).random((2, n), np.float32)
    mine, theirs = np.zeros_like(x), np.zeros_like(x)
    ours = gl.xray(SAXPY_CPP)[grid, block](np.float32(2.5), x, y, mine, n)
    twin = gl.xray(saxpy_grid_stride)[grid, block](np.float32(2.5), x, y, theirs)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert ours.ok
    assert ours.totals.flops32 == twin.totals.flops32
    assert ours.totals.bytes_requested == twin.totals.bytes_requested


@pytest.mark.parametrize("n", [3 * BLOCK, BLOCK + 1, 5])
def test_the_block_sum_needs_one_barrier_where_its_twin_needs_seven(n):
    a = np.random.default_rng(n).random(n, np.float32)
    blocks = -(-n // BLOCK)
    out, other = np.zeros(blocks, np.float32), np.zeros(blocks, np.float32)
    ours = gl.xray(BLOCK_SUM_CPP)[blocks, BLOCK](a, out, n)
    twin = gl.xray(block_sum)[blocks, BLOCK](a, other)
    np.testing.assert_allclose(out, BLOCK_SUM.reference(a, other)[0], rtol=1e-5)
    assert ours.ok
    assert twin.totals.barriers == 7 * ours.totals.barriers


def test_what_is_foreseen_is_what_the_compiler_makes():
    """Every case of the exercise, compiled and carried out by one warp."""
    x = cuda.to_device(np.ones(32, np.float32))
    for case in cases():
        outputs, restrict, f = case.args
        promise = "__restrict__" if restrict else ""
        arrays = "".join(f", float* {promise} y{k}" for k in range(1, outputs + 1))
        body = "".join(f"y{k}[i] = {k + 1}.0{f} * x[i] + 1.0{f};\n" for k in range(1, outputs + 1))
        source = (
            f"__global__ void f(const float* {promise} x{arrays})\n"
            f"{{ int i = threadIdx.x;\n{body}}}"
        )
        ys = [cuda.to_device(np.zeros(32, np.float32)) for _ in range(outputs)]
        totals = gl.xray(cpp(source)["f"])[1, 32](x, *ys).totals
        seen = (totals.global_load_requests, totals.global_store_requests)
        assert (*seen, totals.flops32 // 32, totals.flops64 // 32) == read_ptx(*case.args)


TILED = r"""
__global__ void matmul(const float* a, const float* b, float* c, int rows, int inner, int columns)
{
    extern __shared__ float tiles[];
    int tile = blockDim.x, tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * tile + tx, row = blockIdx.y * tile + ty;
    float* mine = tiles;
    float* other = tiles + tile * tile;
    float sum = 0.0f;
    for (int k = 0; k < inner; k += tile) {
        mine[ty * tile + tx] = row < rows && k + tx < inner ? a[row * inner + k + tx] : 0.0f;
        other[ty * tile + tx] =
            k + ty < inner && column < columns ? b[(k + ty) * columns + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += mine[ty * tile + i] * other[i * tile + tx];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
"""


@pytest.mark.parametrize(("rows", "columns", "tile"), [(48, 64, 16), (50, 70, 16), (7, 5, 8)])
def test_a_product_through_tiles_is_complete_in_that_launch_and_needs_all_of_it(
    rows, columns, tile
):
    rng = np.random.default_rng(rows)
    a, b = rng.random((rows, 20), np.float32), rng.random((20, columns), np.float32)
    kernel, (grid, block, count) = cpp(TILED)["matmul"], launch_configuration(rows, columns, tile)

    def product(grid, count):
        c = np.full((rows, columns), np.nan, np.float32)
        report = gl.xray(kernel)[grid, block, 0, count](a, b, c, rows, 20, columns)
        return c, report.ok

    c, ok = product(grid, count)
    assert ok
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert not product(grid, count - 4)[1]  # the tiles need every byte
    for axis in (0, 1):  # and the result every block
        fewer = tuple(n - (k == axis) for k, n in enumerate(grid))
        assert min(fewer) == 0 or np.isnan(product(fewer, count)[0]).any()
