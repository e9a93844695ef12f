"""Classic CUDA C++ kernels of numerics: matrices, grids, networks, pictures, random numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .classics import Array, add, floats, rng, whole, wrong, zeros

add("gemm", r"""
#include <cuda_pipeline.h>
#define K 8
__global__ void __launch_bounds__(256) gemm(int m, int n, int p, const float* a, const float* b,
                                            float* c) {
    __shared__ float s[2][64][K], t[2][K][64];  // two stages
    int x = threadIdx.x, row = x / 16 * 4, col = x % 16 * 4;
    a += blockIdx.y * 64 * n, b += blockIdx.x * 64;
    float sum[4][4] = {};
    auto fetch = [&](int stage, int k) {
        for (int i = x; i < 64 * K; i += 256)
            __pipeline_memcpy_async(&s[stage][i / K][i % K], &a[i / K * n + k + i % K], 4);
        if (x < 128)
            __pipeline_memcpy_async(&t[stage][x / 16][x % 16 * 4],
                                    &b[(k + x / 16) * p + x % 16 * 4], 16);
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int k = 0, stage = 0; k < n; k += K, stage ^= 1) {
        if (k + K < n) fetch(stage ^ 1, k + K);
        __pipeline_wait_prior(k + K < n ? 1 : 0);
        __syncthreads();  // this stage is there
        for (int i = 0; i < K; ++i) {
            float4 v = *(float4*)&t[stage][i][col];
            for (int j = 0; j < 4; ++j) {
                float w = s[stage][row + j][i];
                sum[j][0] += w * v.x; sum[j][1] += w * v.y;
                sum[j][2] += w * v.z; sum[j][3] += w * v.w;
            }
        }
        __syncthreads();  // and may be filled again
    }
    for (int j = 0; j < 4; ++j)
        *(float4*)&c[(blockIdx.y * 64 + row + j) * p + blockIdx.x * 64 + col] =
            make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
}
""", ((2, 1), 256), lambda: (64, 24, 128, floats(64, 24), floats(24, 128), zeros(64, 128)),
    lambda m, n, p, a, b, c: a @ b, rtol=1e-4)  # fmt: skip
wrong({"        __syncthreads();  // this stage is there\n": ""}, "race", "float4 v", "no barrier")
wrong({"        __syncthreads();  // and may be filled again\n": ""}, "race", "memcpy_async",
      "no barrier between them")  # fmt: skip
wrong({"__pipeline_wait_prior(k + K < n ? 1 : 0)": "__pipeline_wait_prior(1)"},
      "race", "memcpy_async", "on s[")  # fmt: skip

add("matvec", r"""
__global__ void matvec(int rows, int cols, const float4* a, const float4* x, float* y) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int k = threadIdx.x; k < cols / 4; k += 32) {
        float4 v = a[row * (cols / 4) + k], w = x[k];
        sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) y[row] = sum;
}
""", (4, (32, 4)), lambda: (13, 200, floats(13, 200), floats(200), zeros(13)),
    lambda rows, cols, a, x, y: a @ x, rtol=1e-4)  # fmt: skip
wrong({"k < cols / 4;": "k < cols;"}, "out-of-bounds", "float4 v", "has length")
wrong({"    if (threadIdx.x == 0) y[row] = sum;": "    y[row] = sum;"}, "race", "y[row]", "on y[0]")

add("batched", r"""
template <int N> __global__ void batched(int count, const float* a, const float* b, float* c) {
    __shared__ float s[8][N][N + 1], t[8][N][N + 1];
    int k = blockIdx.x * 8 + threadIdx.z, i = threadIdx.y, j = threadIdx.x, z = threadIdx.z;
    if (k < count) {
        s[z][i][j] = a[(k * N + i) * N + j];
        t[z][i][j] = b[(k * N + i) * N + j];
    }
    __syncthreads();
    float sum = 0;
    for (int l = 0; l < N; ++l) sum += s[z][i][l] * t[z][l][j];
    if (k < count) c[(k * N + i) * N + j] = sum;
}
""", (2, (5, 5, 8)), lambda: (16, floats(16, 5, 5), floats(16, 5, 5), zeros(16, 5, 5)),
    lambda n, a, b, c: a @ b, rtol=1e-4, kernel="batched<5>")  # fmt: skip
wrong({"    __syncthreads();\n": ""}, "race", "sum += s[z]", "no barrier between them")
wrong({"if (k < count) {": "if (k < count - 1) {"}, "uninitialised-read", "sum += s[z]", "s[")

add("spmv_vector", r"""
__global__ void spmv_vector(int rows, const int* start, const int* col, const float* val,
                            const float* x, float* y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int k = start[row] + lane; k < start[row + 1]; k += 32) sum += val[k] * x[col[k]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) y[row] = sum;
}
""", (4, 128), lambda: (15, *_rows(15), floats(90), zeros(15)),
    lambda n, start, col, val, x, y: np.array(
        [val[a:b] @ x[col[a:b]] for a, b in pairwise(start)]), rtol=1e-4)  # fmt: skip
wrong({"    if (row >= rows) return;\n": ""}, "out-of-bounds", "start[row]", "start has length 16")
wrong({"(row >= rows)": "(row >= rows || lane >= start[row + 1] - start[row])"},
      "barrier-divergence", "__shfl_down_sync", "shfl_down")  # fmt: skip


def _rows(n: int) -> tuple[Array, Array, Array]:
    start = np.concatenate([[0], np.cumsum(rng().integers(0, 70, n))]).astype("i4")
    return start, rng().integers(0, 90, start[-1]).astype("i4"), floats(start[-1])


add("chosen_filter", r"""
__constant__ float rising[4] = {1, 2, 3, 4}, falling[4] = {4, 3, 2, 1};
__device__ __noinline__ float dot(const float* f, const float* x) {
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += f[k] * x[k];
    return sum;
}
__global__ void chosen_filter(int n, const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* f = i % 3 == 0 ? rising : i % 3 == 1 ? falling : x;
    if (i < n) out[i] = dot(f, x + i);
}
""", (2, 64), lambda: (100, floats(103), zeros(100)),
    lambda n, x, out: np.array(
        [([1, 2, 3, 4], [4, 3, 2, 1], x[:4])[i % 3] @ x[i:i + 4] for i in range(n)]), rtol=1e-4
)  # fmt: skip
wrong({"f[k]": "f[k + 1]"}, "out-of-bounds", "f[k", "rising has length 4")

add("convolution_2d", r"""
#define R 2
__constant__ float filter[5][5] = {{1, 2, 3, 2, 1}, {2, 4, 6, 4, 2}, {3, 6, 9, 6, 3}};
__global__ void convolution_2d(int w, int h, const float* in, float* out) {
    __shared__ float s[8 + 2 * R][16 + 2 * R];
    int x0 = blockIdx.x * 16 - R, y0 = blockIdx.y * 8 - R;
    for (int y = threadIdx.y; y < 8 + 2 * R; y += 8)
        for (int x = threadIdx.x; x < 16 + 2 * R; x += 16) {
            bool inside = x0 + x >= 0 && x0 + x < w && y0 + y >= 0 && y0 + y < h;
            s[y][x] = inside ? in[(y0 + y) * w + x0 + x] : 0.0f;
        }
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy <= 2 * R; ++dy)
        for (int dx = 0; dx <= 2 * R; ++dx)
            sum += filter[dy][dx] * s[threadIdx.y + dy][threadIdx.x + dx];
    int x = x0 + R + threadIdx.x, y = y0 + R + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = sum;
}
""", ((3, 2), (16, 8)), lambda: (37, 13, floats(13, 37), zeros(13, 37)),
    lambda w, h, a, out: _convolved(a), rtol=1e-4)  # fmt: skip
wrong({"y < 8 + 2 * R; y": "y < 8 + R; y"}, "uninitialised-read", "sum += filter", "s[10]")
wrong({"x0 + x < w &&": "x0 + x <= w &&"}, "out-of-bounds", "s[y][x] =", "in has length 481")
wrong({"    __syncthreads();\n": ""}, "race", "sum += filter", "on s[")


def _convolved(a: Array) -> Array:
    weights = np.zeros((5, 5))
    weights[:3] = np.outer([1, 2, 3], [1, 2, 3, 2, 1])
    padded = np.pad(a.astype(float), 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    return np.einsum("yxij,ij->yx", windows, weights)


add("stencil_3d", r"""
__global__ void stencil_3d(int nx, int ny, int nz, const float* in, float* out) {
    __shared__ float s[10][10];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int i = threadIdx.x + 1, j = threadIdx.y + 1, plane = nx * ny, at = y * nx + x;
    auto get = [&](int x, int y, int z) {
        return x >= 0 && x < nx && y >= 0 && y < ny && z < nz ? in[z * plane + y * nx + x] : 0.0f;
    };
    float below = 0, here = get(x, y, 0), above;  // a queue along z
    for (int z = 0; z < nz; ++z) {
        above = get(x, y, z + 1);
        s[j][i] = here;
        if (i == 1) s[j][0] = get(x - 1, y, z);
        if (i == 8) s[j][9] = get(x + 1, y, z);
        if (j == 1) s[0][i] = get(x, y - 1, z);
        if (j == 8) s[9][i] = get(x, y + 1, z);
        __syncthreads();
        if (x < nx && y < ny)
            out[z * plane + at] = below + above + s[j][i - 1] + s[j][i + 1] + s[j - 1][i]
                                  + s[j + 1][i] - 6 * here;
        __syncthreads();  // before the next plane
        below = here, here = above;
    }
}
""", ((2, 2), (8, 8)), lambda: (13, 11, 5, floats(5, 11, 13), zeros(5, 11, 13)),
    lambda nx, ny, nz, a, out: _laplace(a), rtol=1e-4)  # fmt: skip
wrong({"        __syncthreads();  // before the next plane\n": ""}, "race", "s[j][i] = here",
      "on s[")  # fmt: skip
wrong({"        if (i == 8) s[j][9] = get(x + 1, y, z);\n": ""}, "uninitialised-read",
      "out[z * plane", "s[1][9]")  # fmt: skip


def _laplace(a: Array) -> Array:
    p = np.pad(a.astype(float), 1)
    near = sum(np.roll(p, d, axis) for axis in range(3) for d in (-1, 1))
    return (near - 6 * p)[1:-1, 1:-1, 1:-1]


add("red_black", r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void red_black(int n, int rounds, float* u) {
    cg::grid_group all = cg::this_grid();
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * n + x;
    bool inner = x > 0 && y > 0 && x < n - 1 && y < n - 1;
    for (int k = 0; k < 2 * rounds; ++k) {
        if (inner && (x + y) % 2 == k % 2)
            u[i] = 0.25f * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n]);
        all.sync();
    }
}
""", ((2, 2), (8, 8)), lambda: (13, 4, floats(13, 13)),
    lambda n, rounds, u: _relaxed(u, rounds), rtol=1e-4, cooperative=True)  # fmt: skip
