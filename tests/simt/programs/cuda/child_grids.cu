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
    a[29] = a[30];                         // as the grid launched may have left it, or not
    leaf<<<1, 1>>>(a, 31 + threadIdx.x, 1);  // here: no such element
}

__global__ void siblings(int* a) {
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    leaf<<<1, 1, 0, s>>>(a, 1, 1);
    leaf<<<1, 1, 0, s>>>(a, 1, 1);  // in order
    leaf<<<1, 1, 0, t>>>(a, 2, 1);  // of its own
    leaf<<<1, 1, 0, t>>>(a, 1, 1);  // here: beside those of s
    leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(a, 1, 1);
}

__global__ void wide(int* a) {
    extern __shared__ int s[];
    a[0] = s[0] = 1;
}

__global__ void lend(int* a) {
    __shared__ int own;
    own = 0;
    wide<<<1, 1, 60000>>>(a);                                  // here: too much shared memory
    cudaMemcpyAsync(a, &own, 4, cudaMemcpyDeviceToDevice, 0);  // here: from no other place
    leaf<<<1, 1>>>(&own, 0, 1);                                // here: its own it would have
}

__global__ void count_down(int* left, cudaGraphConditionalHandle handle) {
    cudaGraphSetConditional(handle, *left > 0 ? (*left)-- : 0);
}

static cudaGraphNode_t node_made;  // by `choice`

static cudaGraph_t* choice(cudaGraph_t graph, cudaGraphNode_t after, int size,
                           cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type) {
    cudaGraphNodeParams choice = {cudaGraphNodeTypeConditional};
    choice.conditional.handle = handle;
    choice.conditional.type = type;
    choice.conditional.size = size;
    cudaGraphAddNode(&node_made, graph, &after, nullptr, after ? 1 : 0, &choice);
    return choice.conditional.phGraph_out;
}

static void into(cudaGraph_t graph, int what) {  // a call of note in a graph
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal);
    note<<<1, 1, 0, stream>>>(what);
    cudaStreamEndCapture(stream, nullptr);
    cudaStreamDestroy(stream);
}

static void conditional(int* left) {
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaGraphConditionalHandle turn, which;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&turn, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphConditionalHandleCreate(&which, graph);
    cudaGraph_t body = *choice(graph, nullptr, 1, turn, cudaGraphCondTypeWhile);
    void* arguments[] = {&left, &which};
    cudaKernelNodeParams kernel = {(void*)count_down, 1, 1, 0, arguments, nullptr};
    cudaGraphNode_t chosen, next;
    cudaGraphAddKernelNode(&chosen, body, nullptr, 0, &kernel);
    cudaGraph_t* cases = choice(body, chosen, 2, which, cudaGraphCondTypeSwitch);
    into(cases[0], 10);
    into(cases[1], 11);
    arguments[1] = &turn;
    cudaGraphAddKernelNode(&next, body, &node_made, 1, &kernel);
    cudaGraph_t* last = choice(body, next, 2, turn, cudaGraphCondTypeIf);
    into(last[0], 20);
    into(last[1], 21);
    cudaGraphInstantiate(&made, graph, 0);
    for (int launch = 0; launch < 2; ++launch) {
        int start = 3, zero = 0, notes[8], count;
        cudaMemcpyToSymbol(steps, &zero, sizeof zero);
        cudaMemcpy(left, &start, sizeof start, cudaMemcpyHostToDevice);
        cudaGraphLaunch(made, 0);
        cudaMemcpyFromSymbol(notes, order, sizeof notes);
        cudaMemcpyFromSymbol(&count, steps, sizeof count);
        for (int k = 0; k < count; ++k) printf("%d ", notes[k]);
        printf("\n");
    }
}

__global__ void set(cudaGraphConditionalHandle handle, int value) {
    cudaGraphSetConditional(handle, value);
}

// Each launch begins with the value that its own condition has by default, and no other's.
static void in_turn() {
    cudaGraph_t graphs[2];
    cudaGraphExec_t made[2];
    cudaGraphConditionalHandle one[2];
    for (int k = 0; k < 2; ++k) {
        cudaGraphCreate(&graphs[k], 0);
        cudaGraphConditionalHandleCreate(&one[k], graphs[k], 1, cudaGraphCondAssignDefault);
    }
    for (int k = 0; k < 2; ++k) {
        into(*choice(graphs[k], nullptr, 1, one[k], cudaGraphCondTypeIf), 30 + k);
        int zero = 0;
        void* arguments[] = {&one[k], &zero};
        cudaKernelNodeParams kernel = {(void*)set, 1, 1, 0, arguments, nullptr};
        cudaGraphNode_t last;
        cudaGraphAddKernelNode(&last, graphs[k], &node_made, 1, &kernel);
        cudaGraphInstantiate(&made[k], graphs[k], 0);
    }
    int notes[8], count, start = 0;
    cudaMemcpyToSymbol(steps, &start, sizeof start);
    for (int launch = 0; launch < 4; ++launch) cudaGraphLaunch(made[launch > 1], 0);
    cudaMemcpyFromSymbol(notes, order, sizeof notes);
    cudaMemcpyFromSymbol(&count, steps, sizeof count);
    for (int k = 0; k < count; ++k) printf("%d ", notes[k]);
    printf("\n");
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
    if (mode == 3) conditional(a), in_turn();
    if (mode == 4) lend<<<1, 1>>>(a);
    if (mode == 5) siblings<<<1, 1>>>(a);
    if (mode) {
        cudaError_t error = cudaDeviceSynchronize();
        if (error) return error;
        cudaMemcpy(numbers, a, sizeof(numbers), cudaMemcpyDeviceToHost);
        return cudaFree(a);
    }
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
