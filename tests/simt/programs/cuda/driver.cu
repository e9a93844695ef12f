// The driver API, and a kernel that NVRTC compiles while the program runs.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

const char* source = R"(
__constant__ int offset;
extern "C" __global__ void scale(char before, double factor, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = factor * x[i] + offset + before;
}
extern "C" __global__ void beyond(float* x) { x[256 + threadIdx.x] = 1; }
)";
const int n = 200;

static void say(const char* what, CUresult error) {
    const char* name;
    cuGetErrorName(error, &name);
    printf("%s: %d %s\n", what, error, name);
}
static std::string compiled(bool machine_code) {
    nvrtcProgram program;
    nvrtcCreateProgram(&program, source, "source.cu", 0, nullptr, nullptr);
    const char* options[] = {"--gpu-architecture=sm_90"};
    if (nvrtcCompileProgram(program, 1, options)) printf("NVRTC fails\n");
    size_t size = 0;
    (machine_code ? nvrtcGetCUBINSize : nvrtcGetPTXSize)(program, &size);
    std::string code(size, 0);
    (machine_code ? nvrtcGetCUBIN : nvrtcGetPTX)(program, &code[0]);
    nvrtcDestroyProgram(&program);
    return code;
}

struct Device {
    CUcontext context;
    CUmodule module;
    CUdeviceptr x;
    Device(bool machine_code = false) {
        cuInit(0);
        CUdevice device;
        cuDeviceGet(&device, 0);
        cuDevicePrimaryCtxRetain(&context, device);
        cuCtxSetCurrent(context);
        cuModuleLoadData(&module, compiled(machine_code).c_str());
        cuMemAlloc(&x, 256 * sizeof(float));
        cuMemsetD32(x, 0x3f800000 /* 1.0f */, 256);
        CUdeviceptr offset;
        size_t size;
        int ten = 10;
        say("variable", cuModuleGetGlobal(&offset, &size, module, "offset"));
        printf("%zu bytes\n", size);
        cuMemcpyHtoD(offset, &ten, size);
    }
    ~Device() {
        float out[256];
        if (!cuMemcpyDtoH(out, x, sizeof out)) printf("%g %g\n", out[n - 1], out[n]);
        cuMemFree(x);
        cuModuleUnload(module);
    }
};

static char before = 1;
static double factor = 2.5;
static int count = n;

void by_pointers() {
    Device device;
    CUfunction scale;
    say("kernel", cuModuleGetFunction(&scale, device.module, "scale"));
    void* arguments[] = {&before, &factor, &device.x, &count};
    say("launch", cuLaunchKernel(scale, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
    say("wait", cuCtxSynchronize());
}
void in_one_piece() {
    Device device(true);
    CUfunction scale;
    cuModuleGetFunction(&scale, device.module, "scale");
    struct {
        char before;
        double factor;
        CUdeviceptr x;
        int count;
    } all = {before, factor, device.x, count};
    size_t size = sizeof all;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &all, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    say("launch", cuLaunchKernel(scale, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
}
void by_its_name() {
    decltype(&cuMemGetInfo) info;
    say("found", cuGetProcAddress("cuMemGetInfo", (void**)&info, 12000, 0, nullptr));
    size_t before, after, total;
    CUdeviceptr x;
    info(&before, &total);
    cuMemAlloc(&x, 1 << 20);
    info(&after, &total);
    printf("%zu\n", before - after);
    cuMemFree(x);
    CUdevice device = -1;
    decltype(&cuCtxGetDevice) which;  // since CUDA 13 there is one with more arguments
    cuGetProcAddress("cuCtxGetDevice", (void**)&which, 12000, 0, nullptr);
    say("device", which(&device));
    printf("%d\n", device);
    say("missing", cuGetProcAddress("cuNothing", (void**)&info, 12000, 0, nullptr));
}
void with_pools() {
    Device device;
    CUstream streams[2];
    cuStreamCreateWithPriority(&streams[0], CU_STREAM_NON_BLOCKING, 3);
    cuStreamCreateWithPriority(&streams[1], CU_STREAM_NON_BLOCKING, -2);
    CUdeviceptr x;
    for (CUstream stream : streams) {
        int priority;
        CUcontext context;
        cuStreamGetPriority(stream, &priority);
        cuStreamGetCtx(stream, &context);
        printf("priority %d, same context %d\n", priority, context == device.context);
    }
    CUmemPoolProps wanted{CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE,
                          {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pools[2];
    cuDeviceGetDefaultMemPool(&pools[0], 0);
    say("pool", cuMemPoolCreate(&pools[1], &wanted));
    for (CUmemoryPool pool : pools) {
        cuuint64_t used[2];
        int out[8];
        say("memory", cuMemAllocFromPoolAsync(&x, sizeof out, pool, streams[1]));
        cuMemsetD32Async(x, 5, 8, streams[1]);
        cuMemcpyDtoHAsync(out, x, sizeof out, streams[1]);
        cuStreamSynchronize(streams[1]);
        cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used[0]);
        cuMemFreeAsync(x, streams[1]);
        cuStreamSynchronize(streams[1]);
        cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used[1]);
        printf("%d, used %d, then %d\n", out[7], used[0] > 0, used[1] > 0);
    }
    cuMemPoolDestroy(pools[1]);
    for (CUstream stream : streams) cuStreamDestroy(stream);
}
void mistakes() {
    Device device;
    CUfunction beyond;
    say("kernel", cuModuleGetFunction(&beyond, device.module, "nothing"));  // [no kernel]
    cuModuleGetFunction(&beyond, device.module, "beyond");
    void* arguments[] = {&device.x};
    say("too many", cuLaunchKernel(beyond, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr));
    CUarray array;
    say("array", cuIpcOpenEventHandle((CUevent*)&array, {}));  // [not covered]
    cuLaunchKernel(beyond, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    say("wait", cuCtxSynchronize());
}

int main(int argc, char** argv) {
    std::map<std::string, void (*)()> all{
#define ONE(name) {#name, name}
        ONE(by_pointers), ONE(in_one_piece), ONE(by_its_name), ONE(with_pools),
        ONE(mistakes),
    };
    all.at(argv[1])();
}