wrong({"all.sync();": "__syncthreads();"}, "race", "u[i] = 0.25f", "blocks run in no fixed order")
wrong({"== k % 2)": ">= 0)"}, "race", "u[i] = 0.25f", "on u[")
wrong({"    for (int k": "    if (!inner && blockIdx.x) return;\n    for (int k"}, "no-progress",
      "all.sync()", "this loop does not end here")  # fmt: skip


def _relaxed(u: Array, rounds: int) -> Array:
    y, x = np.mgrid[1:12, 1:12]
    for k in range(2 * rounds):
        near = (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]) / 4
        u[1:-1, 1:-1] = np.where((x + y) % 2 == k % 2, near, u[1:-1, 1:-1])
    return u


add("layer_norm", r"""
__device__ float block_sum(float v, float* s) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) v += s[w];
    return v;
}
__global__ void layer_norm(int n, const float* in, const float* gain, const float* bias,
                           float* out) {
    extern __shared__ float memory[];  // a row, then a place for each warp
    float *row = memory, *parts = memory + n, sum = 0, square = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) sum += row[k] = in[blockIdx.x * n + k];
    float mean = block_sum(sum, parts) / n;
    for (int k = threadIdx.x; k < n; k += blockDim.x) square += (row[k] - mean) * (row[k] - mean);
    float scale = rsqrtf(block_sum(square, parts) / n + 1e-5f);
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        out[blockIdx.x * n + k] = (row[k] - mean) * scale * gain[k] + bias[k];
}
""", (3, 96, 0, 4 * 203), lambda: (200, floats(3, 200), floats(200), floats(200), zeros(3, 200)),
    lambda n, x, gain, bias, out: (x - x.mean(axis=1, keepdims=True))
    / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * gain + bias, rtol=1e-3)  # fmt: skip
