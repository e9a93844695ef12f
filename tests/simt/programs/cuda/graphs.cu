// CUDA graphs: each function makes one and launches it; some with a mistake if told so.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

const int n = 4096;
const size_t bytes = n * sizeof(float);
bool wrong;

__global__ void fill(float* out, int count, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = value;
}
__global__ void add(float* out, const float* in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] += in[i];
}

static float *x, *y;
static cudaStream_t s1, s2;
static cudaEvent_t event;

static void say(const char* what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
}
static float first(const float* device) {
    float value;
    cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

static cudaGraphExec_t made_of(cudaGraph_t graph) {
    cudaGraphExec_t launched;
    cudaGraphInstantiate(&launched, graph, 0);
    cudaGraphDestroy(graph);  // what is launched is a copy
    return launched;
}

void fork_and_join() {
    cudaGraph_t graph;
    cudaMemset(x, 0, bytes);
    cudaMemset(y, 0, bytes);
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, s1);
    cudaStreamWaitEvent(s2, event);
    fill<<<16, 256, 0, s1>>>(x, n, 1);
    fill<<<16, 256, 0, s2>>>(y, n, 2);  // [fill y]
    cudaEventRecord(event, s2);
    if (!wrong) cudaStreamWaitEvent(s1, event);
    add<<<16, 256, 0, s1>>>(x, y, n);  // [add y]
    if (wrong) cudaStreamWaitEvent(s1, event);
    say("capture", cudaStreamEndCapture(s1, &graph));
    printf("before %g\n", first(x));
    size_t nodes = 0, roots = 0, edges = 0;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    cudaGraphGetRootNodes(graph, nullptr, &roots);
    cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges);
    printf("%zu nodes, %zu roots, %zu edges\n", nodes, roots, edges);
    cudaGraphExec_t launched = made_of(graph);
    cudaGraphLaunch(launched, s1);  // [launch of the fork]
    cudaStreamSynchronize(s1);
    printf("after %g\n", first(x));
    cudaGraphExecDestroy(launched);
}

// a launch is work on its stream: what another stream does must be ordered with it
void beside_another_stream() {
    cudaGraph_t graph;
    cudaMemset(y, 0, bytes);
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    fill<<<16, 256, 0, s1>>>(x, n, 5);  // [fill in a graph]
    cudaStreamEndCapture(s1, &graph);
    cudaGraphExec_t launched = made_of(graph);
    cudaGraphLaunch(launched, s1);
    cudaEventRecord(event, s1);
    if (!wrong) cudaStreamWaitEvent(s2, event);
    add<<<16, 256, 0, s2>>>(y, x, n);  // [add beside the graph]
    cudaDeviceSynchronize();
    printf("added %g\n", first(y));
    cudaGraphExecDestroy(launched);
}

// two branches from the first node on, none of which the host's stream alone would order
void launched_twice() {
    cudaGraph_t graph;
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, s1);
    cudaStreamWaitEvent(s2, event);
    add<<<16, 256, 0, s1>>>(x, x, n);
    add<<<16, 256, 0, s2>>>(y, y, n);  // [second branch]
    cudaEventRecord(event, s2);
    cudaStreamWaitEvent(s1, event);
    cudaStreamEndCapture(s1, &graph);
    cudaGraphExec_t launched = made_of(graph);
    fill<<<16, 256, 0, s1>>>(x, n, 1);
    fill<<<16, 256, 0, s1>>>(y, n, 3);
    cudaStreamSynchronize(s1);
    for (int k = 0; k < 3; ++k) cudaGraphLaunch(launched, k % 2 ? s2 : s1);  // [launch]
    if (wrong) fill<<<16, 256, 0, s2>>>(y, n, 0);  // [fill beside the second branch]
    cudaDeviceSynchronize();
    printf("%g %g\n", first(x), first(y));
    cudaGraphExecDestroy(launched);
}

static void total(void* data) {
    float* all = (float*)data;
    all[n] = 0;
    for (int i = 0; i < n; ++i) all[n] += all[i];
}
template <typename... T>
static cudaKernelNodeParams call(void (*kernel)(T...), void** arguments) {
    cudaKernelNodeParams p = {};
    p.func = (void*)kernel, p.gridDim = 16, p.blockDim = 256, p.kernelParams = arguments;
    return p;
}

