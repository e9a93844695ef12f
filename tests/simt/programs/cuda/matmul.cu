#include <cmath>
#include <cstdio>
#include <random>
#include <vector>
#include "check.h"

#define TILE 16

// C = A B for square matrices of n x n, tile by tile through shared memory
__global__ void __launch_bounds__(TILE * TILE)
matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
        int k = t * TILE;
        a[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? A[row * n + k + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? B[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) C[row * n + column] = sum;
}

struct Matrix {  // on the host
    int n;
    std::vector<float> values;
    explicit Matrix(int n) : n(n), values(n * n) {}
    float& operator()(int i, int j) { return values[i * n + j]; }
    size_t bytes() const { return values.size() * sizeof(float); }
};

int main() {
    const int n = 50;
    Matrix A(n), B(n), C(n);
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto* m : {&A, &B})
        for (auto& value : m->values) value = uniform(generator);

    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, A.bytes()));
    CHECK(cudaMalloc(&d_B, B.bytes()));
    CHECK(cudaMalloc(&d_C, C.bytes()));
    CHECK(cudaMemcpy(d_A, A.values.data(), A.bytes(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, B.values.data(), B.bytes(), cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE);
    dim3 grid(blocks_for(n, block.x), blocks_for(n, block.y));
    matmul<<<grid, block>>>(d_A, d_B, d_C, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(C.values.data(), d_C, C.bytes(), cudaMemcpyDeviceToHost));

    double error = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k < n; ++k) sum += A(i, k) * B(k, j);
            error = std::fmax(error, std::fabs(sum - C(i, j)));
        }
    std::printf("%s\n", error < 1e-4 ? "the product is right" : "the product is wrong");
    for (float* p : {d_A, d_B, d_C}) CHECK(cudaFree(p));
    return 0;
}