wrong({"= v;\n    __syncthreads();\n    v = 0;": "= v;\n    v = 0;"}, "race", "v += s[w]",
      "on memory[")  # fmt: skip
wrong({"memory + n": "memory + n + 1"}, "out-of-bounds", "s[threadIdx.x / 32] = v",
      "memory has length 203")  # fmt: skip

add("online_softmax", r"""
__global__ void online_softmax(int n, const float* in, float* out) {
    const float* row = in + blockIdx.x * n;
    float most = -INFINITY, sum = 0;
    for (int k = threadIdx.x; k < n; k += 32) {
        float before = most;
        most = fmaxf(most, row[k]);
        sum = sum * expf(before - most) + expf(row[k] - most);
    }
    for (int d = 16; d > 0; d /= 2) {
        float m = __shfl_xor_sync(~0u, most, d), s = __shfl_xor_sync(~0u, sum, d);
        float higher = fmaxf(most, m);
        sum = sum * expf(most - higher) + s * expf(m - higher);
        most = higher;
    }
    for (int k = threadIdx.x; k < n; k += 32) out[blockIdx.x * n + k] = expf(row[k] - most) / sum;
}
""", (5, 32), lambda: (77, 30 * floats(5, 77), zeros(5, 77)),
    lambda n, x, out: _softmax(x), rtol=1e-4)  # fmt: skip
