// Work on streams: each function with the waits that it needs, and without them if told so.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

const int n = 8192;
const size_t bytes = n * sizeof(float);
bool waits;

__global__ void fill(float* out, int count, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = value;
}
struct Arrays {
    const float* in;
    float* out;
};
__global__ void twice(Arrays a, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) a.out[i] = 2 * a.in[i];
}

__constant__ float factor;
__global__ void times(float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] *= factor;
}

static float *x, *y, *host;
static cudaStream_t s1, s2, apart;
static cudaEvent_t event;

static void say(const char* what, float value) { printf("%s %g\n", what, value); }
static float first(const float* device) {
    float value;
    cudaDeviceSynchronize();
    cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

void by_event() {
    fill<<<32, 256, 0, s1>>>(x, n, 3);  // [fill on s1]
    cudaEventRecord(event, s1);
    if (waits) cudaStreamWaitEvent(s2, event);
    twice<<<32, 256, 0, s2>>>({x, y}, n);  // [twice on s2]
    say("twice", first(y));
}
void by_the_host_s_event() {
    cudaMemsetAsync(x, 0, bytes, s1);  // [memset before the event]
    fill<<<32, 256, 0, s1>>>(x, n, 3);  // [fill before the event]
    cudaEventRecord(event, s1);
    if (waits) cudaEventSynchronize(event);
    cudaMemsetAsync(x, 0, bytes, s2);  // [memset]
    say("set", first(x));
}
void by_query() {
    fill<<<32, 256, 0, s1>>>(x, n, 3);  // [fill before the question]
    if (waits) while (cudaStreamQuery(s1) == cudaErrorNotReady) {}
    twice<<<32, 256, 0, s2>>>({x, y}, n);  // [twice after the question]
    say("twice", first(y));
}
void apart_from_the_default_stream() {
    fill<<<32, 256, 0, apart>>>(x, n, 3);  // [fill apart]
    if (waits) cudaStreamSynchronize(apart);
    float value;
    cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);  // [copy of the default stream]
    say("copied", value);
}
void pageable_in() {
    std::vector<float> values(n, 7);
    cudaMemcpyAsync(x, values.data(), bytes, cudaMemcpyHostToDevice, s1);  // [staged]
    values[0] = 8;  // its bytes have been staged
    if (waits) cudaStreamSynchronize(s1);
    twice<<<32, 256, 0, s2>>>({x, y}, n);  // [twice of what was staged]
    say("twice", first(y));
}
void pinned_in() {
    host[0] = 3;
    cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, s1);  // [pinned in]
    if (waits) cudaStreamSynchronize(s1);
    host[0] = 4;  // [changed too early]
    say("copied", first(x));
}
void pinned_out() {
    host[0] = 1;
    fill<<<32, 256, 0, s1>>>(x, n, 3);
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s1);
    if (waits) cudaStreamSynchronize(s1);
    say("copied", host[0]);  // [read too early]
}
void pinned_parts() {  // each stream has its part, and the host waits for one after the other
    const int parts = 4, each = n / parts;
    cudaStream_t streams[parts];
    for (int k = 0; k < parts; ++k) cudaStreamCreate(&streams[k]);
    for (int k = 0; k < parts; ++k) {
        fill<<<8, 256, 0, streams[k]>>>(x + k * each, each, k + 1.0f);
        cudaMemcpyAsync(host + k * each, x + k * each, bytes / parts, cudaMemcpyDeviceToHost,
                        streams[k]);
    }
    for (int k = 0; k < parts; ++k) {
        if (waits || k == 0) cudaStreamSynchronize(streams[k]);
        if (waits || k < 2) say("part", host[k * each]);  // [a part too early]
    }
    cudaDeviceSynchronize();
    for (auto stream : streams) cudaStreamDestroy(stream);
}
void managed_parts() {  // of one piece of memory, of which each kernel has its own pages
    float* shared;
    cudaMallocManaged(&shared, bytes);
    fill<<<16, 256, 0, s1>>>(shared, n / 2, 3);
    fill<<<16, 256, 0, s2>>>(shared + n / 2, n / 2, 4);
    cudaStreamSynchronize(s1);
    say("first", shared[0]);
    if (waits) cudaStreamSynchronize(s2);
    say("second", shared[n - 1]);  // [the other part too early]
    cudaDeviceSynchronize();
    cudaFree(shared);
}
void managed_neighbors() {  // both parts on one page
    float* shared;
    cudaMallocManaged(&shared, 512);
    fill<<<1, 64, 0, s1>>>(shared, 64, 3);
    fill<<<1, 64, 0, s2>>>(shared + 64, 64, 4);
    cudaStreamSynchronize(s1);
    say("first", shared[63]);
    cudaStreamSynchronize(s2);
    say("second", shared[64]);
    cudaFree(shared);
}
void from_a_pool() {
    float* z;
    cudaMallocAsync(&z, bytes, s1);  // [allocated]
    fill<<<32, 256, 0, s1>>>(z, n, 3);
    cudaEventRecord(event, s1);
    if (waits) cudaStreamWaitEvent(s2, event);
    twice<<<32, 256, 0, s2>>>({z, y}, n);  // [used on s2]
    cudaEventRecord(event, s2);
    if (waits) cudaStreamWaitEvent(s1, event);
    cudaFreeAsync(z, s1);  // [freed]
    say("twice", first(y));
}
void constant_memory() {
    float value = 5;
    fill<<<32, 256, 0, s1>>>(x, n, 3);
    cudaMemcpyToSymbolAsync(factor, &value, sizeof value, 0, cudaMemcpyHostToDevice, s2);  // [factor]
    cudaEventRecord(event, s2);
    if (waits) cudaStreamWaitEvent(s1, event);
    times<<<32, 256, 0, s1>>>(x, n);  // [factor used]
    say("times", first(x));
}
void in_turn() {
    host[0] = 1;
    fill<<<32, 256, 0, s1>>>(x, n, 3);
    cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, s1);
    cudaLaunchHostFunc(s1, [](void*) {
        host[0] += 1;
        if (!waits) printf("inside: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));  // [inside]
    }, nullptr);
    twice<<<32, 256, 0, s1>>>({x, y}, n);
    cudaStreamSynchronize(s1);
    say("in turn", host[0]);
}
void timed() {
    cudaEvent_t end;
    cudaEventCreate(&end);
    cudaEventRecord(event, s1);
    fill<<<32, 256, 0, s1>>>(x, n, 3);
    cudaEventRecord(end, s1);
    if (waits) cudaEventSynchronize(end);
    float ms = -1;
    cudaError_t error = cudaEventElapsedTime(&ms, event, end);  // [asked]
    printf("%s %d\n", cudaGetErrorName(error), ms > 0);
    cudaDeviceSynchronize();
    cudaEventDestroy(end);
}

int main(int argc, char** argv) {
    std::map<std::string, void (*)()> all{
#define ONE(name) {#name, name}
        ONE(by_event), ONE(by_the_host_s_event), ONE(by_query), ONE(apart_from_the_default_stream),
        ONE(pageable_in), ONE(pinned_in), ONE(pinned_out), ONE(pinned_parts), ONE(managed_parts),
        ONE(managed_neighbors), ONE(from_a_pool), ONE(constant_memory), ONE(in_turn), ONE(timed),
    };
    waits = argv[2] == std::string("right");
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMallocHost(&host, bytes);
    cudaMemset(x, 0, bytes);
    memset(host, 0, bytes);
    cudaStreamCreate(&s1), cudaStreamCreate(&s2);
    cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaDeviceSynchronize();
    all.at(argv[1])();
    cudaDeviceSynchronize();
    cudaStreamDestroy(s1), cudaStreamDestroy(s2), cudaStreamDestroy(apart);
    cudaEventDestroy(event);
    cudaFree(x), cudaFree(y), cudaFreeHost(host);
    return 0;
}
