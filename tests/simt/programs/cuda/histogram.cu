#include <array>
#include <cstdio>
#include <cstring>
#include <string>

constexpr int BINS = 26;

__constant__ char first_letter;
__device__ unsigned int seen;

__global__ void histogram(const unsigned char* text, size_t n, unsigned int* bins) {
    __shared__ unsigned int mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int letter = text[i] - first_letter;
        if (letter >= 0 && letter < BINS) {
            atomicAdd(&mine[letter], 1u);
            atomicAdd(&seen, 1u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

int main() {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "the quick brown fox jumps over the lazy dog ";
    unsigned char* d_text;
    unsigned int* d_bins;
    std::array<unsigned int, BINS> bins;
    cudaMalloc(&d_text, text.size());
    cudaMalloc(&d_bins, sizeof(bins));
    cudaMemcpy(d_text, text.data(), text.size(), cudaMemcpyHostToDevice);
    cudaMemset(d_bins, 0, sizeof(bins));
    const char a = 'a';
    const unsigned int zero = 0;
    cudaMemcpyToSymbol(first_letter, &a, 1);
    cudaMemcpyToSymbol(seen, &zero, sizeof zero);
    histogram<<<4, 64>>>(d_text, text.size(), d_bins);
    cudaMemcpy(bins.data(), d_bins, sizeof(bins), cudaMemcpyDeviceToHost);
    unsigned int counted;
    cudaMemcpyFromSymbol(&counted, seen, sizeof counted);
    for (char c : {'e', 'o', 'z'}) std::printf("%c: %u\n", c, bins[c - 'a']);
    std::printf("counted: %u\n", counted);
    cudaFree(d_text);
    cudaFree(d_bins);
    return 0;
}
