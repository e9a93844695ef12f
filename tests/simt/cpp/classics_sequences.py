"""Classic CUDA C++ kernels on sequences, graphs and text: scans, sorts, searches, checks."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .classics import Array, add, floats, rng, whole, wrong, zeros

add("dot", r"""
__global__ void dot(int n, const float* x, const float* y, double* sum) {
    __shared__ double s[128];
    double mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += (double)x[i] * y[i];
    s[threadIdx.x] = mine;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, s[0]);
}
""", (3, 128), lambda: (1000, floats(1000), floats(1000)[::-1].copy(), zeros(1, dtype="f8")),
    lambda n, x, y, s: np.array([x.astype(float) @ y]), rtol=1e-9)  # fmt: skip
wrong({"atomicAdd(sum, s[0])": "*sum += s[0]"}, "race", "*sum +=", "blocks run in no fixed order")
wrong({"    s[threadIdx.x] = mine;\n    __syncthreads();": "    s[threadIdx.x] = mine;"}, "race",
      "+= s[", "no barrier between them")  # fmt: skip
wrong({"threadIdx.x < d)": "threadIdx.x <= d)"}, "out-of-bounds", "+= s[", "s[128]")

add("blelloch", r"""
#define N 128
__global__ void blelloch(int n, const int* in, int* out) {
    __shared__ int s[2 * N];
    int t = threadIdx.x;
    s[2 * t] = 2 * t < n ? in[2 * t] : 0;
    s[2 * t + 1] = 2 * t + 1 < n ? in[2 * t + 1] : 0;
    int step = 1;
    for (int d = N; d > 0; d /= 2) {  // up the tree
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) s[2 * N - 1] = 0;
    for (int d = 1; d <= N; d *= 2) {  // and down
        step /= 2;
        __syncthreads();
        if (t < d) {
            int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1, old = s[left];
            s[left] = s[right];
            s[right] += old;
        }
    }
    __syncthreads();
    if (2 * t < n) out[2 * t] = s[2 * t];
    if (2 * t + 1 < n) out[2 * t + 1] = s[2 * t + 1];
}
""", (1, 128), lambda: (201, whole(201), zeros(201, dtype="i4")),
    lambda n, x, out: np.cumsum(x) - x)  # fmt: skip
wrong({"// up the tree\n        __syncthreads();": ""}, "race", "if (t < d) s[step", "on s[")
wrong({"step /= 2;\n        __syncthreads();": "step /= 2;"}, "race", "s[right] += old", "on s[")

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

add("segmented_scan", r"""
__global__ void segmented_scan(int n, const int* head, const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float v = i < n ? in[i] : 0;
    int first = lane == 0 || (i < n && head[i]) ? lane : 0;
    for (int d = 1; d < 32; d *= 2) first = max(first, __shfl_up_sync(~0u, first, d));
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(~0u, v, d);
        if (lane - d >= first) v += other;
    }
    if (i < n) out[i] = v;
}
""", (2, 64), lambda: (100, (rng().random(100) < 0.2).astype("i4"), floats(100), zeros(100)),
    lambda n, head, x, out: _segments(head, x), rtol=1e-4)  # fmt: skip
wrong({"    for (int d = 1; d < 32; d *= 2) {": "    for (int d = 1; d < 32 - lane; d *= 2) {"},
      "barrier-divergence", "other = __shfl_up", "shfl")  # fmt: skip


def _segments(head: Array, x: Array) -> Array:
    out = np.zeros(len(x))
    for i, v in enumerate(x.tolist()):
        out[i] = v if head[i] or i % 32 == 0 else out[i - 1] + v
    return out


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

add("merge_path", r"""
__device__ int cut(const int* a, int na, const int* b, int nb, int diagonal) {
    int low = max(0, diagonal - nb), high = min(diagonal, na);
    while (low < high) {
        int mid = (low + high) / 2;
        if (a[mid] <= b[diagonal - 1 - mid]) low = mid + 1; else high = mid;
    }
    return low;
}
__global__ void merge_path(int na, const int* a, int nb, const int* b, int* out) {
    int first = 7 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= na + nb) return;
    int i = cut(a, na, b, nb, first), j = first - i;
    for (int k = first; k < min(first + 7, na + nb); ++k)
        out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}
