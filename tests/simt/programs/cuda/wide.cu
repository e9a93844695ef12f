// What only NVIDIA's own compiler reads: each function prints, and its line is known to be right.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <map>
#include <string>

namespace cg = cooperative_groups;

__managed__ int counter = 5;
namespace inner {
__constant__ float factor;
}
__constant__ float factor[2] = {1.5f, 2.5f};

__global__ void fill(int* x) { x[threadIdx.x] = 7; }
__global__ void fill(float* x) { x[threadIdx.x] = inner::factor * factor[1]; }
__global__ void count() { atomicAdd(&counter, 1); }

int overloads() {
    int *whole, first;
    float *real, other, three = 3;
    cudaMalloc(&whole, 128);
    cudaMalloc(&real, 128);
    cudaMemcpyToSymbol(inner::factor, &three, sizeof three);
    fill<< <1, 32 >> >(whole);
    fill<<<1, 32>>>(real);
    cudaMemcpy(&first, whole, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&other, real, 4, cudaMemcpyDeviceToHost);
    cudaFree(whole);
    cudaFree(real);
    printf("%d %g %g\n", first, other, __half2float(__float2half(0.1f)));
    return 0;
}

int managed() {
    count<<<2, 32>>>();
    cudaDeviceSynchronize();
    printf("%d\n", counter);
    return 0;
}

__global__ void neighbors(int* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = i;
    cg::this_grid().sync();
    int next = x[(i + 1) % n];
    cg::this_grid().sync();
    x[i] = next;
}