wrong({"k < n; k += 32) {": "k <= n; k += 32) {"}, "out-of-bounds", "row[k]", "in has length 385")
wrong({"= 16; d > 0; d /= 2) {": "= 16; d > threadIdx.x / 16; d /= 2) {"}, "barrier-divergence",
      "__shfl_xor_sync", "shfl_xor")  # fmt: skip


def _softmax(x: Array) -> Array:
    e = np.exp(x.astype(float) - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


add("attention", r"""
#define D 16
__global__ void attention(int n, const float* q, const float* k, const float* v, float* out) {
    __shared__ float ks[32][D + 1], vs[32][D];
    int row = blockIdx.x * 32 + threadIdx.x;
    float mine[D], sum[D] = {}, most = -INFINITY, total = 0;
    for (int c = 0; c < D; ++c) mine[c] = row < n ? q[row * D + c] : 0.0f;
    for (int start = 0; start < n; start += 32) {
        int count = min(32, n - start);
        for (int i = threadIdx.x; i < count * D; i += 32) {
            ks[i / D][i % D] = k[start * D + i];
            vs[i / D][i % D] = v[start * D + i];
        }
        __syncthreads();  // the tile is there
        for (int j = 0; j < count; ++j) {
            float score = 0;
            for (int c = 0; c < D; ++c) score += mine[c] * ks[j][c];
            float higher = fmaxf(most, score), old = expf(most - higher), w = expf(score - higher);
            for (int c = 0; c < D; ++c) sum[c] = sum[c] * old + w * vs[j][c];
            total = total * old + w;
            most = higher;
        }
        __syncthreads();
    }
    if (row < n) for (int c = 0; c < D; ++c) out[row * D + c] = sum[c] / total;
}
""", (2, 32), lambda: (45, floats(45, 16), floats(45, 16)[::-1].copy(), floats(45, 16),
                       zeros(45, 16)),
    lambda n, q, k, v, out: _softmax(q @ k.T) @ v, rtol=1e-3)  # fmt: skip
wrong({"        __syncthreads();  // the tile is there\n": ""}, "race", "score += mine", "on ks[")
wrong({"i < count * D; i": "i < count * D - 1; i"}, "uninitialised-read", "w * vs[j]",
      "vs[31][15]")  # fmt: skip

add("fft", r"""
#define N 64
__global__ void fft(const float2* in, float2* out) {
    __shared__ float2 s[N];
    int t = threadIdx.x;
    for (int i = t; i < N; i += N / 2) s[__brev(i) >> 26] = in[blockIdx.x * N + i];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        int low = t / half * 2 * half + t % half, high = low + half;
        float re, im;
        sincospif(-(float)(t % half) / half, &im, &re);
        float2 a = s[low], b = s[high];
        float2 w = make_float2(b.x * re - b.y * im, b.x * im + b.y * re);
        s[low] = make_float2(a.x + w.x, a.y + w.y);
        s[high] = make_float2(a.x - w.x, a.y - w.y);
    }
    __syncthreads();
    for (int i = t; i < N; i += N / 2) out[blockIdx.x * N + i] = s[i];
}
""", (3, 32), lambda: (floats(3, 128).view("c8"), zeros(3, 64, dtype="c8")),
    lambda x, out: np.fft.fft(x), rtol=1e-4)  # fmt: skip
wrong({"        __syncthreads();\n        int low": "        int low"}, "race", "float2 a", "on s[")
wrong({">> 26": ">> 25"}, "out-of-bounds", "__brev(i)", "s has length 64")

add("half2_axpy", r"""
#include <cuda_fp16.h>
__global__ void half2_axpy(int n, float a, const __half2* x, __half2* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}
""", (2, 64), lambda: (200, 0.5, whole(200).astype("f2"), whole(200)[::-1].astype("f2")),
    lambda n, a, x, y: y + x / 2)  # fmt: skip
wrong({"i < n / 2": "i < n"}, "out-of-bounds", "__hfma2", "has length 100")

add("grey", r"""
__global__ void grey(int n, const uchar3* in, uchar4* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar3 p = in[i];
    unsigned char g = (77 * p.x + 150 * p.y + 29 * p.z) >> 8;
    out[i] = make_uchar4(g, g, g, 255);
}
""", (3, 64), lambda: (150, whole(150, 3).view("u1")[:, ::4].copy(), zeros(150, 4, dtype="u1")),
    lambda n, a, out: np.stack(
        3 * [a @ np.array([77, 150, 29]) >> 8] + [np.full(n, 255)], axis=1))  # fmt: skip
wrong({"    if (i >= n) return;\n": ""}, "out-of-bounds", "p = in[i]", "in has length 450")
wrong({"uchar4* out": "uchar3* out", "out[i] = make_uchar4(g, g, g, 255)":
       "((uchar4*)(out + i))[0] = make_uchar4(g, g, g, 255)"}, "misaligned", "out + i",
      "only at multiples of 4")  # fmt: skip

add("resize", r"""
__global__ void resize(int w, int h, const float* in, int width, int height, float* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = x * (w - 1.0f) / (width - 1), v = y * (h - 1.0f) / (height - 1);
    int x0 = min((int)u, w - 2), y0 = min((int)v, h - 2);
    float fx = u - x0, fy = v - y0;
    const float* p = in + y0 * w + x0;
    out[y * width + x] = (1 - fy) * ((1 - fx) * p[0] + fx * p[1])
                         + fy * ((1 - fx) * p[w] + fx * p[w + 1]);
}
""", ((3, 4), (16, 8)), lambda: (11, 9, floats(9, 11), 40, 30, zeros(30, 40)),
    lambda w, h, a, width, height, out: _resized(a), rtol=1e-3)  # fmt: skip
wrong({"min((int)u, w - 2), y0 = min((int)v, h - 2)": "(int)u, y0 = (int)v"}, "out-of-bounds",
      "out[y * width", "in has length 99")  # fmt: skip


def _resized(a: Array) -> Array:
    old_y, old_x, y, x = np.arange(9), np.arange(11), np.linspace(0, 8, 30), np.linspace(0, 10, 40)
    wide = np.stack([np.interp(x, old_x, row) for row in a])
    return np.stack([np.interp(y, old_y, column) for column in wide.T], axis=1)


add("monte_carlo", r"""
__device__ unsigned xorshift(unsigned& s) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    return s;
}
__global__ void monte_carlo(int tries, unsigned* inside) {
    __shared__ unsigned hits;
    if (threadIdx.x == 0) hits = 0;
    __syncthreads();
    unsigned s = 2463534242u + 977 * (blockIdx.x * blockDim.x + threadIdx.x), mine = 0;
    for (int k = 0; k < tries; ++k) {
        unsigned long long x = xorshift(s) >> 8, y = xorshift(s) >> 8;
        mine += x * x + y * y < 1ull << 48;
    }
    atomicAdd(&hits, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(inside, hits);
}
""", (3, 64), lambda: (20, zeros(1, dtype="u4")),
    lambda tries, inside: np.array([sum(_hits(t, tries) for t in range(192))]))  # fmt: skip
wrong(
    {"    if (threadIdx.x == 0) hits = 0;\n": ""}, "uninitialised-read", "atomicAdd(&hits", "hits"
)
wrong({"mine);\n    __syncthreads();": "mine);"}, "race", "atomicAdd(inside", "on hits[0]")


def _hits(thread: int, tries: int) -> int:
    s, found = 2463534242 + 977 * thread, 0

    def draw() -> int:
        nonlocal s
        s ^= s << 13 & 0xFFFFFFFF
        s ^= s >> 17
        s ^= s << 5 & 0xFFFFFFFF
        return s >> 8

    for _ in range(tries):
        found += draw() ** 2 + draw() ** 2 < 1 << 48
    return found


def julia(width: int, height: int) -> Array:
    """Steps until a point of the plane is far away, at most 30."""
    out = np.zeros((height, width), np.int32)
    for (y, x), _ in np.ndenumerate(out):
        z: Any = complex(-1.5 + 3.0 * x / width, -1 + 2.0 * y / height)
        while out[y, x] < 30 and z.real**2 + z.imag**2 <= 4:
            z, out[y, x] = z * z + complex(-0.8, 0.156), out[y, x] + 1
    return out


add("julia", r"""
struct Complex {
    double re, im;
    __device__ Complex operator*(Complex o) const {
        return {re * o.re - im * o.im, re * o.im + im * o.re};
    }
    __device__ Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    __device__ double norm() const { return re * re + im * im; }
};
__global__ void julia(int width, int height, Complex c, int* out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height;
         i += gridDim.x * blockDim.x) {
        Complex z = {-1.5 + 3.0 * (i % width) / width, -1 + 2.0 * (i / width) / height};
        int k = 0;
        for (; k < 30 && z.norm() <= 4; ++k) z = z * z + c;
        out[i] = k;
    }
}
""", (2, 64), lambda: (23, 9, np.array([(-0.8, 0.156)], "f8,f8")[0], zeros(9, 23, dtype="i4")),
    lambda w, h, c, out: julia(w, h))  # fmt: skip
wrong({"i < width * height": "i <= width * height"}, "out-of-bounds", "out[i] = k",
      "out has length 207")  # fmt: skip
