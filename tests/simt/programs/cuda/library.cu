// Thrust, which comes with the compiler: its kernels are those of CUB.
#include <thrust/device_vector.h>
#include <thrust/transform_reduce.h>

#include <cstdio>
#include <vector>

int main() {
    std::vector<int> numbers{5, 3, 9, 1};
    thrust::device_vector<int> x(numbers.begin(), numbers.end());
    int squares = thrust::transform_reduce(
        x.begin(), x.end(), [] __host__ __device__(int i) { return i * i; }, 0, thrust::plus<int>());
    printf("%d of %zu\n", squares, x.size());
    return 0;
}
