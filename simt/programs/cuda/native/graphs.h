// Graphs and stream capture: a part of cudart.cpp.
//
// A node is made by the call that would put its work on a stream: while `recording` is set, the
// request goes into a graph (see `Ask`).

#if CUDART_VERSION >= 13000
#define SIMT_EDGES(type) type,
#else
#define SIMT_EDGES(type)
#endif

namespace {

template <typename F>
cudaError_t record_into(const char* name, uint64_t target, uint64_t executable,
                        const cudaGraphNode_t* after, size_t count, F call,
                        cudaGraphNode_t* made = nullptr) {
    Recording record{name, target, executable, {after, after + count}};
    recording = &record;
    cudaError_t error = call();
    recording = nullptr;
    if (made) *made = (cudaGraphNode_t)record.made;
    return error;
}
template <typename F>
cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                size_t count, F call) {
    return record_into("graph_add", (uint64_t)graph, 0, after, count, call, node);
}
template <typename F>
cudaError_t change(cudaGraphExec_t executable, cudaGraphNode_t node, F call) {
    return record_into("graph_set", (uint64_t)node, (uint64_t)executable, nullptr, 0, call);
}

// --- what nodes do

template <typename P>
cudaError_t kernel_of(const P& p) {
    if (p.extra) return simt_refused("a node of a graph with extra");
    dim3 grid(p.gridDim.x, p.gridDim.y, p.gridDim.z), block(p.blockDim.x, p.blockDim.y, p.blockDim.z);
    return about_kernel("launch", p.func, grid, block, p.sharedMemBytes, nullptr, 0,
                        p.kernelParams);
}
cudaError_t line_of(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
    return Ask("memcpy", (uint64_t)to, (uint64_t)from, size, (uint64_t)kind, 0, 1).error();
}
cudaError_t box_of(const cudaMemcpy3DParms& p) {
    if (p.srcArray || p.dstArray) return simt_refused("a node of a graph that copies an array");
    auto start = [](const cudaPitchedPtr& all, const cudaPos& at) {
        return (char*)all.ptr + (at.z * all.ysize + at.y) * all.pitch + at.x;
    };
    char *to = start(p.dstPtr, p.dstPos), *from = start(p.srcPtr, p.srcPos);
    size_t width = p.extent.width, rows = p.extent.height;
    if (width == p.srcPtr.pitch && width == p.dstPtr.pitch) width *= rows, rows = 1;
    for (size_t z = 0; z < p.extent.depth; ++z)
        for (size_t y = 0; y < rows; ++y) {
            cudaError_t error = line_of(to + (z * p.dstPtr.ysize + y) * p.dstPtr.pitch,
                                        from + (z * p.srcPtr.ysize + y) * p.srcPtr.pitch, width,
                                        p.kind);
            if (error) return error;
        }
    return cudaSuccess;
}
template <typename P>
cudaError_t set_of(const P& p) {
    for (size_t row = 0; row < p.height; ++row) {
        cudaError_t error = Ask("memset", (uint64_t)p.dst + row * p.pitch, p.value,
                                p.width * p.elementSize, 0, 1, p.elementSize).error();
        if (error) return error;
    }
    return cudaSuccess;
}
template <typename P>
cudaError_t host_of(const P& p) {
    return Ask("callback", 0, (uint64_t)p.fn, (uint64_t)p.userData).error();
}
cudaError_t child_of(cudaGraph_t graph) { return Ask("graph_child", (uint64_t)graph).error(); }
cudaError_t event_of(const char* name, cudaEvent_t event) {
    return Ask(name, (uint64_t)event, 0).error();
}
// What is put in place of a node's memory has an address before any launch.
template <typename P>
cudaError_t allocation_of(P& p) {
    Recording* node = recording;
    recording = nullptr;
    cudaError_t error = made("graph_memory", &p.dptr, p.bytesize);
    recording = node;
    return error ? error : Ask("graph_alloc", (uint64_t)p.dptr).error();
}
cudaError_t release_of(void* pointer) { return Ask("graph_free", (uint64_t)pointer).error(); }
cudaError_t any_of(cudaGraphNodeParams& p) {
    switch (p.type) {
    case cudaGraphNodeTypeKernel: return kernel_of(p.kernel);
    case cudaGraphNodeTypeMemcpy: return box_of(p.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: return set_of(p.memset);
    case cudaGraphNodeTypeHost: return host_of(p.host);
    case cudaGraphNodeTypeGraph: return child_of(p.graph.graph);
    case cudaGraphNodeTypeEmpty: return Ask("graph_empty").error();
    case cudaGraphNodeTypeEventRecord: return event_of("record", p.eventRecord.event);
    case cudaGraphNodeTypeWaitEvent: return event_of("wait_event", p.eventWait.event);
    case cudaGraphNodeTypeMemAlloc: return allocation_of(p.alloc);
    case cudaGraphNodeTypeMemFree: return release_of(p.free.dptr);
    case cudaGraphNodeTypeConditional:
        return Ask("graph_if", p.conditional.handle, p.conditional.type, p.conditional.size)
            .error();
    default: return simt_refused("a node of a graph of this type");
    }
}

// --- lists of nodes

cudaError_t listed(int what, const void* of, std::vector<uint64_t>& all) {
    Ask ask("graph_list", (uint64_t)what, (uint64_t)of);
    cudaError_t error = ask.error();
    all.resize(ask.result.size() / 8);
    memcpy(all.data(), ask.result.data(), ask.result.size());
    return error;
}
// As many as there is room for; where there is nowhere to put them, how many there are.
cudaError_t nodes_of(int what, const void* of, cudaGraphNode_t* nodes, size_t* count) {
    std::vector<uint64_t> all;
    cudaError_t error = listed(what, of, all);
    if (nodes)
        for (size_t k = 0; k < *count; ++k)
            nodes[k] = k < all.size() ? (cudaGraphNode_t)all[k] : nullptr;
    if (!nodes || *count > all.size()) *count = all.size();
    return error;
}
cudaError_t edges(bool removed, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                  size_t count) {
    std::vector<cudaGraphNode_t> both;
    for (size_t k = 0; k < count; ++k) both.insert(both.end(), {from[k], to[k]});
    return Ask("graph_edges", removed).with(both.data(), both.size() * sizeof both[0]).error();
}

}  // namespace

