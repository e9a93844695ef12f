// One classic mistake for each name that may come first; the line of each has its name in brackets.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

const int n = 256;
const size_t bytes = n * sizeof(float);

__global__ void fill(float* out, int count, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = value;
}

__global__ void no_guard(float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i;  // [out of bounds]
}

__global__ void twice(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * in[i];  // [elements for bytes]
}

__global__ void racy(float* sum) {
    sum[0] += threadIdx.x;  // [race]
}

__global__ void reverse(float* x) {
    __shared__ float s[n];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[n - 1 - threadIdx.x];  // [no barrier read]
}

__global__ void checks(int limit) {
    assert(threadIdx.x < limit);  // [assert]
}

__global__ void speaks() { printf("said\n"); }

__global__ void through(float** rows) { rows[threadIdx.x][threadIdx.x] = 1; }  // [pointers]

static void say(const char* what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

static float* device() {
    float* made;
    cudaMalloc(&made, bytes);  // [leak]
    cudaMemset(made, 0, bytes);
    return made;
}

int out_of_bounds() {
    float* x = device();
    no_guard<<<3, 128>>>(x);
    say("launch", cudaGetLastError());
    say("wait", cudaDeviceSynchronize());
    say("again", cudaMalloc(&x, bytes));
    return 1;
}

int forgotten_copy() {
    float *x = device(), host[n] = {0};
    fill<<<1, n>>>(x, n, 3);
    cudaDeviceSynchronize();
    printf("%g\n", host[0]);
    cudaFree(x);
    return 0;
}

int wrong_direction() {
    float *x = device(), host[n] = {7};
    say("copy", cudaMemcpy(x, host, bytes, cudaMemcpyDeviceToHost));  // [direction]
    say("copy", cudaMemcpy(host, x, bytes, cudaMemcpyHostToDevice));  // [direction back]
    cudaFree(x);
    return 0;
}

int elements_for_bytes() {
    float *x, *y = device();
    std::vector<float> host(n, 1.0f);
    cudaMalloc(&x, bytes);
    cudaMemcpy(x, host.data(), n, cudaMemcpyHostToDevice);
    twice<<<1, n>>>(x, y);
    cudaMemcpy(host.data(), y, bytes, cudaMemcpyDeviceToHost);
    printf("%g %s\n", host[0], host[n - 1] == 2 ? "right" : "wrong");
    cudaFree(x);
    cudaMalloc(&x, n);  // [small]
    say("copy", cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice));  // [too large]
    cudaFree(x);
    cudaFree(y);
    return 0;
}

int no_wait() {
    float* x;
    cudaMallocManaged(&x, bytes);  // [managed]
    x[0] = 1;
    fill<<<1, n>>>(x, n, 3);
    printf("%g\n", x[0]);  // [reads too early]
    cudaDeviceSynchronize();
    printf("%g\n", x[0]);
    float* y = device();
    twice<<<1, n>>>(x, y);  // which only reads x, as the host may do
    printf("%g\n", x[1]);
    x[1] = 4;  // [writes too early]
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    return 0;
}

int early_result() {
    float *x = device(), *host;
    cudaMallocHost(&host, bytes);
    host[0] = 5;
    fill<<<1, n>>>(x, n, 3);
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost);  // [later]
    printf("%g\n", host[0]);  // [pinned too early]
    cudaStreamSynchronize(0);
    printf("%g\n", host[0]);
    cudaFreeHost(host);
    cudaFree(x);
    return 0;
}

int bad_launch() {
    float* x = device();
    fill<<<1, 2048>>>(x, n, 3);  // [too many threads]
    say("launch", cudaPeekAtLastError());
    say("launch", cudaGetLastError());
    say("after", cudaGetLastError());
    fill<<<0, 32>>>(x, n, 3);  // [no block]
    say("launch", cudaGetLastError());
    fill<<<1, 32, 1 << 20>>>(x, n, 3);  // [too much shared memory]
    say("launch", cudaGetLastError());
    fill<<<4, 3, 16>>>(x, n, 3);
    say("launch", cudaGetLastError());
    std::vector<float> host(n);
    cudaMemcpy(host.data(), x, bytes, cudaMemcpyDeviceToHost);
    int filled = 0;
    for (float value : host) filled += value == 3;
    printf("%d of %d\n", filled, n);
    cudaFree(x);
    return 0;
}

int race() {
    float *x = device(), sum;
    racy<<<2, 64>>>(x);
    cudaMemcpy(&sum, x, sizeof sum, cudaMemcpyDeviceToHost);
    reverse<<<1, n>>>(x);
    say("wait", cudaDeviceSynchronize());
    cudaFree(x);
    return 0;
}

int host_reads() {
    float* x = device();
    printf("here\n");
    float first = x[3];  // [host reads]
    printf("not here: %g\n", first);
    return 0;
}

int host_copies() {
    float *x = device(), host[n];
    memcpy(host, x, bytes);  // [host copies]
    printf("not here: %g\n", host[0]);
    return 0;
}

int host_pointer() {
    std::vector<float> host(n);
    no_guard<<<1, n>>>(host.data());
    say("wait", cudaDeviceSynchronize());
    return 0;
}

int null_pointer() {
    int* nothing = nullptr;
    printf("%d\n", *(volatile int*)nothing);  // [null]
    return 0;
}

