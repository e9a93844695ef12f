// The driver API, over the runtime's functions: a part of cudart.cpp.
//
// A module is a translation unit that is registered later, a function a kernel with a handle in
// place of an address, a context the one that there is.
#include <cuda.h>
#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

// Most errors have the same number in both APIs.
CUresult as(cudaError_t error) {
    switch (error) {
    case cudaErrorInvalidConfiguration: case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidDevicePointer: case cudaErrorInvalidMemcpyDirection:
        return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    default: return (CUresult)error;
    }
}
CUcontext const only = (CUcontext)&only;  // the context
thread_local CUcontext current = nullptr;

// PTX, a fat binary, its wrapper, or what cuLinkComplete has given.
CUresult load(CUmodule* module, const void* image, uint64_t joined = 0) {
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == 0x466243b1) return load(module, *(const void**)((char*)image + 8), joined);
    size_t size = strlen((const char*)image);
    if (magic == 0xba55ed50) {
        uint16_t head;
        uint64_t rest;
        memcpy(&head, (char*)image + 6, sizeof head);
        memcpy(&rest, (char*)image + 8, sizeof rest);
        size = head + rest;
    } else if (!memcmp(image, "linked", 6)) {
        memcpy(module, (char*)image + 8, sizeof *module);
        return CUDA_SUCCESS;
    } else if (!memcmp(image, "\177ELF", 4)) {
        simt_refused("a module of machine code: give cuModuleLoadData PTX, or a fat binary with "
                     "PTX; a cubin");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    Answer answer = Ask("module", joined).with(image, size)();
    *module = (CUmodule)answer.value;
    return as((cudaError_t)answer.error);
}

CUresult launch(CUfunction function, dim3 grid, dim3 block, unsigned shared, CUstream stream,
                void** given, void** extra, uint64_t together) {
    std::vector<void*> split;
    if (!given && extra) {
        char* buffer = nullptr;
        for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2)
            if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = (char*)at[1];
        std::vector<char> each;
        Answer answer = tell("parameters", (uint64_t)function, 1, 0, nullptr, 0, &each);
        if (answer.error) return as((cudaError_t)answer.error);
        for (size_t k = 0; k < each.size() / 4; ++k) {
            uint32_t offset;
            memcpy(&offset, each.data() + 4 * k, sizeof offset);
            split.push_back(buffer + offset);
        }
        given = split.data();
    }
    void* none = nullptr;
    return as(about_kernel("launch", (const void*)function, grid, block, shared, stream, together,
                           given ? given : &none));
}

template <typename T>
CUresult fill(CUdeviceptr to, T value, size_t count, CUstream stream, bool later) {
    return as(Ask("memset", (uint64_t)to, value, count * sizeof(T), (uint64_t)stream, later,
                  sizeof(T)).error());
}

}  // namespace

