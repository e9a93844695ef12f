// Memory of more kinds than one; each function prints, and what it prints is known to be right.
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

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

// --- pools

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }  // [fills]

static unsigned long long ask(cudaMemPool_t pool, cudaMemPoolAttr which) {
    unsigned long long value = 0;
    cudaMemPoolGetAttribute(pool, which, &value);
    return value;
}

static void marks(cudaMemPool_t pool) {
    printf("%llu/%llu %llu/%llu, ", ask(pool, cudaMemPoolAttrUsedMemCurrent),
           ask(pool, cudaMemPoolAttrUsedMemHigh), ask(pool, cudaMemPoolAttrReservedMemCurrent),
           ask(pool, cudaMemPoolAttrReservedMemHigh));
}

int pools() {
    cudaMemPool_t pool, other, now;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    int *a, *b, host;
    cudaMallocAsync(&a, 1000, stream);
    cudaMallocAsync(&b, 500, stream);
    fill<<<1, 100, 0, stream>>>(a, 7);
    cudaMemcpyAsync(&host, a + 99, sizeof host, cudaMemcpyDeviceToHost, stream);
    marks(pool);
    cudaFreeAsync(a, stream);
    marks(pool);
    unsigned long long threshold = 1200, zero = 0;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    cudaMallocAsync(&a, 1000, stream);
    cudaFreeAsync(a, stream);
    marks(pool);
    cudaMemPoolTrimTo(pool, 600);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero);
    marks(pool);
    cudaFreeAsync(b, stream);
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.maxSize = 4096;
    cudaMemPoolCreate(&other, &wanted);
    cudaDeviceSetMemPool(0, other);
    cudaDeviceGetMemPool(&now, 0);
    cudaMallocAsync(&a, 4000, stream);
    say(cudaMallocFromPoolAsync((void**)&b, 200, other, stream));  // [pool is full]
    cudaMallocFromPoolAsync((void**)&b, 200, pool, stream);
    marks(other);
    printf("%d %d ", now == other, host);
    cudaFree(a);
    cudaFreeAsync(b, stream);
    cudaMemPoolDestroy(other);
    say(cudaMemPoolDestroy(pool));  // [default pool]
    say(cudaMallocFromPoolAsync((void**)&b, 200, other, stream));  // [no pool]
    say(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero));  // [read only]
    cudaDeviceGetMemPool(&now, 0);
    printf("%d\n", now == pool);
    return 0;
}

int freed_in_order() {
    cudaStream_t one, two;
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    int* x;
    cudaMallocAsync(&x, 128, one);  // [made]
    fill<<<1, 32, 0, two>>>(x, 1);  // [other stream]
    cudaFreeAsync(x, one);  // [free]
    fill<<<1, 32, 0, one>>>(x, 2);
    say(cudaStreamSynchronize(one));
    printf("\n");
    return 0;
}

__device__ int y[2] = {30, 40};
__global__ void through(int** rows, int* out) { out[threadIdx.x] = rows[0][threadIdx.x] + y[threadIdx.x]; }

// Memory that a pointer in memory leads to, and a variable of the device's with the same name.
int namesakes() {
    int *y, **rows, *out, host[2] = {1, 2};
    cudaMalloc(&y, sizeof host);
    cudaMalloc(&rows, sizeof y);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(y, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(rows, &y, sizeof y, cudaMemcpyHostToDevice);
    through<<<1, 2>>>(rows, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d %d\n", host[0], host[1]);
    for (int* p : {y, (int*)rows, out}) cudaFree(p);
    return 0;
}

// --- what a program asks of the device

int device() {
    int pools, engines, blocks, three, none;
    cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0);
    cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, 0);
    say(cudaDeviceEnablePeerAccess(1, 0));  // [no device]
    say(cudaDeviceGetP2PAttribute(&none, cudaDevP2PAttrAccessSupported, 0, 0));  // [itself]
    size_t heap, before, room;
    cudaDeviceGetLimit(&before, cudaLimitMallocHeapSize);
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20);
    cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 128, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&three, fill, 128, 41 << 10);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&none, fill, 128, 49 << 10);
    cudaOccupancyAvailableDynamicSMemPerBlock(&room, fill, 4, 128);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("%d %d, %zu then %zu, %d %d %d, %zu, %d %d %zu\n", pools, engines, before, heap, blocks,
           three, none, room, p.memoryPoolsSupported, p.maxTexture2D[1], p.textureAlignment);
    return 0;
}

int forked() {
    int *x, status = 0;
    cudaMalloc(&x, 4);
    if (fork() == 0) {
        cudaFree(x);
        _exit(0);
    }
    wait(&status);
    cudaFree(x);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}

// So much memory in all as there is not, of which one piece is there at a time.
int given_back() {
    int* x;
    int host = 0;
    for (int i = 0; i < 40; ++i) {
        cudaMalloc(&x, 8 << 20);
        fill<<<1, 32>>>(x, i);
        cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost);
        cudaFree(x);
    }
    printf("%d\n", host);
    return 0;
}

// Memory of malloc's becomes a kernel's, too, with what it holds, and keeps what is written there.
int registered() {
    int n = 3000, *device, *host = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped);
    cudaHostGetDevicePointer((void**)&device, host + 1000, 0);
    reverse<<<1, 256, 8000>>>(device, 2000);
    cudaDeviceSynchronize();
    printf("%d %d %d, ", host[999], host[1000], host[2999]);
    host[2999] = -1;
    reverse<<<1, 256, 8000>>>(device, 2000);
    cudaDeviceSynchronize();
    cudaHostUnregister(host);
    say(cudaDeviceSynchronize());
    printf("%d %d\n", host[1000], host[2999]);
    free(host);
    return 0;
}

int filled() {
    const size_t bytes = 64 << 20;
    unsigned short *x, last;
    cudaMalloc(&x, bytes);
    cuMemsetD16((CUdeviceptr)(x + 1), 0x1234, bytes / 2 - 1);
    cudaMemcpy(&last, x + bytes / 2 - 1, 2, cudaMemcpyDeviceToHost);
    printf("%x\n", last);
    cudaFree(x);
    return 0;
}

int main(int argc, char** argv) {
    std::map<std::string, int (*)()> all{
#define ONE(name) {#name, name}
        ONE(opt_in), ONE(pools), ONE(freed_in_order), ONE(namesakes), ONE(device), ONE(forked),
        ONE(given_back), ONE(registered), ONE(filled),
    };
    return all.at(argv[1])();
}
