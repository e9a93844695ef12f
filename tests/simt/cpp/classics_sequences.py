"""Classic CUDA C++ kernels on sequences, graphs and text: scans, sorts, searches, checks."""

from typing import Any

import numpy as np

from .classics import Array, add, floats, rng, whole, wrong, zeros

add("look_back", r"""
__device__ int ticket, ready[8], running[8];
__global__ void look_back(int n, const int* in, int* out) {
    __shared__ int tile, before, s[64];
    if (threadIdx.x == 0) tile = atomicAdd(&ticket, 1);
    __syncthreads();
    int t = threadIdx.x, i = tile * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        if (tile > 0) {
            while (atomicAdd(&ready[tile - 1], 0) == 0);
            before = running[tile - 1];
        }
        running[tile] = before + s[63];
        __threadfence();  // the sum must be there before the flag is
        atomicExch(&ready[tile], 1);
    }
    __syncthreads();
    if (i < n) out[i] = before + s[t];
}
""", (5, 64), lambda: (300, whole(300), zeros(300, dtype="i4")),
    lambda n, x, out: np.cumsum(x))  # fmt: skip
wrong({"        __threadfence();  // the sum must be there before the flag is\n": ""}, "race",
      "running[tile", "on running[0]")  # fmt: skip
wrong({"atomicExch(&ready[tile], 1)": "ready[tile] = 1"}, "race", "ready[tile] = 1", "on ready[0]")

add("flag_that_is_the_sum", r"""
__global__ void flag_that_is_the_sum(volatile int* sums) {
    int before = blockIdx.x == 0;
    while (before == 0) before = sums[blockIdx.x - 1];  // as CUB looks back
    if (threadIdx.x == 0) sums[blockIdx.x] = before + 1;
}""", (5, 1), lambda: (zeros(5, dtype="i4"),), lambda sums: np.arange(2, 7))  # fmt: skip

add("radix_sort", r"""
__global__ void radix_sort(unsigned* x) {
    __shared__ unsigned s[128];
    __shared__ int zeros[4];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    unsigned v = x[t];
    for (int bit = 0; bit < 16; ++bit) {
        bool one = v >> bit & 1;
        unsigned mask = __ballot_sync(~0u, !one);
        if (lane == 0) zeros[warp] = __popc(mask);
        __syncthreads();
        int all = 0, place = __popc(mask & ((1u << lane) - 1));
        for (int w = 0; w < 4; ++w) {
            if (w < warp) place += zeros[w];
            all += zeros[w];
        }
        s[one ? all + t - place : place] = v;
        __syncthreads();
        v = s[t];
    }
    x[t] = v;
}
""", (1, 128), lambda: (rng().integers(0, 1 << 16, 128).astype("u4"),),
    lambda x: np.sort(x))  # fmt: skip
wrong({"= v;\n        __syncthreads();": "= v;"}, "race", "v = s[t]", "on s[")
wrong({"bit < 16": "bit < 40", "__popc(mask);\n        __syncthreads();": "__popc(mask);"},
      "race", "zeros[w]", "on zeros[")  # fmt: skip

add("last_block", r"""
__device__ unsigned done;
__global__ void last_block(int n, const float* x, float* part, float* sum) {
    __shared__ bool last;
    float mine = 0;
    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) mine += x[i];
    for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(~0u, mine, d);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    mine = threadIdx.x < gridDim.x ? part[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(~0u, mine, d);
    if (threadIdx.x == 0) *sum = mine;
}
""", (6, 32), lambda: (500, floats(500), zeros(6), zeros(1)),
    lambda n, x, p, s: np.array([x.sum(dtype=float)]), rtol=1e-4)  # fmt: skip
wrong({"        __threadfence();\n": ""}, "race", "part[threadIdx.x]", "on part[")
wrong({"    __syncthreads();\n": ""}, "race", "if (!last) return", "on last[0]")

