#include <stdio.h>
#include <algorithm>
#include <cmath>
#include <vector>

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main(int argc, char** argv) {
    const int n = 20 * (1 << 10) + 7;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *d_x, *d_y;
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc((void**)&d_y, n * sizeof(float));

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);

    cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);

    cudaEventRecord(start);
    saxpy<<<(n + 511) / 512, 512>>>(n, 2.0f, d_x, d_y);
    cudaEventRecord(stop);

    cudaMemcpy(y.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaEventSynchronize(stop);
    float milliseconds = -1;
    cudaEventElapsedTime(&milliseconds, start, stop);

    float worst = 0.0f;
    for (float value : y) worst = std::max(worst, std::abs(value - 4.0f));
    printf("worst: %f\n", worst);
    printf("timed: %s\n", milliseconds > 0 && n * sizeof(float) * 3 / milliseconds / 1e6 > 0 ? "yes" : "no");

    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaFree(d_x);
    cudaFree(d_y);
    return argc > 2 ? atoi(argv[2]) : 0;
}
