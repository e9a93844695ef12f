#include <cstdio>
#include <iostream>
#include <cuda.h>
#include <helper_cuda.h>
#include "check.h"

__global__ void hello(int n) {
    if (threadIdx.x < n) printf("hello from %d of block %u, %.1f %s\n", threadIdx.x, blockIdx.x, 0.5, "%");
}

using namespace std;
static __global__ void fill(int* x);  // std has a function of this name

__global__ void scale(double* x) { x[threadIdx.x] *= 2; }

static __global__ void fill(int* x) { *x = 1; }

int main() {
    int count = 0, blocks = 0, device = -1;
    CHECK(cudaGetDeviceCount(&count));
    checkCudaErrors(cudaSetDevice(findCudaDevice(0, nullptr)));
    getLastCudaError("nothing yet");
    CHECK(cudaGetDevice(&device));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    printf("%d %s %d.%d warp %d, %d threads, %d blocks\n", count, properties.name, properties.major,
           properties.minor, properties.warpSize, properties.maxThreadsPerBlock, blocks);
    int grid, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 200));
    printf("at most 200: %d blocks of %d\n", grid, block);
    double local = 0, *memory;
    CHECK(cudaHostRegister(&local, sizeof local, cudaHostRegisterDefault));
    CHECK(cudaHostUnregister(&local));
    for (int kind = 0; kind < 4; ++kind) {
        if (kind == 0) memory = &local;
        if (kind == 1) CHECK(cudaMallocHost(&memory, 8));
        if (kind == 2) CHECK(cudaMalloc(&memory, 8));
        if (kind == 3) CHECK(cudaMallocManaged(&memory, 8));
        cudaPointerAttributes attributes;
        CHECK(cudaPointerGetAttributes(&attributes, memory));
        printf(attributes.type == kind ? "%d " : "not %d ", kind);
        if (kind == 3) CHECK(cudaMemPrefetchAsync(memory, 8, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0));
        if (kind > 0) CHECK(kind == 1 ? cudaFreeHost(memory) : cudaFree(memory));
    }
    std::cout << "before ";
    hello<<<2, 32>>>(1);
    std::cout << "the kernel\n";  // not flushed yet
    CHECK(cudaDeviceSynchronize());
    std::cout << "after" << std::endl;
    exit(3);
}
