#include <cstdio>
#include <vector>
#include "check.h"

namespace work {
enum class Mode { Square, Cube };

template <Mode mode>
__global__ void power(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = mode == Mode::Square ? data[i] * data[i] : data[i] * data[i] * data[i];
}
}  // namespace work

int main() {
    const int parts = 4, each = 1000;
    float *host, *device;
    CHECK(cudaMallocHost(&host, parts * each * sizeof(float)));
    CHECK(cudaMalloc(&device, parts * each * sizeof(float)));
    for (int i = 0; i < parts * each; ++i) host[i] = i % 10;
    std::vector<cudaStream_t> streams(parts);
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
    for (int s = 0; s < parts; ++s) {
        const int at = s * each;
        CHECK(cudaMemcpyAsync(device + at, host + at, each * sizeof(float), cudaMemcpyHostToDevice, streams[s]));
        if (s % 2 == 0)
            work::power<work::Mode::Square><<<blocks_for(each, 128), 128, 0, streams[s]>>>(device + at, each);
        else
            work::power<work::Mode::Cube><<<blocks_for(each, 128), 128, 0, streams[s]>>>(device + at, each);
        CHECK(cudaMemcpyAsync(host + at, device + at, each * sizeof(float), cudaMemcpyDeviceToHost, streams[s]));
    }
    CHECK(cudaEventRecord(ready, streams[parts - 1]));
    CHECK(cudaStreamWaitEvent(streams[0], ready, 0));
    for (auto& stream : streams) CHECK(cudaStreamSynchronize(stream));
    printf("%g %g %g\n", host[9], host[each + 9], host[parts * each - 8]);
    printf("ready: %s\n", cudaEventQuery(ready) == cudaSuccess ? "yes" : "no");
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t urgent;
    CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    work::power<work::Mode::Square><<<1, 128, 0, urgent>>>(device, 1);
    CHECK(cudaMemcpyAsync(host, device, sizeof(float), cudaMemcpyDeviceToHost, urgent));
    CHECK(cudaLaunchHostFunc(urgent, [](void* data) { printf("then %g\n", *(float*)data); }, host));
    CHECK(cudaStreamAddCallback(urgent, [](cudaStream_t, cudaError_t status, void*) {
        printf("and %s\n", cudaGetErrorName(status));
    }, nullptr, 0));
    CHECK(cudaStreamDestroy(urgent));
    for (auto& stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    return 0;
}