extern "C" {

#define SIMT_AS(name, parameters, runtime) \
    CUresult name parameters { return as(runtime); }
// one whose arguments and errors are the runtime's
#define SIMT_SAME(name, runtime) decltype(name) name __attribute__((alias(#runtime)));
#define SIMT_DONE(name, parameters, ...) \
    CUresult name parameters { return __VA_ARGS__ __VA_OPT__(, ) CUDA_SUCCESS; }

// --- devices and contexts

SIMT_DONE(cuInit, (unsigned))
SIMT_SAME(cuDriverGetVersion, cudaDriverGetVersion)
SIMT_SAME(cuDeviceGetCount, cudaGetDeviceCount)
CUresult cuDeviceGet(CUdevice* device, int number) {
    return *device = number, as(cudaSetDevice(number));
}
SIMT_DONE(cuDeviceGetName, (char* name, int size, CUdevice),
          snprintf(name, (size_t)size, "SIMT machine"))
SIMT_DONE(cuDeviceGetUuid, (CUuuid* uuid, CUdevice), memset(uuid, 0, sizeof *uuid))
SIMT_DONE(cuDeviceTotalMem, (size_t* size, CUdevice), *size = tell("memory").value)
SIMT_DONE(cuDeviceGetAttribute, (int* value, CUdevice_attribute which, CUdevice),
          *value = attribute((int)which))
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
    *major = attribute(cudaDevAttrComputeCapabilityMajor);
    *minor = attribute(cudaDevAttrComputeCapabilityMinor);
    return CUDA_SUCCESS;
}
SIMT_SAME(cuDeviceCanAccessPeer, cudaDeviceCanAccessPeer)
SIMT_DONE(cuDevicePrimaryCtxRetain, (CUcontext* context, CUdevice), *context = only)
SIMT_DONE(cuDevicePrimaryCtxRelease, (CUdevice))
#if CUDA_VERSION >= 13000
SIMT_DONE(cuCtxCreate_v2, (CUcontext* context, unsigned, CUdevice), *context = current = only)
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice) {
#endif
    return *context = current = only, CUDA_SUCCESS;
}
SIMT_DONE(cuCtxDestroy, (CUcontext), current = nullptr)
SIMT_DONE(cuCtxSetCurrent, (CUcontext context), current = context)
SIMT_DONE(cuCtxPushCurrent, (CUcontext context), current = context)
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (context) *context = current;
    return current = nullptr, CUDA_SUCCESS;
}
SIMT_DONE(cuCtxGetCurrent, (CUcontext* context), *context = current)
SIMT_DONE(cuCtxGetDevice, (CUdevice* device), *device = 0)
SIMT_SAME(cuCtxSynchronize, cudaDeviceSynchronize)
SIMT_DONE(cuProfilerStart, ())
SIMT_DONE(cuProfilerStop, ())
SIMT_DONE(cuCtxSetCacheConfig, (CUfunc_cache))
const char* simt_driver_error(int);  // its name in cuda.h
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = simt_driver_error(error);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIMT_DONE(cuGetErrorString, (CUresult error, const char** text),
          *text = cudaGetErrorString((cudaError_t)error))

