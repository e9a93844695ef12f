// Memory of more kinds than one; each function prints, and what it prints is known to be right.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static void say(cudaError_t error) { printf("%s ", cudaGetErrorName(error)); }

// Reverses n numbers in shared memory.
__global__ void reverse(int* x, int n) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = s[n - 1 - i];
}

__global__ void with_static(int* x) {
    extern __shared__ int s[];
    __shared__ int own[8192];
    s[threadIdx.x] = own[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x] + own[threadIdx.x];
}

int opt_in() {
    int n = 40000, most, *x;
    std::vector<int> host(n);
    for (int i = 0; i < n; ++i) host[i] = i;
    size_t bytes = n * sizeof(int);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    cudaMalloc(&x, bytes);
    cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice);
    reverse<<<1, 256, bytes>>>(x, n);  // [no opt-in]
    say(cudaGetLastError());
    say(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1));  // [more than there is]
    say(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    reverse<<<1, 256, bytes + 4>>>(x, n);  // [beyond the opt-in]
    cudaFuncAttributes attributes;
    int blocks;
    cudaFuncGetAttributes(&attributes, reverse);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, bytes);
    reverse<<<1, 256, bytes>>>(x, n);
    cudaMemcpy(host.data(), x, bytes, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != n - 1 - i;
    printf("%d %d of %d, %d wrong, ", blocks, attributes.maxDynamicSharedSizeBytes, most, wrong);
    with_static<<<1, 32, 20000>>>(x);  // [static and dynamic]
    cudaFuncSetAttribute(with_static, cudaFuncAttributeMaxDynamicSharedMemorySize, 20000);
    with_static<<<1, 32, 20000>>>(x);
    cudaMemcpy(host.data(), x, bytes, cudaMemcpyDeviceToHost);
    printf("%d\n", host[1]);
    cudaFree(x);
    return 0;
}

int main(int argc, char** argv) {
    std::map<std::string, int (*)()> all{
#define ONE(name) {#name, name}
        ONE(opt_in),
    };
    return all.at(argv[1])();
}