extern "C" {

#define SIMT_CALL(name, parameters, value) \
    cudaError_t name parameters { return value; }

SIMT_CALL(cudaGraphCreate, (cudaGraph_t * graph, unsigned), made("graph", graph))
SIMT_CALL(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph),
          made("graph", clone, (uint64_t)graph))
SIMT_CALL(cudaGraphDestroy, (cudaGraph_t graph), Ask("graph_destroy", (uint64_t)graph, 0).error())
SIMT_CALL(cudaGraphExecDestroy, (cudaGraphExec_t launched),
          Ask("graph_destroy", (uint64_t)launched, 1).error())
SIMT_CALL(cudaGraphDestroyNode, (cudaGraphNode_t node),
          Ask("graph_destroy", (uint64_t)node, 2).error())
SIMT_CALL(cudaGraphInstantiate, (cudaGraphExec_t * launched, cudaGraph_t graph, unsigned long long),
          made("graph_ready", launched, (uint64_t)graph))
SIMT_CALL(cudaGraphInstantiateWithFlags,
          (cudaGraphExec_t * launched, cudaGraph_t graph, unsigned long long),
          made("graph_ready", launched, (uint64_t)graph))
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* launched, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
    cudaError_t error = made("graph_ready", launched, (uint64_t)graph);
    params->result_out = error ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    return error;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    Ask begin("graph_launch", (uint64_t)executable, (uint64_t)stream);
    Answer answer = begin();
    std::vector<char> wanted = begin.result;
    while (!answer.error && answer.value) {
        uint64_t launch, first, second;  // what is launched; address and size, or function and data
        memcpy(&launch, wanted.data(), 8);
        memcpy(&first, wanted.data() + 8, 8);
        memcpy(&second, wanted.data() + 16, 8);
        Ask on("graph_go_on", launch);
        if (answer.value == 1) {
            on.with((const void*)first, second);
        } else {
            inside = true;
            ((cudaHostFn_t)first)((void*)second);
            inside = false;
        }
        answer = on();
        wanted = on.result;
    }
    return (cudaError_t)answer.error;
}

// --- nodes

