// The checks that NVIDIA's samples include under this name.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "cuda_runtime.h"

namespace simt {
inline void check(cudaError_t error, const char* what, const char* file, int line) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, what, cudaGetErrorName(error),
            cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}
}  // namespace simt

#define checkCudaErrors(call) ::simt::check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(said) ::simt::check(cudaGetLastError(), said, __FILE__, __LINE__)

inline int findCudaDevice(int, const char**) {
    cudaDeviceProp found;
    checkCudaErrors(cudaGetDeviceProperties(&found, 0));
    printf("GPU Device 0: \"%s\" with compute capability %d.%d\n\n", found.name, found.major,
           found.minor);
    return 0;
}
