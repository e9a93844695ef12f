// Kernels that launch kernels. Compile with -rdc=true.
#include <cstdio>
#include <cstdlib>

__device__ int order[8], steps;

__global__ void leaf(int* tree, int at, int value) {
    tree[at] += value * (threadIdx.x + 1);
}

__global__ void node(int* tree, int at, int depth, short step) {
    if (threadIdx.x == 0) tree[at] = at * step;
    if (depth == 0) {
        leaf<<<1, 1>>>(tree, at, depth + threadIdx.x + 1);
        return;
    }
    node<<<1, 2>>>(tree, 2 * at + 1 + threadIdx.x, depth - 1, step);
}

__global__ void note(int what) { order[atomicAdd(&steps, 1)] = what; }

__global__ void parent(int* from, int* to) {
    char text[] = "a text of its own";
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(4);
    note<<<1, 1, 0, stream>>>(1);
    cudaMemcpyAsync(to, from, 3 * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    leaf<<<1, 1, 0, stream>>>(to, 1, 100);
    note<<<1, 1, 0, cudaStreamFireAndForget>>>(2);
    int* taken;
    cudaMalloc(&taken, sizeof(int));
    *taken = 3;
    note<<<1, 1>>>(*taken);
    cudaFree(taken);
    cudaStreamDestroy(stream);
    int device = 7;
    cudaGetDevice(&device);
    printf("%s: %d, %d\n", text, device, cudaGetLastError());
}

__global__ void endless(int* a) {
    endless<<<1, 1>>>(a);  // here: once more
}

__global__ void wrong(int* a) {
    leaf<<<1, 2>>>(a, 30, 1);              // here: two threads add
    leaf<<<1, 1>>>(a, 31 + threadIdx.x, 1);  // here: no such element
}

static void fill(int* tree, int at, int depth, int step) {
    tree[at] = at * step + (depth == 0 ? 3 : 0);
    for (int k = 1; depth > 0 && k < 3; ++k) fill(tree, 2 * at + k, depth - 1, step);
}

int main(int count, char** arguments) {
    int *a, mode = count > 1 ? atoi(arguments[1]) : 0, numbers[31], expected[31];
    cudaMalloc(&a, 32 * sizeof(int));
    cudaMemset(a, 0, 32 * sizeof(int));
    if (mode == 1) endless<<<1, 1>>>(a);
    if (mode == 2) wrong<<<1, 2>>>(a);
    if (mode) return cudaDeviceSynchronize();
    node<<<1, 2>>>(a, 0, 4, 5);
    cudaMemcpy(numbers, a, sizeof(numbers), cudaMemcpyDeviceToHost);
    fill(expected, 0, 4, 5);
    for (int k = 0; k < 31; ++k)
        if (numbers[k] != expected[k]) printf("%d: %d, not %d\n", k, numbers[k], expected[k]);
    parent<<<1, 1>>>(a, a + 16);
    cudaMemcpy(numbers, a, sizeof(numbers), cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", numbers[16], numbers[17], numbers[18]);
    cudaMemcpyFromSymbol(numbers, order, sizeof(order));
    printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    cudaFree(a);
    return 0;
}