// --- modules and kernels

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return load(module, image);
}
SIMT_SAME(cuModuleLoadFatBinary, cuModuleLoadData)
CUresult cuModuleLoad(CUmodule* module, const char* file) {
    std::ifstream input(file, std::ios::binary);
    if (!input) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string image((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
    return load(module, image.c_str());
}
SIMT_DONE(cuModuleUnload, (CUmodule))
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    Answer answer = Ask("module_kernel", (uint64_t)module).with(name, strlen(name))();
    *function = (CUfunction)answer.value;
    return as((cudaError_t)answer.error);
}
CUresult cuModuleGetGlobal(CUdeviceptr* pointer, size_t* size, CUmodule module, const char* name) {
    Ask ask("module_variable", (uint64_t)module);
    Answer answer = ask.with(name, strlen(name))();
    if (pointer) *pointer = (CUdeviceptr)answer.value;
    if (size && !answer.error) memcpy(size, ask.result.data(), sizeof *size);
    return as((cudaError_t)answer.error);
}
// What is linked is a module from the first of its parts on.
struct Linked {
    char mark[8];
    CUmodule module;
};
CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) {
    *state = (CUlinkState) new Linked{"linked", nullptr};
    return CUDA_SUCCESS;
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType, void* data, size_t, const char*, unsigned,
                       CUjit_option*, void**) {
    CUmodule& module = ((Linked*)state)->module;
    return load(&module, data, (uint64_t)module);
}
CUresult cuLinkComplete(CUlinkState state, void** image, size_t* size) {
    *image = state;
    if (size) *size = sizeof(Linked);
    return CUDA_SUCCESS;
}
SIMT_DONE(cuLinkDestroy, (CUlinkState state), delete (Linked*)state)
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void** given,
                        void** extra) {
    return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, given, extra, 0);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                   CUstream stream, void** given) {
    return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, given, nullptr, 1);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** given,
                          void** extra) {
    uint64_t together = 0;
    for (unsigned k = 0; k < c->numAttrs; ++k)
        if (c->attrs[k].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            together = (uint64_t)c->attrs[k].value.cooperative;
        else if (c->attrs[k].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            return as(simt_refused("a launch in clusters of blocks"));
    return launch(function, {c->gridDimX, c->gridDimY, c->gridDimZ},
                  {c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, c->hStream, given,
                  extra, together);
}
SIMT_SAME(cuFuncSetAttribute, cudaFuncSetAttribute)  // whose numbers are these
SIMT_SAME(cuFuncSetCacheConfig, cudaFuncSetCacheConfig)
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
    cudaFuncAttributes all;
    cudaError_t error = cudaFuncGetAttributes(&all, (const void*)function);
    int values[] = {all.maxThreadsPerBlock, (int)all.sharedSizeBytes, 0, 0, all.numRegs,
                    all.ptxVersion, all.binaryVersion};
    *value = which < 7 ? values[which] : 0;
    return as(error);
}
SIMT_SAME(cuOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor)
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize bytes, size_t shared, int limit) {
    int most = attribute(cudaDevAttrMaxThreadsPerBlock);
    *block = limit > 0 && limit < most ? limit : most;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(grid, function, *block,
                                                       bytes ? bytes(*block) : shared);
}

// --- memory

SIMT_SAME(cuMemAlloc, cudaMalloc)
SIMT_SAME(cuMemAllocPitch, cudaMallocPitch)
SIMT_SAME(cuMemAllocManaged, cudaMallocManaged)
SIMT_SAME(cuMemAllocHost, cudaMallocHost)
SIMT_SAME(cuMemHostAlloc, cudaHostAlloc)
SIMT_SAME(cuMemHostGetDevicePointer, cudaHostGetDevicePointer)
SIMT_SAME(cuMemHostRegister, cudaHostRegister)
SIMT_SAME(cuMemHostUnregister, cudaHostUnregister)
SIMT_SAME(cuMemFree, cudaFree)
SIMT_SAME(cuMemFreeHost, cudaFreeHost)
SIMT_SAME(cuMemGetInfo, cudaMemGetInfo)
SIMT_SAME(cuMemAllocAsync, cudaMallocAsync)
SIMT_SAME(cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync)
SIMT_SAME(cuMemFreeAsync, cudaFreeAsync)
SIMT_SAME(cuDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool)
SIMT_SAME(cuDeviceGetMemPool, cudaDeviceGetMemPool)
SIMT_SAME(cuDeviceSetMemPool, cudaDeviceSetMemPool)
SIMT_SAME(cuMemPoolCreate, cudaMemPoolCreate)
SIMT_SAME(cuMemPoolDestroy, cudaMemPoolDestroy)
SIMT_SAME(cuMemPoolTrimTo, cudaMemPoolTrimTo)
SIMT_SAME(cuMemPoolSetAttribute, cudaMemPoolSetAttribute)
SIMT_SAME(cuMemPoolGetAttribute, cudaMemPoolGetAttribute)
SIMT_SAME(cuMemPoolSetAccess, cudaMemPoolSetAccess)
SIMT_SAME(cuMemPoolGetAccess, cudaMemPoolGetAccess)
#if CUDA_VERSION >= 13000
SIMT_SAME(cuMemGetDefaultMemPool, cudaMemGetDefaultMemPool)
#endif
#define SIMT_COPY(name, later, To, From, kind) \
    CUresult name(To to, From from, size_t size) { \
        return as(copy((void*)to, (const void*)from, size, cudaMemcpy##kind, nullptr, false)); \
    } \
    CUresult later(To to, From from, size_t size, CUstream stream) { \
        return as(copy((void*)to, (const void*)from, size, cudaMemcpy##kind, stream, true)); \
    }
SIMT_COPY(cuMemcpy, cuMemcpyAsync, CUdeviceptr, CUdeviceptr, Default)
SIMT_COPY(cuMemcpyDtoD, cuMemcpyDtoDAsync, CUdeviceptr, CUdeviceptr, DeviceToDevice)
SIMT_COPY(cuMemcpyHtoD, cuMemcpyHtoDAsync, CUdeviceptr, const void*, HostToDevice)
SIMT_COPY(cuMemcpyDtoH, cuMemcpyDtoHAsync, void*, CUdeviceptr, DeviceToHost)
#define SIMT_FILL(name, later, T) \
    CUresult name(CUdeviceptr to, T value, size_t count) { \
        return fill(to, value, count, nullptr, false); \
    } \
    CUresult later(CUdeviceptr to, T value, size_t count, CUstream stream) { \
        return fill(to, value, count, stream, true); \
    }
SIMT_FILL(cuMemsetD8, cuMemsetD8Async, unsigned char)
SIMT_FILL(cuMemsetD16, cuMemsetD16Async, unsigned short)
SIMT_FILL(cuMemsetD32, cuMemsetD32Async, unsigned)

// --- streams and events

SIMT_SAME(cuStreamCreate, cudaStreamCreateWithFlags)
SIMT_SAME(cuStreamCreateWithPriority, cudaStreamCreateWithPriority)
SIMT_SAME(cuStreamGetPriority, cudaStreamGetPriority)
SIMT_SAME(cuStreamGetId, cudaStreamGetId)
SIMT_DONE(cuStreamGetCtx, (CUstream, CUcontext* context), *context = only)
#if CUDA_VERSION >= 12080
SIMT_DONE(cuStreamGetCtx_v2, (CUstream, CUcontext* context, CUgreenCtx* green),
          *context = only, *green = nullptr)
SIMT_SAME(cuStreamGetDevice, cudaStreamGetDevice)
#endif
SIMT_SAME(cuStreamIsCapturing, cudaStreamIsCapturing)
SIMT_SAME(cuStreamAddCallback, cudaStreamAddCallback)
SIMT_SAME(cuStreamDestroy, cudaStreamDestroy)
SIMT_SAME(cuStreamSynchronize, cudaStreamSynchronize)
SIMT_SAME(cuStreamQuery, cudaStreamQuery)
SIMT_SAME(cuStreamWaitEvent, cudaStreamWaitEvent)
SIMT_SAME(cuLaunchHostFunc, cudaLaunchHostFunc)
SIMT_SAME(cuEventCreate, cudaEventCreateWithFlags)
SIMT_SAME(cuEventDestroy, cudaEventDestroy)
SIMT_SAME(cuEventRecord, cudaEventRecord)
SIMT_SAME(cuEventSynchronize, cudaEventSynchronize)
SIMT_SAME(cuEventQuery, cudaEventQuery)
SIMT_SAME(cuEventElapsedTime, cudaEventElapsedTime)

// --- functions by name

CUresult cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* found) {
    // who asks for an older CUDA has the arguments of then
    static const auto* since = new std::map<std::string, int>{
        {"cuCtxCreate_v4", 12050}, {"cuCtxGetDevice_v2", 13000}, {"cuCtxSynchronize_v2", 13000},
        {"cuLaunchHostFunc_v2", 13010}, {"cuStreamGetCtx_v2", 12050}};
    *function = nullptr;
    for (const char* end : {"_v4", "_v3", "_v2", ""}) {
        std::string symbol = std::string(name) + end;
        if (!*function && (!since->count(symbol) || since->at(symbol) <= version))
            *function = dlsym(RTLD_DEFAULT, symbol.c_str());
    }
    if (found)
        *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
    CUresult error = cuGetProcAddress(name, function, (int)version, 0, nullptr);
    if (found) *found = error ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    return cudaSuccess;
}

// --- NVRTC compiles for the machine: PTX, whatever GPU is asked for

int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    std::vector<const char*> all = {"--gpu-architecture=compute_80", "-lineinfo"};
    for (int k = 0; k < count; ++k) {
        const char* o = options[k];
        if (!strcmp(o, "-arch") || !strcmp(o, "--gpu-architecture")) ++k;
        else if (strncmp(o, "-arch=", 6) && strncmp(o, "--gpu-architecture=", 19) &&
                 strcmp(o, "-lineinfo") && strcmp(o, "--generate-line-info"))
            all.push_back(o);
    }
    auto real = (decltype(&nvrtcCompileProgram))dlsym(RTLD_NEXT, "nvrtcCompileProgram");
    return real(program, (int)all.size(), all.data());
}
int nvrtcGetCUBINSize(void* program, size_t* size) {
    return ((decltype(&nvrtcGetCUBINSize))dlsym(RTLD_NEXT, "nvrtcGetPTXSize"))(program, size);
}
int nvrtcGetCUBIN(void* program, char* code) {
    return ((decltype(&nvrtcGetCUBIN))dlsym(RTLD_NEXT, "nvrtcGetPTX"))(program, code);
}

}  // extern "C"
