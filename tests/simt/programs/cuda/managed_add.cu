#include <iostream>
#include <math.h>

// adds two arrays on the device
__global__
void add(int n, float *x, float *y)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = first; i < n; i += stride)
        y[i] = x[i] + y[i];
}

int main(void)
{
    int N = 1 << 14;
    float *x, *y;

    cudaMallocManaged(&x, N * sizeof(float));
    cudaMallocManaged(&y, N * sizeof(float));
    for (int i = 0; i < N; i++) {
        x[i] = 1.0f;
        y[i] = 2.0f;
    }

    int threads = 256;
    int blocks = (N + threads - 1) / threads;
    add<<<blocks, threads>>>(N, x, y);

    cudaDeviceSynchronize();

    float largest = 0.0f;
    for (int i = 0; i < N; i++)
        largest = fmax(largest, fabs(y[i] - 3.0f));
    std::cout << "largest error: " << largest << std::endl;

    cudaFree(x);
    cudaFree(y);
    return 0;
}
