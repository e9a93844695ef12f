#include <cstdio>
#include <iostream>
#include "check.h"

__global__ void hello(int n) {
    if (threadIdx.x < n) printf("hello from %d of block %u, %.1f %s\n", threadIdx.x, blockIdx.x, 0.5, "%");
}

__global__ void scale(double* x) { x[threadIdx.x] *= 2; }

int main() {
    int count = 0, blocks = 0, device = -1;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    printf("%d %s %d.%d warp %d, %d threads, %d blocks\n", count, properties.name, properties.major,
           properties.minor, properties.warpSize, properties.maxThreadsPerBlock, blocks);
    std::cout << "before ";
    hello<<<2, 32>>>(1);
    std::cout << "the kernel\n";  // not flushed yet
    CHECK(cudaDeviceSynchronize());
    std::cout << "after" << std::endl;
    exit(3);
}