""", (1, 64), lambda: (90, np.sort(whole(90)), 101, np.sort(3 * whole(101)),
                       zeros(191, dtype="i4")),
    lambda na, a, nb, b, out: np.sort(np.concatenate([a, b])))  # fmt: skip
wrong({"min(first + 7, na + nb)": "first + 7"}, "out-of-bounds", "out[k]", "has length")
wrong({"(i < na && a[i]": "(a[i]"}, "out-of-bounds", "out[k]", "a has length 90")

add("odd_even", r"""
__global__ void odd_even(int n, float* x) {
    __shared__ float s[100];
    int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) s[i] = x[i];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        int i = 2 * t + k % 2;
        if (i + 1 < n && s[i] > s[i + 1]) {
            float v = s[i];
            s[i] = s[i + 1];
            s[i + 1] = v;
        }
        __syncthreads();  // before the other pairs
    }
    for (int i = t; i < n; i += blockDim.x) x[i] = s[i];
}
""", (1, 64), lambda: (99, floats(99)), lambda n, x: np.sort(x))  # fmt: skip
wrong({"        __syncthreads();  // before the other pairs\n": ""}, "race", "s[i + 1]", "on s[")
wrong({"2 * t + k % 2": "t + k % 2"}, "race", "s[i + 1] = v", "on s[")
wrong({"i + 1 < n && s[i]": "i < n && s[i]"}, "uninitialised-read", "s[i] > s[i + 1]", "s[99]")

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


add("levenshtein", r"""
__global__ void levenshtein(int m, const char* a, int n, const char* b, int* distance) {
    extern __shared__ int row[];  // three diagonals, of m + 1 each
    int *older = row, *old = older + m + 1, *now = old + m + 1, i = threadIdx.x;
    for (int d = 0; d <= m + n; ++d) {
        int j = d - i;
        if (i <= m && j >= 0 && j <= n) {
            if (i == 0 || j == 0) now[i] = d;
            else now[i] = min(min(old[i - 1], old[i]) + 1, older[i - 1] + (a[i - 1] != b[j - 1]));
        }
        __syncthreads();
        int* free = older;
        older = old, old = now, now = free;
    }
    if (i == m) *distance = old[m];
}
""", (1, 64, 0, 3 * 42 * 4), lambda: (41, *_words(), zeros(1, dtype="i4")),
    lambda m, a, n, b, d: np.array([_distance(a, b)]))  # fmt: skip
wrong({"        __syncthreads();\n": ""}, "race", "now[i] = min", "on row[")
wrong({"i <= m && j": "i < 64 && j"}, "out-of-bounds", "now[i]", "row[126]")


def _words() -> tuple[Any, ...]:
    letters = rng().integers(97, 100, 71).astype("i1")
    return letters[:41], 30, letters[41:]


def _distance(a: Array, b: Array) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


add("string_search", r"""
__constant__ char word[4] = {'a', 'b', 'a', 0};
__global__ void string_search(int n, const char* text, int* count, int* places) {
    __shared__ char s[64 + 2];
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = threadIdx.x; k < 64 + 2; k += 64)
        s[k] = blockIdx.x * 64 + k < n ? text[blockIdx.x * 64 + k] : 0;
    __syncthreads();
    bool here = true;
    for (int k = 0; word[k]; ++k) here = here && s[threadIdx.x + k] == word[k];
    if (here) places[atomicAdd(count, 1)] = i;
}
""", (3, 64), lambda: (150, rng().integers(97, 99, 150).astype("i1"), zeros(1, dtype="i4"),
                       zeros(150, dtype="i4")),
    lambda n, text, c, places: _found(text), unordered=True)  # fmt: skip
wrong({"k < 64 + 2; k": "k < 64; k"}, "uninitialised-read", "here = here", "s[64]")
wrong({"{'a', 'b', 'a', 0}": "{'a', 'b', 'a', 'b'}"}, "out-of-bounds", "== word[k]",
      "s has length 66")  # fmt: skip


def _found(text: Array) -> Array:
    found = [i for i in range(len(text) - 2) if bytes(text[i : i + 3]) == b"aba"]
    return np.pad(found, (0, len(text) - len(found)))


add("crc32", r"""
__global__ void crc32(int n, int size, const unsigned char* text, unsigned* crc) {
    __shared__ unsigned table[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        unsigned c = b;
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[b] = c;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c = ~0u;
    for (int k = 0; k < size; ++k) c = table[(c ^ text[i * size + k]) & 255] ^ c >> 8;
    crc[i] = ~c;
}
""", (2, 32), lambda: (50, 11, rng().integers(0, 256, (50, 11)).astype("u1"),
                       zeros(50, dtype="u4")),
    lambda n, size, text, crc: np.array([zlib.crc32(row.tobytes()) for row in text]))  # fmt: skip
wrong({"b < 256; b": "b < 255; b"}, "uninitialised-read", "c = table[", "table[255]")
wrong({"    __syncthreads();\n": ""}, "race", "c = table[", "on table[")

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

add(
    "sieve",
    r"""
__global__ void sieve(int n, int* count) {
    extern __shared__ char composite[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) composite[i] = i < 2;
    __syncthreads();
    for (int p = 2; p * p < n; ++p) {
        if (!composite[p])
            for (int k = p * (p + threadIdx.x); k < n; k += p * blockDim.x) composite[k] = 1;
        __syncthreads();
    }
    int mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += !composite[i];
    atomicAdd(count, mine);
}
""",
    (1, 64, 0, 500),
    lambda: (499, zeros(1, dtype="i4")),
    lambda n, count: np.array([sum(all(i % p for p in range(2, i)) for i in range(2, n))]),
)
wrong({"        __syncthreads();\n    }\n    int": "    }\n    int"}, "race", "!composite[",
      "on composite[")  # fmt: skip
wrong({"i < n; i += blockDim.x) composite": "i < n / 2; i += blockDim.x) composite"},
      "uninitialised-read", "composite[", "composite[")  # fmt: skip