// pageable memory goes in and comes back in the graph, and a function of the host's sees it
void explicit_nodes() {
    std::vector<float> in(n, 1), out(n + 1);
    cudaGraph_t graph, child;
    cudaGraphNode_t copy, set, adds, back, host, inner;
    cudaGraphCreate(&graph, 0);
    cudaGraphCreate(&child, 0);
    cudaGraphNodeParams none = {cudaGraphNodeTypeExtSemaphoreSignal};
    say("not covered", cudaGraphAddNode(&inner, graph, nullptr, nullptr, 0, &none));
    cudaMemsetParams zero = {};
    zero.dst = y, zero.value = 0x40400000 /* 3.0f */, zero.elementSize = 4, zero.width = n, zero.height = 1;
    say("memset", cudaGraphAddMemsetNode(&inner, child, nullptr, 0, &zero));  // [memset]
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(in.data(), bytes, n, 1);
    p.dstPtr = make_cudaPitchedPtr(x, bytes, n, 1);
    p.extent = make_cudaExtent(bytes, 1, 1);
    p.kind = cudaMemcpyHostToDevice;
    say("copy", cudaGraphAddMemcpyNode(&copy, graph, nullptr, 0, &p));
    say("child", cudaGraphAddChildGraphNode(&set, graph, nullptr, 0, child));
    cudaGraphNode_t both[] = {copy, set};
    int count = n;
    void* arguments[] = {&x, &y, &count};
    cudaKernelNodeParams k = call(add, arguments);
    say("kernel", cudaGraphAddKernelNode(&adds, graph, both, wrong ? 1 : 2, &k));  // [add node]
    say("back", cudaGraphAddMemcpyNode1D(&back, graph, &adds, 1, out.data(), x, bytes,
                                         cudaMemcpyDeviceToHost));
    cudaHostNodeParams f = {total, out.data()};
    say("host", cudaGraphAddHostNode(&host, graph, &back, 1, &f));
    cudaGraphExec_t launched;
    say("instantiate", cudaGraphInstantiate(&launched, graph, 0));
    say("launch", cudaGraphLaunch(launched, s1));  // [launch of nodes]
    cudaStreamSynchronize(s1);
    printf("total %g\n", out[n]);
    if (!wrong) {
        in.assign(n, 2);  // what is copied is what lies there when the copy has its turn
        cudaGraphLaunch(launched, s1);
        cudaStreamSynchronize(s1);
        printf("total %g\n", out[n]);
        float value = 7;
        void* other[] = {&x, &count, &value};
        k = call(fill, other);
        say("another kernel", cudaGraphExecKernelNodeSetParams(launched, adds, &k));
        cudaGraphLaunch(launched, s1);
        cudaStreamSynchronize(s1);
        printf("total %g\n", out[n]);
        cudaGraphExecUpdateResultInfo told;
        say("update", cudaGraphExecUpdate(launched, graph, &told));  // as it was
        cudaGraph_t clone;
        cudaGraphNode_t found;
        cudaGraphClone(&clone, graph);
        cudaGraphNodeFindInClone(&found, host, clone);
        cudaGraphNodeType type;
        cudaGraphNodeGetType(found, &type);
        printf("host: %d\n", type == cudaGraphNodeTypeHost);
        cudaGraphLaunch(launched, s1);
        cudaStreamSynchronize(s1);
        printf("total %g\n", out[n]);
        cudaGraphDestroyNode(found);
        say("update", cudaGraphExecUpdate(launched, clone, &told));
        printf("topology: %d\n", told.result == cudaGraphExecUpdateErrorTopologyChanged);
        cudaGraphDestroy(clone);
    }
    cudaGraphExecDestroy(launched);
    cudaGraphDestroy(child);
    cudaGraphDestroy(graph);
}