int freed() {
    float* x = device();
    cudaFree(x);  // [first]
    say("free", cudaFree(x));  // [second]
    no_guard<<<1, n>>>(x);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

int leak() {
    float* x = device();
    fill<<<1, n>>>(x, n, 1);
    float host[n];
    cudaMemcpy(host, x, bytes, cudaMemcpyDeviceToHost);
    return 0;
}

int failed_assertion() {
    checks<<<1, 32>>>(31);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

int silent() {
    speaks<<<1, 1>>>();
    return 0;
}

int pointers() {
    float *rows[2] = {device(), device()}, **d_rows, host[n], *beside;
    cudaMallocHost((void**)&beside, bytes);
    *beside = 2;  // where no pointer leads
    cudaMalloc(&d_rows, sizeof rows);
    cudaMemcpy(d_rows, rows, sizeof rows, cudaMemcpyHostToDevice);
    through<<<1, 2>>>(d_rows);
    printf("%g\n", *beside);
    cudaMemcpy(host, rows[1], bytes, cudaMemcpyDeviceToHost);
    printf("%g\n", host[1]);
    cudaFree(rows[1]);
    through<<<1, 2>>>(d_rows);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

int odd_calls() {
    cudaEvent_t event, never;
    float* x = device();
    float ms = 0;
    cudaEventCreate(&event);
    cudaEventCreate(&never);
    cudaEventRecord(event);
    say("busy", cudaEventQuery(event));
    say("done", cudaEventQuery(event));
    say("elapsed", cudaEventElapsedTime(&ms, event, never));  // [never recorded]
    say("device", cudaSetDevice(3));  // [device 3]
    say("stream", cudaStreamSynchronize((cudaStream_t)77));  // [stream]
    say("memory", cudaMalloc(&x, (size_t)1 << 40));  // [memory]
    say("free", cudaFree(&ms));  // [host free]
    say("free", cudaFreeHost(x = device()));  // [wrong free]
    size_t unused = 0, total = 0;
    cudaMemGetInfo(&unused, &total);
    printf("%zu used\n", total - unused);
    cudaDeviceReset();
    return 0;
}

template <typename F>
__global__ void apply(float* x, F f) { x[threadIdx.x] = f(threadIdx.x); }

int lambda() {
    float *x = device(), first[3];
    apply<<<1, 32>>>(x, [=] __device__ (int i) { return 2.0f * i; });
    cudaMemcpy(first, x, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g %g %g\n", first[0], first[1], first[2]);
    cudaFree(x);
    return 0;
}

__global__ void counted(int* sum, int* last) {
    atomicAdd_system(sum, 1);
    if (threadIdx.x == 0) *last = 1;
}

int atomics() {
    int *sum, *last;
    cudaMallocManaged(&sum, sizeof(int));
    cudaMallocManaged(&last, sizeof(int));
    *sum = *last = 0;
    counted<<<1, 64>>>(sum, last);
    for (int k = 0; k < 100; ++k) __atomic_fetch_add(sum, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(last, 1, __ATOMIC_SEQ_CST);  // [atomic on one side]
    cudaDeviceSynchronize();
    printf("%d\n", *sum);
    cudaFree(sum);
    cudaFree(last);
    return 0;
}

__global__ void poll(volatile int* flag, int* out) {
    atomicAdd(out, 7);
    while (!*flag);  // [stuck]
}

__global__ void look(const int* flag, int* out) { *out += *flag + ((const char*)flag)[4]; }

int flags() {
    int *flag, out, *x = (int*)device();
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMemset(x, 0, 64), cudaDeviceSynchronize();
    poll<<<1, 1>>>(x + 8, x);
    cudaMemsetAsync(x + 8, 1, sizeof(int), other);  // what the kernel waits for
    cudaDeviceSynchronize();
    cudaHostAlloc((void**)&flag, 5, cudaHostAllocPortable);
    memset(flag, 0, 5);
    poll<<<1, 1>>>(flag, x);
    cudaMemsetAsync(x + 9, 1, 1, other), cudaStreamSynchronize(other);  // before the flag is set
    *(volatile int*)flag = 1;  // what the kernel waits for
    cudaDeviceSynchronize();
    look<<<1, 1>>>(flag, x);
    *(volatile int*)flag = 2;  // [flag read once]
    cudaMemcpy(&out, x, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", out > 14 && out < 17);
    cudaFree(x);
    cudaFreeHost(flag);
    return 0;
}

int stuck() {
    int* x = (int*)device();
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMemset(x, 0, 64), cudaDeviceSynchronize();
    poll<<<1, 1>>>(x, x + 1), poll<<<1, 1, 0, other>>>(x, x + 1);
    return cudaDeviceSynchronize() != cudaErrorLaunchTimeout;
}

__global__ void empty() {}
int nothing_to_copy() {
    empty<<<1, 1>>>();
    return cudaDeviceSynchronize();
}
__global__ void in_shared() {
    extern __shared__ volatile int s[];
    s[threadIdx.x] = 1;  // [no bytes]
}
int no_bytes() {
    in_shared<<<1, 32>>>();
    return cudaDeviceSynchronize() != 700;
}

int main(int argc, char** argv) {
    std::map<std::string, int (*)()> all{
#define ONE(name) {#name, name}
        ONE(out_of_bounds), ONE(forgotten_copy), ONE(wrong_direction), ONE(elements_for_bytes),
        ONE(no_wait), ONE(early_result), ONE(bad_launch), ONE(race), ONE(host_reads),
        ONE(host_copies), ONE(host_pointer), ONE(null_pointer), ONE(freed), ONE(leak),
        ONE(failed_assertion), ONE(silent), ONE(atomics), ONE(flags), ONE(pointers), ONE(odd_calls),
        ONE(lambda), ONE(nothing_to_copy), ONE(no_bytes), ONE(stuck),
    };
    return all.at(argv[1])();
}
