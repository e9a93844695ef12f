"""Classic CUDA C++ kernels of numerics: matrices, grids, filters, pictures."""

import numpy as np

from .classics import Array, add, floats, whole, wrong, zeros

add("gemm", r"""
#include <cuda_pipeline.h>
#define K 8
__global__ void __launch_bounds__(256) gemm(int m, int n, int p, const float* a, const float* b,
                                            float* c) {
    __shared__ float s[2][64][K], t[2][K][64];  // two stages
    int x = threadIdx.x, row = x / 16 * 4, col = x % 16 * 4;
    a += blockIdx.y * 64 * (n + 2), b += blockIdx.x * 64;
    float sum[4][4] = {};
    auto fetch = [&](int stage, int k) {
        if (x < 128) {
            int at = k + x % 2 * 4, z = 16 - 4 * max(0, min(4, n - at));  // zeros behind
            __pipeline_memcpy_async(&s[stage][x / 2][x % 2 * 4], &a[x / 2 * (n + 2) + at], 16, z);
            __pipeline_memcpy_async(&t[stage][x / 16][x % 16 * 4],
                                    &b[(k + x / 16) * p + x % 16 * 4], 16);
        }
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
""", ((2, 1), 256), lambda: (64, 18, 128, floats(1278), floats(24, 128), zeros(64, 128)),
    lambda m, n, p, a, b, _: np.r_[a, 0, 0].reshape(64, 20)[:, :n] @ b[:n], rtol=1e-4)  # fmt: skip
wrong({"        __syncthreads();  // this stage is there\n": ""}, "race", "float4 v", "no barrier")
wrong({"        __syncthreads();  // and may be filled again\n": ""}, "race", "memcpy_async",
      "no barrier between them")  # fmt: skip
wrong({"__pipeline_wait_prior(k + K < n ? 1 : 0)": "__pipeline_wait_prior(1)"},
      "race", "memcpy_async", "on s[")  # fmt: skip

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

add("gray", r"""
__global__ void gray(int n, const uchar3* in, uchar4* out) {
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