void what_a_capture_cannot_hold() {
    float* more = nullptr;
    cudaGraph_t graph;
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    say("malloc", cudaMalloc(&more, 4));  // [malloc]
    say("end", cudaStreamEndCapture(s1, &graph));
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeRelaxed);
    say("malloc", cudaMalloc(&more, 4));
    say("end", cudaStreamEndCapture(s1, &graph));
    cudaFree(more);
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    say("wait", cudaStreamSynchronize(s1));  // [wait]
    fill<<<16, 256, 0, s1>>>(x, n, 1);
    say("launch", cudaGetLastError());
    say("end", cudaStreamEndCapture(s1, &graph));
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    fill<<<16, 256>>>(x, n, 1);  // [default stream]
    say("launch", cudaGetLastError());
    say("end", cudaStreamEndCapture(s1, &graph));
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    cudaEventRecord(event, s1);
    say("event", cudaEventSynchronize(event));  // [event]
    cudaStreamWaitEvent(s2, event);
    fill<<<16, 256, 0, s2>>>(x, n, 1);
    say("end", cudaStreamEndCapture(s1, &graph));  // [not joined]
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    fill<<<16, 2048, 0, s1>>>(x, n, 1);  // [too many threads]
    say("launch", cudaGetLastError());
    say("end", cudaStreamEndCapture(s1, &graph));
}

void memory_of_its_own() {
    float *first_of, *second_of, *captured;
    cudaGraph_t graph, inner;
    cudaGraphNode_t node, other;
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = bytes;
    cudaGraphCreate(&graph, 0);
    say("memory", cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory));
    first_of = (float*)memory.dptr;
    cudaGraphAddMemAllocNode(&other, graph, &node, 1, &memory);
    second_of = (float*)memory.dptr;
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&captured, bytes, s1);
    fill<<<16, 256, 0, s1>>>(captured, n, 1);
    fill<<<16, 256, 0, s1>>>(first_of, n, 2);
    if (!wrong) fill<<<16, 256, 0, s1>>>(second_of, n, 3);
    add<<<16, 256, 0, s1>>>(first_of, captured, n);  // [add captured]
    add<<<16, 256, 0, s1>>>(first_of, second_of, n);  // [add second]
    cudaFreeAsync(captured, s1);
    cudaMemcpyAsync(x, first_of, bytes, cudaMemcpyDefault, s1);
    cudaStreamEndCapture(s1, &inner);
    cudaGraphAddChildGraphNode(&node, graph, &other, 1, inner);
    cudaGraphAddMemFreeNode(&other, graph, &node, 1, second_of);
    cudaGraphExec_t launched = made_of(graph);
    size_t used;
    for (int turn = 0; turn < 2; ++turn) {
        say("launch", cudaGraphLaunch(launched, s1));
        cudaStreamSynchronize(s1);
        cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used);
        printf("%g, %zu bytes, %s\n", first(x), used / n, used ? "in use" : "none");
        if (turn == 0) say("again", cudaGraphLaunch(launched, s1));
        say("free", cudaFree(first_of));
    }
    say("free", cudaFree(second_of));
}

void joined_by_hand() {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    const cudaGraphNode_t* after;
    cudaStreamCaptureStatus status;
    size_t count, edges;
    cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal);
    fill<<<16, 256, 0, s1>>>(x, n, 1);
    cudaStreamGetCaptureInfo(s1, &status, nullptr, &graph, &after, nullptr, &count);
    cudaGraphAddEmptyNode(&node, graph, after, count);
    say("after", cudaStreamUpdateCaptureDependencies(s1, &node, nullptr, 1,
                                                     cudaStreamSetCaptureDependencies));
    add<<<16, 256, 0, s1>>>(x, x, n);
    cudaStreamEndCapture(s1, &graph);
    cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges);
    cudaGraphLaunch(made_of(graph), s1);
    cudaStreamSynchronize(s1);
    printf("%zu edges, %g\n", edges, first(x));
}

int main(int argc, char** argv) {
    std::map<std::string, void (*)()> all{
#define ONE(name) {#name, name}
        ONE(fork_and_join), ONE(beside_another_stream), ONE(launched_twice), ONE(explicit_nodes),
        ONE(what_a_capture_cannot_hold), ONE(memory_of_its_own),
        ONE(joined_by_hand),
    };
    wrong = argc > 2 && !strcmp(argv[2], "wrong");
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaStreamCreate(&s1);
    cudaStreamCreate(&s2);
    cudaEventCreate(&event);
    all.at(argv[1])();
    cudaFree(x);
    cudaFree(y);
}
