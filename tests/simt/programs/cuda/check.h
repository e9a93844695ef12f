#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                              \
    do {                                                                         \
        const cudaError_t status = (call);                                       \
        if (status != cudaSuccess) {                                             \
            fprintf(stderr, "%s:%d: %s (%d)\n", __FILE__, __LINE__,              \
                    cudaGetErrorString(status), status);                         \
            exit(EXIT_FAILURE);                                                  \
        }                                                                        \
    } while (0)

__host__ __device__ inline int blocks_for(int n, int threads) {
    return (n + threads - 1) / threads;
}

template <typename T>
__device__ T clamped(const T* values, int i, int n) {
    return values[i < 0 ? 0 : i < n ? i : n - 1];
}
