"""Kernels of the package once more, in CUDA C++: each takes its arrays, then their lengths.

One of each kind; all of them are one source, so that they are compiled at once.
"""

from __future__ import annotations

from tools.record.differences import EXPONENTIAL, FLOPS, Difference

# where the compiler's code counts something else than the lines of the Numba kernel, and why
DIFFERENCES: tuple[Difference, ...] = (
    Difference("softmax_rows", FLOPS, True, EXPONENTIAL, {"ex2": 10}),
)

SOURCE = r"""
__global__ void vector_add(const float* a, const float* b, float* out, int, int, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void transpose_naive(const float* image, float* out, int rows, int cols, int, int) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < cols) out[column * rows + row] = image[row * cols + column];
}

__global__ void transpose_tiled(const float* image, float* out, int rows, int cols, int, int) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    if (y0 + ty < rows && x0 + tx < cols) tile[ty][tx] = image[(y0 + ty) * cols + x0 + tx];
    __syncthreads();
    if (x0 + ty < cols && y0 + tx < rows) out[(x0 + ty) * rows + y0 + tx] = tile[tx][ty];
}

__global__ void block_sums_packed(const float* values, float* sums, int n, int) {
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? values[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int place = 2 * step * t;
        if (place < blockDim.x) s[place] += s[place + step];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}

__device__ float over_the_warp(float total) {
    for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(~0u, total, step);
    return total;
}

__global__ void block_sums_shuffle(const float* values, float* sums, int n, int) {
    __shared__ float of_warp[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float total = over_the_warp(i < n ? values[i] : 0.0f);
    if (t % 32 == 0) of_warp[t / 32] = total;
    __syncthreads();
    if (t < 32) {
        total = over_the_warp(t < blockDim.x / 32 ? of_warp[t] : 0.0f);
        if (t == 0) sums[blockIdx.x] = total;
    }
}

__global__ void histogram_global(const unsigned char* values, int* counts, int n, int) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[values[i]], 1);
}

__global__ void histogram_shared(const int* values, int* counts, int n, int bins) {
    __shared__ int mine[256];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[values[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
}

__global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int, int,
                             int, int p) {
    __shared__ float s[32][32], t[32][32];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 32 + y, j = blockIdx.x * 32 + x;
    float total = 0;
    for (int k = 0; k < n; k += 32) {
        s[y][x] = i < m && k + x < n ? a[i * n + k + x] : 0.0f;
        t[y][x] = k + y < n && j < p ? b[(k + y) * p + j] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 32; ++q) total += s[y][q] * t[q][x];
        __syncthreads();
    }
    if (i < m && j < p) c[i * p + j] = total;
}

__global__ void softmax_rows(const float* scores, float* out, int rows, int n, int, int) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float largest = -INFINITY, total = 0;
    for (int j = lane; j < n; j += 32) largest = fmaxf(largest, scores[row * n + j]);
    for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    for (int j = lane; j < n; j += 32) total += expf(scores[row * n + j] - largest);
    for (int d = 16; d > 0; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    for (int j = lane; j < n; j += 32)
        out[row * n + j] = expf(scores[row * n + j] - largest) / total;
}
"""
