// structs, methods, functors, deduced templates, a kernel by its address
#include <cstdio>
#include <string>
#include <vector>
#include "check.h"

struct Particle {
    float3 position, velocity;
    int id;
    __host__ __device__ void move(float dt) {
        position.x += dt * velocity.x;
        position.y += dt * velocity.y;
        position.z += dt * velocity.z;
    }
    std::string name() const { return "particle " + std::to_string(id); }
};

struct View {
    Particle* data;
    int n;
};

struct Faster {
    float factor;
    __device__ float operator()(float x) const { return x * factor; }
};

__global__ void step(View particles, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < particles.n) particles.data[i].move(dt);
}

template <typename F>
__global__ void change(Particle* data, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i].velocity.x = f(data[i].velocity.x);
}

#define LAUNCH(kernel, n, ...) kernel<<<blocks_for(n, 64), 64>>>(__VA_ARGS__)

int main() {
    const int n = 100;
    std::vector<Particle> host(n);
    for (int i = 0; i < n; ++i)
        host[i] = Particle{make_float3(i, 0, 0), make_float3(1, 2, 3), i};
    Particle* device;
    CHECK(cudaMalloc(&device, n * sizeof(Particle)));
    CHECK(cudaMemcpy(device, host.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    LAUNCH(change, n, device, n, Faster{2});
    View view{device, n};
    float dt = 0.5f;
    void* arguments[] = {&view, &dt};
    CHECK(cudaLaunchKernel((void*)step, dim3(2), dim3(64), arguments, 0, nullptr));
    auto chosen = step;
    if (n > 50) chosen<<<2, 64>>>({device, n}, 1);
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(Particle), cudaMemcpyDefault));
    const Particle& p = host[7];
    printf("%s: %g %g %g\n", p.name().c_str(), p.position.x, p.position.y, p.position.z);
    CHECK(cudaFree(device));
    return 0;
}
