"""Classic CUDA C++ kernels, written for these tests, each with a launch and NumPy's result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Classic:
    """A kernel, what it is launched with, and what must come out of its last argument."""

    source: str
    launch: tuple[Any, ...]
    arguments: Callable[[], tuple[Any, ...]]
    result: Callable[..., Array]
    rtol: float = 0.0
    cooperative: bool = False  # launched with all blocks at once


class Mistake(NamedTuple):
    """A change of a kernel's text, and what must be said of it."""

    kernel: str
    edits: dict[str, str]
    kind: str  # of the finding
    text: str  # of a line that the finding names
    says: str  # a part of the message


CLASSICS: dict[str, Classic] = {}
MISTAKES: list[Mistake] = []


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def floats(*shape: int) -> Array:
    return rng().standard_normal(shape).astype(np.float32)


def whole(*shape: int) -> Array:
    return rng().integers(-9, 9, shape).astype(np.int32)


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


def add(name: str, source: str, *rest: Any, **named: Any) -> None:
    CLASSICS[name] = Classic(source.strip("\n"), *rest, **named)


def wrong(edits: dict[str, str], kind: str, text: str, says: str) -> None:
    """A mistake in the kernel that was added last."""
    MISTAKES.append(Mistake(next(reversed(CLASSICS)), edits, kind, text, says))


add("saxpy", r"""
__global__ void saxpy(int n, float a, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
""", (4, 128), lambda: (1000, 2.0, floats(1000), floats(1000)[::-1].copy()),
    lambda n, a, x, y: (2 * x.astype(float) + y).astype(np.float32), rtol=1e-6)  # fmt: skip
wrong({"i < n;": "i <= n;"}, "out-of-bounds", "y[i] =", "x has length 1000")

add("matmul_tiled", r"""
#define TILE 16
__global__ void matmul_tiled(int m, int n, int p, const float* a, const float* b, float* c) {
    __shared__ float s[TILE][TILE];
    __shared__ float t[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        int x = k + threadIdx.x, y = k + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = row < m && x < n ? a[row * n + x] : 0.0f;
        t[threadIdx.y][threadIdx.x] = y < n && col < p ? b[y * p + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();  // before the next tile
    }
    if (row < m && col < p) c[row * p + col] = sum;
}
""", ((3, 3), (16, 16)), lambda: (35, 21, 40, floats(35, 21), floats(21, 40), zeros(35, 40)),
    lambda m, n, p, a, b, c: a @ b, rtol=1e-4)  # fmt: skip
wrong(
    {"        __syncthreads();\n        for": "        for"}, "race", "sum +=", "writes it on line"
)
wrong(
    {"        __syncthreads();  // before the next tile\n": ""},
    "race",
    "= row < m",
    "reads it on line",
)
wrong({"x < n ? a[": "x <= n ? a["}, "out-of-bounds", "a[row", "a has length 735")

add("transpose", r"""
__global__ void transpose(int rows, int cols, const float* in, float* out) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        int y = blockIdx.y * 32 + threadIdx.y + k;
        if (x < cols && y < rows) tile[threadIdx.y + k][threadIdx.x] = in[y * cols + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        int y = blockIdx.x * 32 + threadIdx.y + k;
        if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y + k];
    }
}
""", ((3, 2), (32, 8)), lambda: (50, 70, floats(50, 70), zeros(70, 50)),
    lambda rows, cols, a, out: a.T)  # fmt: skip
wrong({"    __syncthreads();\n": ""}, "race", "out[y * rows", "on tile[1][0]")
wrong(
    {"tile[32][33]": "tile[31][33]"},
    "out-of-bounds",
    "tile[threadIdx.y + k]",
    "out of bounds: the array is tile[31][33]",
)

add("reduce", r"""
__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}
__global__ void reduce(int n, const float* x, float* sum) {
    __shared__ float parts[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
        v = warp_sum(v);
        if (threadIdx.x == 0) atomicAdd(sum, v);
    }
}
""", (5, 256), lambda: (1234, floats(1234), zeros(1)),
    lambda n, x, s: np.array([x.sum(dtype=float)]), rtol=1e-3)  # fmt: skip
wrong({"    __syncthreads();\n": ""}, "race", "parts[threadIdx.x] :", "on parts[")
wrong(
    {"v = i < n ? x[i]": "v = i <= n ? x[i]"},
    "out-of-bounds",
    "x[i]",
    "accesses x[1234], out of bounds: x has length 1234",
)

add("histogram", r"""
#define BINS 64
__global__ void histogram(int n, const unsigned char* data, unsigned int* bins) {
    __shared__ unsigned int mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i] >> 2], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}
""", (3, 96), lambda: (5000, rng().integers(0, 256, 5000).astype(np.uint8), zeros(64, dtype="u4")),
    lambda n, d, b: np.bincount(d >> 2, minlength=64))  # fmt: skip
wrong({"mine[b] = 0;": ";"}, "uninitialized-read", "atomicAdd(&mine", "mine[")
wrong({"atomicAdd(&mine[data[i] >> 2], 1u)": "mine[data[i] >> 2] += 1"}, "race", "+= 1", "on mine[")

add("stencil", r"""
#define R 3
__constant__ float weight[2 * R + 1] = {1, 2, 3, 4, 3, 2, 1};
__global__ void stencil(int n, const float* in, float* out) {
    __shared__ float s[128 + 2 * R];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + R;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < R) {
        s[t - R] = i >= R ? in[i - R] : 0.0f;
        s[t + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) sum += weight[k + R] * s[t + k];
    if (i < n) out[i] = sum;
}
""", (3, 128), lambda: (300, floats(300), zeros(300)),
    lambda n, x, out: np.convolve(x, [1, 2, 3, 4, 3, 2, 1], "same"), rtol=1e-4)  # fmt: skip
wrong(
    {"if (threadIdx.x < R) {": "if (threadIdx.x < R - 1) {"}, "uninitialized-read", "sum +=", "s["
)
wrong({"128 + 2 * R]": "128 + R]"}, "out-of-bounds", "s[t", "s has length 131")
