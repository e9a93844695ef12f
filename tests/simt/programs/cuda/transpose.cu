#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include "check.h"

const int TILE_DIM = 32, ROWS = 8;

__global__ void transpose(float* out, const float* in, int width, int height) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

class Timer {
    cudaEvent_t from_, to_;

public:
    Timer() {
        CHECK(cudaEventCreate(&from_));
        CHECK(cudaEventCreate(&to_));
    }
    ~Timer() {
        cudaEventDestroy(from_);
        cudaEventDestroy(to_);
    }
    void start() { CHECK(cudaEventRecord(from_, 0)); }
    float stop() {
        float ms;
        CHECK(cudaEventRecord(to_, 0));
        CHECK(cudaEventSynchronize(to_));
        CHECK(cudaEventElapsedTime(&ms, from_, to_));
        return ms;
    }
};

int main() {
    const int width = 70, height = 45;
    auto in = std::make_unique<float[]>(width * height), out = std::make_unique<float[]>(width * height);
    for (int i = 0; i < width * height; ++i) in[i] = i;
    const auto clock = std::chrono::steady_clock::now();
    float *d_in, *d_out;
    size_t pitch;
    CHECK(cudaMalloc(&d_out, width * height * sizeof(float)));
    CHECK(cudaMallocPitch(&d_in, &pitch, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(d_in, pitch, in.get(), width * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    float* d_dense;
    CHECK(cudaMalloc(&d_dense, width * height * sizeof(float)));
    CHECK(cudaMemcpy2D(d_dense, width * sizeof(float), d_in, pitch, width * sizeof(float), height,
                       cudaMemcpyDeviceToDevice));
    Timer timer;
    timer.start();
    for (int round = 0; round < 2; ++round)
        transpose<<<dim3(blocks_for(width, TILE_DIM), blocks_for(height, TILE_DIM)),
                    dim3(TILE_DIM, ROWS)>>>(d_out, d_dense, width, height);
    const float ms = timer.stop();
    CHECK(cudaMemcpy(out.get(), d_out, width * height * sizeof(float), cudaMemcpyDeviceToHost));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - clock;
    int wrong = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) wrong += out[x * height + y] != in[y * width + x];
    std::cout << std::setw(4) << wrong << " wrong, in order: " << std::boolalpha << (ms <= took.count()) << "\n";
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_dense));
    return 0;
}
