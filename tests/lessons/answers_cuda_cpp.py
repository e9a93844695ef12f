"""Answers to the exercises of notebook 09."""

import numpy as np

from simt.cpp.source import CppSource


def cpp(name, kernel, text):
    """A name for the test, and the text of a kernel."""
    return CppSource(name, text, kernel)


def launch_of_whole_threads(rows, columns, tile):
    return (columns, rows), (1, 1), 8 * tile * tile


def launch_without_bytes(rows, columns, tile):
    return (-(-columns // tile), -(-rows // tile)), (tile, tile)


SAXPY = "__global__ void saxpy(float alpha, const float* x, const float* y, float* out, int n)\n"
first_block = cpp(
    "first_block",
    "saxpy",
    SAXPY
    + """{
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = alpha * x[i] + y[i];
}""",
)
by_bytes = cpp(
    "by_bytes",
    "saxpy",
    SAXPY
    + """{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[4 * i] = alpha * x[4 * i] + y[4 * i];
}""",
)


def launch_of_an_enormous_grid(rows, columns, tile):
    return (10**400, 1), (tile, tile), 8 * tile**2


def launch_of_arrays(rows, columns, tile):
    return (np.array([4, 3]), np.array([1, 1])), (tile, tile), 8 * tile**2


WRONG = [
    ("launch_configuration", launch_of_an_enormous_grid, "the grid is (10000"),
    (
        "launch_configuration",
        launch_of_arrays,
        "the grid is (array([4, 3]), array([1, 1])), expected",
    ),
    ("saxpy_cpp", first_block, "compute its own share from its number."),
    ("saxpy_cpp", by_bytes, "line 5 (`out[4 * i] = alpha * x[4 * i] + y[4 * i];`)"),
    ("launch_configuration", launch_of_whole_threads, "the grid is (64, 48), expected (4, 3)."),
    ("launch_configuration", launch_without_bytes, "return three values, the grid, the block, the"),
]