#define SIMT_ADD cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
#define SIMT_ADDED(value) add(node, graph, after, count, [=] { return value; })
// a function that adds a node, and those that change it and what was made of it
#define SIMT_NODE(Kind, suffix, value, ...) \
    SIMT_CALL(cudaGraphAdd##Kind##suffix, (SIMT_ADD, __VA_ARGS__), SIMT_ADDED(value)) \
    SIMT_CALL(cudaGraph##Kind##SetParams##suffix, (cudaGraphNode_t node, __VA_ARGS__), \
              change(nullptr, node, [=] { return value; })) \
    SIMT_CALL(cudaGraphExec##Kind##SetParams##suffix, \
              (cudaGraphExec_t executable, cudaGraphNode_t node, __VA_ARGS__), \
              change(executable, node, [=] { return value; }))

SIMT_NODE(KernelNode, , kernel_of(*p), const cudaKernelNodeParams* p)
SIMT_NODE(MemcpyNode, , box_of(*p), const cudaMemcpy3DParms* p)
SIMT_NODE(MemcpyNode, 1D, line_of(to, from, size, kind), void* to, const void* from, size_t size,
          cudaMemcpyKind kind)
SIMT_NODE(MemsetNode, , set_of(*p), const cudaMemsetParams* p)
SIMT_NODE(HostNode, , host_of(*p), const cudaHostNodeParams* p)
SIMT_CALL(cudaGraphAddChildGraphNode, (SIMT_ADD, cudaGraph_t child), SIMT_ADDED(child_of(child)))
SIMT_CALL(cudaGraphExecChildGraphNodeSetParams,
          (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child),
          change(executable, node, [=] { return child_of(child); }))
SIMT_CALL(cudaGraphAddEmptyNode, (SIMT_ADD), SIMT_ADDED(Ask("graph_empty").error()))
SIMT_CALL(cudaGraphAddEventRecordNode, (SIMT_ADD, cudaEvent_t event),
          SIMT_ADDED(event_of("record", event)))
SIMT_CALL(cudaGraphAddEventWaitNode, (SIMT_ADD, cudaEvent_t event),
          SIMT_ADDED(event_of("wait_event", event)))
SIMT_CALL(cudaGraphAddMemAllocNode, (SIMT_ADD, cudaMemAllocNodeParams* p),
          SIMT_ADDED(allocation_of(*p)))
SIMT_CALL(cudaGraphAddMemFreeNode, (SIMT_ADD, void* pointer), SIMT_ADDED(release_of(pointer)))
SIMT_CALL(cudaGraphConditionalHandleCreate,
          (cudaGraphConditionalHandle * handle, cudaGraph_t, unsigned value, unsigned flags),
          made("graph_handle", handle, value, flags))
// The graphs of a conditional node are the program's as long as the node.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                             SIMT_EDGES(const cudaGraphEdgeData*) size_t count,
                             cudaGraphNodeParams* p) {
    cudaError_t error = SIMT_ADDED(any_of(*p));
    if (error || p->type != cudaGraphNodeTypeConditional) return error;
    cudaGraph_t* bodies = p->conditional.phGraph_out = new cudaGraph_t[p->conditional.size];
    for (unsigned k = 0; k < p->conditional.size && !error; ++k)
        error = made("graph_node", bodies + k, (uint64_t)*node, k + 2);
    return error;
}
SIMT_CALL(cudaGraphNodeSetParams, (cudaGraphNode_t node, cudaGraphNodeParams* p),
          change(nullptr, node, [=] { return any_of(*p); }))
SIMT_CALL(cudaGraphExecNodeSetParams,
          (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeParams* p),
          change(executable, node, [=] { return any_of(*p); }))
// The pointers to the arguments last until the next call for the same node.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
    struct Kept {
        std::vector<char> content;
        std::vector<void*> arguments;
    };
    static std::map<cudaGraphNode_t, Kept>* all = new std::map<cudaGraphNode_t, Kept>;
    Ask ask("graph_kernel", (uint64_t)node);
    Answer answer = ask();
    if (answer.error) return (cudaError_t)answer.error;
    std::lock_guard<std::recursive_mutex> hold(lock());
    Kept& kept = (*all)[node] = {ask.result, {}};
    uint64_t v[8];
    memcpy(v, kept.content.data(), sizeof v);
    for (size_t at = sizeof v; at < kept.content.size();) {
        uint32_t size;
        memcpy(&size, kept.content.data() + at, sizeof size);
        kept.arguments.push_back(kept.content.data() + at + 4);
        at += 4 + size;
    }
    *p = {(void*)v[0], dim3((unsigned)v[1], (unsigned)(v[1] >> 32), (unsigned)v[2]),
          dim3((unsigned)v[3], (unsigned)(v[3] >> 32), (unsigned)v[4]), (unsigned)v[5],
          kept.arguments.data(), nullptr};
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* told) {
    Answer answer = Ask("graph_update", (uint64_t)executable, (uint64_t)graph)();
    *told = {(cudaGraphExecUpdateResult)answer.value, nullptr, nullptr};
    return (cudaError_t)answer.error;
}