add("bfs", r"""
__global__ void bfs(int n, const int* start, const int* edge, int* count, int* next, int* level) {
    for (int depth = 0; *count > 0; ++depth) {
        __syncthreads();
        if (threadIdx.x == 0) *count = 0;
        __syncthreads();
        for (int v = threadIdx.x; v < n; v += blockDim.x) {
            if (((volatile int*)level)[v] != depth) continue;
            for (int k = start[v]; k < start[v + 1]; ++k)
                if (atomicCAS(&level[edge[k]], -1, depth + 1) == -1)
                    next[atomicAdd(count, 1)] = edge[k];
        }
        __syncthreads();
    }
}
""", (1, 64), lambda: (*_graph(), np.ones(1, "i4"), zeros(70, dtype="i4"),
                       np.where(np.arange(70) == 3, 0, -1).astype("i4")),
    lambda n, start, edge, count, queue, level: _levels(start, edge))  # fmt: skip
wrong({"        __syncthreads();\n    }": "    }"}, "race", "*count", "on count[0]")
wrong({"k < start[v + 1]": "k <= start[v + 1]"}, "out-of-bounds", "edge[k]", "edge has length")


def _graph() -> tuple[Any, ...]:
    linked = rng().random((70, 70)) < 0.03
    linked |= linked.T
    start = np.concatenate([[0], np.cumsum(linked.sum(axis=1))]).astype("i4")
    return 70, start, np.nonzero(linked)[1].astype("i4")


def _levels(start: Array, edge: Array) -> Array:
    level, queue = np.full(70, -1), [3]
    level[3] = 0
    for v in queue:
        for w in edge[start[v] : start[v + 1]]:
            if level[w] < 0:
                level[w] = level[v] + 1
                queue.append(int(w))
    return level


add("components", r"""
__device__ int root(int* parent, int v) {
    int up = *(volatile int*)&parent[v];
    while (up != v) {
        v = up;
        up = *(volatile int*)&parent[v];
    }
    return v;
}
__global__ void components(int edges, const int* from, const int* to, int* parent) {
    for (int k = threadIdx.x; k < edges; k += blockDim.x) {
        int a = root(parent, from[k]), b = root(parent, to[k]);
        while (a != b) {
            int high = max(a, b), low = min(a, b);
            int found = atomicCAS(&parent[high], high, low);
            if (found == high) break;
            a = root(parent, found), b = low;
        }
    }
    __syncthreads();
    for (int v = threadIdx.x; v < 60; v += blockDim.x)
        atomicExch(&parent[v], root(parent, v));
}
""", (1, 32), lambda: (40, *rng().integers(0, 60, (2, 40)).astype("i4"), np.arange(60, dtype="i4")),
    lambda n, a, b, parent: _components(a, b))  # fmt: skip
wrong({"int found = atomicCAS(&parent[high], high, low);":
       "int found = parent[high]; if (found == high) parent[high] = low;"},
      "race", "parent[high] = low", "on parent[")  # fmt: skip


def _components(a: Array, b: Array) -> Array:
    label = np.arange(60)
    for _ in range(60):
        for u, v in zip(a, b, strict=True):
            label[u] = label[v] = min(label[u], label[v])
    return label


add("warp_transpose", r"""
__global__ void warp_transpose(int* x) {
    int lane = threadIdx.x, v[32];
    for (int k = 0; k < 32; ++k) v[k] = x[k * 32 + lane];
    for (int d = 16; d > 0; d /= 2)  // swap blocks of d x d across the diagonal
        for (int k = 0; k < 32; ++k)
            if (!(k & d)) {
                bool low = lane & d;
                int got = __shfl_xor_sync(0xffffffff, low ? v[k] : v[k | d], d);
                if (low) v[k] = got; else v[k | d] = got;
            }
    for (int k = 0; k < 32; ++k) x[k * 32 + lane] = v[k];
}
""", (1, 32), lambda: (whole(32, 32),), lambda x: x.T)  # fmt: skip
wrong({"0xffffffff": "0x0000ffff"}, "barrier-divergence", "got = __shfl", "shfl")
