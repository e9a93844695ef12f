"""A kernel in which a few threads do the work of all is right, and is refused."""

import math

import numpy as np
import pytest

from gpulearn import cuda
from gpulearn.checker.diagnosis import diagnose
from gpulearn.checker.kernel_exercise import SHARE
from gpulearn.exercise.catalogue import find


def vector_add(a, b, out):  # the first block alone
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = a[i] + b[i]


def matrix_add_2d(a, b, out):  # a thread for each row
    x, y = cuda.grid(2)
    if x == 0 and y < out.shape[0]:
        for j in range(out.shape[1]):
            out[y, j] = a[y, j] + b[y, j]


def saxpy_grid_stride(alpha, x, y, out):  # the last block alone
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = alpha * x[i] + y[i]


def copy_coalesced(source, target):  # the first warp alone
    start = cuda.grid(1)
    if start < 32:
        for i in range(start, source.size, min(32, cuda.gridsize(1))):
            target[i] = source[i]


def soa_norms(x, y, z, out):  # the first block alone
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def column_sums(matrix, out):  # the first warp alone
    start = cuda.grid(1)
    if start < 32:
        for column in range(start, out.size, 32):
            total = np.float32(0)
            for row in range(matrix.shape[0]):
                total += matrix[row, column]
            out[column] = total


FEW = (vector_add, matrix_add_2d, saxpy_grid_stride, copy_coalesced, soa_norms, column_sums)


@pytest.mark.parametrize("answer", FEW, ids=lambda answer: answer.__name__)
def test_a_few_threads_that_do_everything_are_refused(answer):
    said = diagnose(find(answer.__name__), answer)
    assert said is not None
    assert said.startswith("the results are right, but for ")
    assert said.endswith(SHARE), said