// --- questions

SIMT_CALL(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
          nodes_of(0, graph, nodes, count))
SIMT_CALL(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
          nodes_of(1, graph, nodes, count))
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              SIMT_EDGES(cudaGraphEdgeData*) size_t* count) {
    std::vector<uint64_t> all;
    cudaError_t error = listed(2, graph, all);
    for (size_t k = 0; from && k < *count && 2 * k < all.size(); ++k)
        from[k] = (cudaGraphNode_t)all[2 * k], to[k] = (cudaGraphNode_t)all[2 * k + 1];
    if (!from || *count > all.size() / 2) *count = all.size() / 2;
    return error;
}
SIMT_CALL(cudaGraphNodeGetDependencies,
          (cudaGraphNode_t node, cudaGraphNode_t* nodes,
           SIMT_EDGES(cudaGraphEdgeData*) size_t* count),
          nodes_of(3, node, nodes, count))
SIMT_CALL(cudaGraphNodeGetDependentNodes,
          (cudaGraphNode_t node, cudaGraphNode_t* nodes,
           SIMT_EDGES(cudaGraphEdgeData*) size_t* count),
          nodes_of(4, node, nodes, count))
SIMT_CALL(cudaGraphAddDependencies,
          (cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
           SIMT_EDGES(const cudaGraphEdgeData*) size_t count),
          edges(false, from, to, count))
SIMT_CALL(cudaGraphRemoveDependencies,
          (cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
           SIMT_EDGES(const cudaGraphEdgeData*) size_t count),
          edges(true, from, to, count))
SIMT_CALL(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type),
          made("graph_node", type, (uint64_t)node, 0))
SIMT_CALL(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* graph),
          made("graph_node", graph, (uint64_t)node, 1))
SIMT_CALL(cudaGraphNodeFindInClone,
          (cudaGraphNode_t * found, cudaGraphNode_t node, cudaGraph_t clone),
          made("graph_find", found, (uint64_t)node, (uint64_t)clone))

// --- capture

SIMT_CALL(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode),
          Ask("capture_begin", (uint64_t)stream, (uint64_t)mode).error())
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
    return Ask("capture_begin", (uint64_t)stream, (uint64_t)mode, (uint64_t)graph)
        .with(after, count * sizeof *after).error();
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    cudaGraph_t none;
    return made("capture_end", graph ? graph : &none, (uint64_t)stream);
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* after,
                                                SIMT_EDGES(const cudaGraphEdgeData*) size_t count,
                                                unsigned flags) {
    return Ask("capture_after", (uint64_t)stream, flags).with(after, count * sizeof *after).error();
}
SIMT_CALL(cudaDeviceGraphMemTrim, (int), cudaSuccess)
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType which, void* value) {
    if (which == cudaGraphMemAttrUsedMemHigh || which == cudaGraphMemAttrReservedMemHigh)
        return simt_refused("the most memory that graphs have had");
    return made("graph_used", (uint64_t*)value);
}
SIMT_CALL(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
          made("capture_info", status, (uint64_t)stream))
// The nodes last until the next call of this thread.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** after,
                                     SIMT_EDGES(const cudaGraphEdgeData**) size_t* count) {
    static thread_local std::vector<uint64_t>* all = new std::vector<uint64_t>;
    Ask ask("capture_info", (uint64_t)stream);
    Answer answer = ask();
    *status = (cudaStreamCaptureStatus)answer.value;
    if (answer.error || ask.result.empty()) return (cudaError_t)answer.error;
    all->resize(ask.result.size() / 8);
    memcpy(all->data(), ask.result.data(), ask.result.size());
    if (id) *id = (*all)[0];
    if (graph) *graph = (cudaGraph_t)(*all)[1];
    if (after) *after = (const cudaGraphNode_t*)(all->data() + 2);
    if (count) *count = all->size() - 2;
    return cudaSuccess;
}
}  // extern "C"