int together() {
    int *x, first, last;
    cudaMalloc(&x, 64 * sizeof(int));
    void* arguments[] = {&x};
    cudaLaunchCooperativeKernel((void*)neighbors, dim3(2), dim3(32), arguments);
    cudaMemcpy(&first, x, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&last, x + 63, 4, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%d %d\n", first, last);
    return 0;
}

int apart() {
    int* x;
    cudaMalloc(&x, 64 * sizeof(int));
    neighbors<<<2, 32>>>(x);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

__device__ int* kept;

__global__ void take() {
    int* own = new int[2];
    own[0] = threadIdx.x, own[1] = 1;
    if (threadIdx.x == 3) kept = own;
    else delete[] own;
}
__global__ void read(int beyond) {
    printf("%d %d\n", kept[0], kept[1 + beyond]);
    if (!beyond) delete[] kept;
}

int heap() {
    take<<<1, 8>>>();
    read<<<1, 1>>>(0);
    return cudaDeviceSynchronize();
}

int beyond_the_heap() {
    take<<<1, 8>>>();
    read<<<1, 1>>>(1);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

__device__ unsigned finished;

// The block that finishes last adds the parts and sets the counter back, as NVIDIA's guide does.
__global__ void total(volatile float* parts, float* out, int resets) {
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = blockIdx.x;
    __threadfence();
    bool last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    if (resets < 0 ? last : blockIdx.x == resets) {
        float sum = 0;
        for (int b = 0; b < gridDim.x && last; ++b) sum += parts[b];
        *out = sum;
        finished = 0;
    }
}

int sum_of_parts(int resets) {
    float *parts, *out, sum;
    cudaMalloc(&parts, 8 * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    total<<<8, 64>>>(parts, out, resets);
    cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    cudaFree(parts);
    cudaFree(out);
    printf("%g\n", sum);
    return 0;
}

int last_block() { return sum_of_parts(-1); }
int third_block() { return sum_of_parts(3); }

__global__ void convert(float* x, long long whole, double real) {
    x[0] = __ll2float_rd(whole), x[1] = __ll2float_ru(whole), x[2] = __ll2float_rz(-whole);
    x[3] = __double2float_rd(real), x[4] = __uint2float_ru((unsigned)whole);
}

int rounding() {
    float *x, h[5];
    cudaMalloc(&x, sizeof h);
    convert<<<1, 1>>>(x, 16777217, 0.1);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%.0f %.0f %.0f %.9g %.0f\n", h[0], h[1], h[2], h[3], h[4]);
    return 0;
}

int nothing() {
    float x = 0;
    size_t before, after, total;
    void* pinned;
    cudaMemGetInfo(&before, &total);
    cudaMallocHost(&pinned, 1 << 20);
    cudaMemGetInfo(&after, &total);
    cudaFreeHost(pinned);
    printf("%d %d %d\n", cudaMemcpy(&x, &x, 0, cudaMemcpyHostToDevice), cudaMemset(nullptr, 0, 0),
           (int)(before - after));
    return 0;
}

__global__ void sums(const float* x, float* out) {
    float4 v = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

int askew() {
    float *x, *out;
    cudaMalloc(&x, 65 * sizeof(float));
    cudaMalloc(&out, 16 * sizeof(float));
    cudaMemset(x, 0, 65 * sizeof(float));
    sums<<<1, 16>>>(x + 1, out);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

int lacking() {
    cudaIpcEventHandle_t handle;
    printf("%s\n", cudaGetErrorName(cudaIpcGetEventHandle(&handle, nullptr)));
    return 0;
}

struct Arrays {
    const int *in, *more;
    int* out;
    long between;  // from out on to the last array, whose address is not among them
};

__global__ void join(Arrays a) {
    int i = threadIdx.x;
    a.out[i] = a.in[i] + *reinterpret_cast<const int*>((long)(a.more + i) + a.between);
    *reinterpret_cast<int*>((long)(a.out + i) + a.between) += 1;
}

int structure() {
    int *x[4], host[4];
    for (int k = 0; k < 4; k++) {
        for (int& h : host) h = 10 * k + 1;
        cudaMalloc(&x[k], 16);
        cudaMemcpy(x[k], host, 16, cudaMemcpyHostToDevice);
    }
    join<<<1, 4>>>({x[0], x[2], x[2], (long)x[3] - (long)x[2]});
    for (int k = 0; k < 4; k++) {
        cudaMemcpy(host, x[k], 16, cudaMemcpyDeviceToHost);
        printf("%d%c", host[3], " \n"[k == 3]);
        cudaFree(x[k]);
    }
    return 0;
}

__global__ void put(Arrays a, const int* same) { a.out[threadIdx.x] = same[threadIdx.x / 2] + 1; }

int aliased() {
    int *x, host;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    put<<<1, 64>>>({0, 0, x}, x);
    cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost);
    printf("%d\n", host);
    cudaFree(x);
    return 0;
}

#pragma pack(push, 1)
struct Packed {
    char kind;
    int *set, *unused;
    const volatile int* polled;
    cudaTextureObject_t texels;
};
#pragma pack(pop)

__global__ void wait(Packed p) {
    while (*p.polled == 0) {}
    *p.set = *p.polled + tex1Dfetch<int>(p.texels, 0);
}

__global__ void follow(const int* const* all, const int* factor, int* out) {
    *out = **all * *factor;
}

int packed() {
    int* x[3];
    for (int*& one : x) {
        cudaMallocManaged(&one, 4);
        *one = 0;
    }
    Packed p = {0, x[0], x[1], x[2]};
    cudaResourceDesc texels = {cudaResourceTypeLinear};
    texels.res.linear.desc = cudaCreateChannelDesc<int>();
    texels.res.linear.sizeInBytes = sizeof(int);
    cudaMalloc(&texels.res.linear.devPtr, sizeof(int));
    cudaMemset(texels.res.linear.devPtr, 0, sizeof(int));
    cudaTextureDesc how = {};
    cudaTextureObject_t object;
    cudaCreateTextureObject(&object, &texels, &how, nullptr);
    p.texels = object;
    wait<<<1, 1>>>(p);
    *x[1] = *x[2] = 5;
    printf("%d", *x[0]);  // too early
    cudaDeviceSynchronize();
    printf(" %d", *x[0]);
    int** all;
    cudaMallocManaged(&all, sizeof(int*));
    *all = x[0];
    follow<<<1, 1>>>(all, x[1], x[2]);
    int factor = *x[1];  // which both only read
    cudaDeviceSynchronize();
    printf(" %d %d\n", factor, *x[2]);
    cudaDestroyTextureObject(object);
    cudaFree(texels.res.linear.devPtr);
    cudaFree(all);
    for (int* one : x) cudaFree(one);
    return 0;
}

int followed() {
    int *x, *y, **all;
    cudaMallocManaged(&x, sizeof(int));
    cudaMallocManaged(&y, sizeof(int));
    cudaMallocManaged(&all, sizeof(int*));
    *x = 3, *all = x;
    follow<<<1, 1>>>(all, x, y);
    int before = *x;
    follow<<<1, 1>>>(all, y, y);
    before = **all;
    **all = before + 1;  // too early
    cudaDeviceSynchronize();
    printf("%d %d\n", before, *y);
    cudaFree(x), cudaFree(y), cudaFree(all);
    return 0;
}

struct OneBased {
    int *a, n;
};
__global__ void add(OneBased x) { x.a[threadIdx.x + 1] += x.n; }
__global__ void add(int* a, int n) { a[threadIdx.x + 1] += n; }

int one_based() {
    int *before, *a, host[32];
    cudaMalloc(&before, 128);
    cudaMalloc(&a, 128);
    cudaMemset(a, 0, 128);
    add<<<1, 32>>>(OneBased{a - 1, 7});
    add<<<1, 32>>>(a - 1, 5);
    cudaMemcpy(host, a, 128, cudaMemcpyDeviceToHost);
    printf("%d %d\n", host[0], host[31]);
    cudaFree(before);
    cudaFree(a);
    return 0;
}

int main(int argc, char** argv) {
    std::map<std::string, int (*)()> all{
#define ONE(name) {#name, name}
        ONE(overloads), ONE(managed), ONE(together), ONE(apart), ONE(heap), ONE(beyond_the_heap),
         ONE(last_block), ONE(third_block), ONE(rounding),
        ONE(nothing), ONE(askew), ONE(lacking), ONE(structure), ONE(one_based),
        ONE(aliased), ONE(packed), ONE(followed),
    };
    return all.at(argv[1])();
}
