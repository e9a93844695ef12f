#include <iostream>
#include <numeric>
#include <vector>
#include "check.h"

// each block's sum of its part of the input
template <typename T, unsigned BLOCK>
__global__ void block_sums(const T* in, T* out, int n) {
    extern __shared__ unsigned char bytes[];
    T* sums = reinterpret_cast<T*>(bytes);
    unsigned t = threadIdx.x;
    T sum = 0;
    for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK) sum += in[i];
    sums[t] = sum;
    __syncthreads();
    for (unsigned half = BLOCK / 2; half > 0; half >>= 1) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

template <typename T>
T sum_on_device(const std::vector<T>& values) {
    const int n = static_cast<int>(values.size()), blocks = 8;
    constexpr unsigned threads = 128;
    T *d_in, *d_sums, result;
    CHECK(cudaMalloc(&d_in, n * sizeof(T)));
    CHECK(cudaMalloc(&d_sums, (blocks + 1) * sizeof(T)));
    CHECK(cudaMemcpy(d_in, values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    block_sums<T, threads><<<blocks, threads, threads * sizeof(T)>>>(d_in, d_sums, n);
    block_sums<T, 32><<<1, 32, 32 * sizeof(T)>>>(d_sums, d_sums + blocks, blocks);
    CHECK(cudaPeekAtLastError());
    CHECK(cudaMemcpy(&result, d_sums + blocks, sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_sums));
    return result;
}

int main() {
    std::vector<int> whole(10000);
    std::iota(whole.begin(), whole.end(), 1);
    std::vector<double> halves(999, 0.5);
    std::cout << sum_on_device(whole) << " " << sum_on_device(halves) << "\n";
    return 0;
}
