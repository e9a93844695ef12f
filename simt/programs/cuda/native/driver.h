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

// --- devices and contexts

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return as(cudaDriverGetVersion(version)); }
CUresult cuDeviceGetCount(int* count) { return as(cudaGetDeviceCount(count)); }
CUresult cuDeviceGet(CUdevice* device, int number) {
    return *device = number, as(cudaSetDevice(number));
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    return snprintf(name, (size_t)size, "SIMT machine"), CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
    return memset(uuid, 0, sizeof *uuid), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* size, CUdevice) {
    return *size = tell("memory").value, CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
    return *value = attribute((int)which), CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
    *major = attribute(cudaDevAttrComputeCapabilityMajor);
    *minor = attribute(cudaDevAttrComputeCapabilityMinor);
    return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    return *context = only, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice) {
#endif
    return *context = current = only, CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext) { return current = nullptr, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (context) *context = current;
    return current = nullptr, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxSynchronize() { return as(cudaDeviceSynchronize()); }
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
const char* simt_driver_error(int);  // its name in cuda.h
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = simt_driver_error(error);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    return *text = cudaGetErrorString((cudaError_t)error), CUDA_SUCCESS;
}

// --- modules and kernels

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return load(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoad(CUmodule* module, const char* file) {
    std::ifstream input(file, std::ios::binary);
    if (!input) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string image((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
    return load(module, image.c_str());
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
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
CUresult cuLinkDestroy(CUlinkState state) { return delete (Linked*)state, CUDA_SUCCESS; }
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
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
    bool shared = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    return shared ? as(cudaFuncSetAttribute((const void*)function,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, value))
                  : CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
    cudaFuncAttributes all;
    cudaError_t error = cudaFuncGetAttributes(&all, (const void*)function);
    int values[] = {all.maxThreadsPerBlock, (int)all.sharedSizeBytes, 0, 0, all.numRegs,
                    all.ptxVersion, all.binaryVersion};
    *value = which < 7 ? values[which] : 0;
    return as(error);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared) {
    return as(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)function, threads,
                                                            shared));
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize bytes, size_t shared, int limit) {
    int most = attribute(cudaDevAttrMaxThreadsPerBlock);
    *block = limit > 0 && limit < most ? limit : most;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(grid, function, *block,
                                                       bytes ? bytes(*block) : shared);
}

// --- memory

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t size) {
    return as(cudaMalloc((void**)pointer, size));
}
CUresult cuMemAllocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                         unsigned) {
    return as(cudaMallocPitch((void**)pointer, pitch, width, height));
}
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t size, unsigned flags) {
    return as(cudaMallocManaged((void**)pointer, size, flags));
}
CUresult cuMemAllocHost(void** pointer, size_t size) { return as(cudaMallocHost(pointer, size)); }
CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned) {
    return as(cudaMallocHost(pointer, size));
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
    return *device = (CUdeviceptr)host, CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void*, size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void*) { return CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr pointer) { return as(cudaFree((void*)pointer)); }
CUresult cuMemFreeHost(void* pointer) { return as(cudaFreeHost(pointer)); }
CUresult cuMemGetInfo(size_t* unused, size_t* total) { return as(cudaMemGetInfo(unused, total)); }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t size) {
    return as(copy((void*)to, from, size, cudaMemcpyHostToDevice, nullptr, false));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t size) {
    return as(copy(to, (const void*)from, size, cudaMemcpyDeviceToHost, nullptr, false));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return as(copy((void*)to, (const void*)from, size, cudaMemcpyDeviceToDevice, nullptr, false));
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return as(copy((void*)to, (const void*)from, size, cudaMemcpyDefault, nullptr, false));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t size, CUstream stream) {
    return as(copy((void*)to, from, size, cudaMemcpyHostToDevice, stream, true));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t size, CUstream stream) {
    return as(copy(to, (const void*)from, size, cudaMemcpyDeviceToHost, stream, true));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return as(copy((void*)to, (const void*)from, size, cudaMemcpyDeviceToDevice, stream, true));
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return as(copy((void*)to, (const void*)from, size, cudaMemcpyDefault, stream, true));
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
    return fill(to, value, count, nullptr, false);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
    return fill(to, value, count, nullptr, false);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
    return fill(to, value, count, nullptr, false);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return fill(to, value, count, stream, true);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    return fill(to, value, count, stream, true);
}

// --- streams and events

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return as(cudaStreamCreateWithFlags(stream, flags));
}
CUresult cuStreamDestroy(CUstream stream) { return as(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return as(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return as(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    return as(cudaStreamWaitEvent(stream, event, 0));
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return as(cudaLaunchHostFunc(stream, function, data));
}
CUresult cuEventCreate(CUevent* event, unsigned) { return as(cudaEventCreate(event)); }
CUresult cuEventDestroy(CUevent event) { return as(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) {
    return as(cudaEventRecord(event, stream));
}
CUresult cuEventSynchronize(CUevent event) { return as(cudaEventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return as(cudaEventQuery(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return as(cudaEventElapsedTime(milliseconds, start, end));
}

// --- functions by name

CUresult cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* found) {
    *function = nullptr;
    for (const char* version : {"_v4", "_v3", "_v2", ""})
        if (!*function) *function = dlsym(RTLD_DEFAULT, (std::string(name) + version).c_str());
    if (found)
        *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
    CUresult error = cuGetProcAddress(name, function, 0, 0, nullptr);
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
