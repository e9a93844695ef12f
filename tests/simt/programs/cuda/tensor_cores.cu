// Products of matrices on tensor cores, and tiles that one part of a block loads for the other.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cstdint>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

const int n = 64;
const int tile = 16;
const int stages = 2;

// C = A * B by warps of 16 x 16; each block keeps a strip of A in shared memory
__global__ void with_wmma(const half* a, const half* b, float* c) {
    __shared__ __align__(32) half strip[tile * n];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, strip, a + blockIdx.x * tile * n, sizeof(strip));
    cg::wait(block);
    const int column = threadIdx.x / 32 * tile;
    wmma::fragment<wmma::accumulator, tile, tile, tile, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += tile) {
        wmma::fragment<wmma::matrix_a, tile, tile, tile, half, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, tile, tile, tile, half, wmma::row_major> right;
        wmma::load_matrix_sync(left, strip + k, n);
        wmma::load_matrix_sync(right, b + k * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 2;
    wmma::store_matrix_sync(c + blockIdx.x * tile * n + column, sum, n, wmma::mem_row_major);
}

// the first 16 rows and 8 columns of A * B, by one warp
__global__ void with_mma(const half* a, const half* b, float* c) {
    __shared__ __align__(16) half left[16 * n], right[n * 8];
    for (int i = threadIdx.x; i < 16 * n; i += 32) left[i] = a[i];
    for (int i = threadIdx.x; i < n * 8; i += 32) right[i] = b[i / 8 * n + i % 8];
    __syncwarp();
    float d[4] = {0, 0, 0, 0};
    const int lane = threadIdx.x;
    for (int k = 0; k < n; k += 16) {
        uint32_t x[4], y[2];
        const auto row = (uint32_t)__cvta_generic_to_shared(left + lane % 16 * n + k + lane / 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row));
        const auto line = (uint32_t)__cvta_generic_to_shared(right + (k + lane % 16) * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1]) : "r"(line));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
    for (int i = 0; i < 4; i++) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = 2 * d[i];
}

// one warp loads tiles while the others add them up
__global__ void in_roles(const int* in, int* out, int rounds, bool waits) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ int tiles[stages][n];
    const bool loads = threadIdx.x < 32;
    auto role = loads ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, role);
    int sum = 0;
    for (int k = 0; k < rounds; k++) {
        int* place = tiles[k % stages];
        if (loads) {
            pipe.producer_acquire();
            for (int i = threadIdx.x; i < n; i += 32)
                cuda::memcpy_async(place + i, in + k * n + i, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            if (waits) pipe.consumer_wait();
            sum += place[n - 1 - (threadIdx.x - 32)];  // [reads]
            pipe.consumer_release();
        }
    }
    if (!loads) out[threadIdx.x - 32] = sum;
}

__global__ void with_barrier(const int* in, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int copy[n];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(copy + threadIdx.x, in + threadIdx.x, sizeof(int), bar);
    bar.arrive_and_wait();
    const int first = copy[n - 1 - threadIdx.x];
    auto token = bar.arrive();
    bar.wait(std::move(token));
    copy[threadIdx.x] = first + 1;
    bar.arrive_and_wait();
    out[threadIdx.x] = copy[n - 1 - threadIdx.x];
}

int main(int argc, char**) {
    half *a, *b;
    float *c, *d;
    int *in, *out;
    cudaMallocManaged(&a, n * n * sizeof(half));
    cudaMallocManaged(&b, n * n * sizeof(half));
    cudaMallocManaged(&c, n * n * sizeof(float));
    cudaMallocManaged(&d, 16 * 8 * sizeof(float));
    cudaMallocManaged(&in, 8 * n * sizeof(int));
    cudaMallocManaged(&out, n * sizeof(int));
    for (int i = 0; i < n * n; i++) a[i] = i * 7 % 23 - 11, b[i] = i * 5 % 19 - 9;
    for (int i = 0; i < 8 * n; i++) in[i] = i * i;
    with_wmma<<<n / tile, n / tile * 32>>>(a, b, c);
    with_mma<<<1, 32>>>(a, b, d);
    in_roles<<<1, 32 + n>>>(in, out, 8, argc == 1);
    cudaDeviceSynchronize();
    int wrong = 0, wrong_corner = 0, wrong_sums = 0, wrong_copies = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += (float)a[i * n + k] * (float)b[k * n + j];
            wrong += c[i * n + j] != 2 * sum;
            wrong_corner += i < 16 && j < 8 && d[i * 8 + j] != 2 * sum;
        }
        int sum = 0;
        for (int k = 0; k < 8; k++) sum += in[k * n + n - 1 - i];
        wrong_sums += out[i] != sum;
    }
    with_barrier<<<1, n>>>(in, out);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) wrong_copies += out[i] != in[i] + 1;
    printf("wrong: %d %d %d %d\n", wrong, wrong_corner, wrong_sums, wrong_copies);
    cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d), cudaFree(in), cudaFree(out);
}
