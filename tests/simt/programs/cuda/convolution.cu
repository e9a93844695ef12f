#include <cstdio>
#include <vector>
#include "check.h"

#define RADIUS 2
__constant__ float weights[2 * RADIUS + 1];

template <typename T>
__global__ void convolve(const T* in, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += weights[k + RADIUS] * clamped(in, i + k, n);
    out[i] = sum;
}

int main() {
    const int n = 1000;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i) in[i] = float(i % 17);
    const float h_weights[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    CHECK(cudaMemcpyToSymbol(weights, h_weights, sizeof(h_weights)));
    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, n * sizeof *d_in));
    CHECK(cudaMalloc(&d_out, n * sizeof *d_out));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof *d_in, cudaMemcpyHostToDevice));
    convolve<<<blocks_for(n, 256), 256>>>(d_in, d_out, n);
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof *d_out, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int k = -RADIUS; k <= RADIUS; ++k) {
            int j = i + k < 0 ? 0 : i + k < n ? i + k : n - 1;
            sum += h_weights[k + RADIUS] * in[j];
        }
        wrong += sum != out[i];
    }
    printf("%d of %d differ\n", wrong, n);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return 0;
}
