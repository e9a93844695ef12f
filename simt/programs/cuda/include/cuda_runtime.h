// The CUDA runtime of a program whose kernels run on the SIMT machine.
//
// Each function sends a request through a socket to the Python process that started the program
// and waits for the answer; `runtime.py` has a method for each. Device pointers are numbers that
// no address of this process has; managed and pinned memory is mapped by both processes.
#pragma once

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // Linux 4.17; the C library may be older
#endif

#define CUDART_VERSION 12000
#define CUDART_CB
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

// --- types

enum cudaError {
#define SIMT_ERROR(number, name, text) name = number,
#include "simt_errors.h"
#undef SIMT_ERROR
};
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef void (*cudaHostFn_t)(void* data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* data);

#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped 2
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#define cudaCpuDeviceId (-1)
#define cudaDeviceScheduleAuto 0
#define cudaDeviceMapHost 8

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define SIMT_VECTORS(type, name, four)                                                     \
    struct name##1 { type x; };                                                                \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; };                  \
    struct name##3 { type x, y, z; };                                                          \
    struct __attribute__((aligned(four))) name##4 { type x, y, z, w; };                        \
    static inline name##1 make_##name##1(type x) { return {x}; }                               \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                    \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }         \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
SIMT_VECTORS(signed char, char, 4)
SIMT_VECTORS(unsigned char, uchar, 4)
SIMT_VECTORS(short, short, 8)
SIMT_VECTORS(unsigned short, ushort, 8)
SIMT_VECTORS(int, int, 16)
SIMT_VECTORS(unsigned, uint, 16)
SIMT_VECTORS(long, long, 16)
SIMT_VECTORS(unsigned long, ulong, 16)
SIMT_VECTORS(long long, longlong, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16)
SIMT_VECTORS(float, float, 16)
SIMT_VECTORS(double, double, 16)

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY,
    cudaDevAttrMaxBlockDimZ, cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY,
    cudaDevAttrMaxGridDimZ, cudaDevAttrMaxSharedMemoryPerBlock, cudaDevAttrTotalConstantMemory,
    cudaDevAttrWarpSize, cudaDevAttrMaxRegistersPerBlock = 12, cudaDevAttrClockRate,
    cudaDevAttrMultiProcessorCount = 16, cudaDevAttrKernelExecTimeout, cudaDevAttrIntegrated,
    cudaDevAttrCanMapHostMemory, cudaDevAttrConcurrentKernels = 31, cudaDevAttrEccEnabled,
    cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth, cudaDevAttrL2CacheSize,
    cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrAsyncEngineCount,
    cudaDevAttrUnifiedAddressing, cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor, cudaDevAttrManagedMemory,
    cudaDevAttrConcurrentManagedAccess = 89, cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrMaxBlocksPerMultiprocessor = 106
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor,
        sharedMemPerBlockOptin, memPitch, textureAlignment;
    int pciDomainID, pciBusID, pciDeviceID, computeMode, deviceOverlap, regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate,
        major, minor, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
        concurrentKernels, ECCEnabled, asyncEngineCount, unifiedAddressing, memoryClockRate,
        memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor, regsPerMultiprocessor,
        managedMemory, concurrentManagedAccess, cooperativeLaunch, maxBlocksPerMultiProcessor;
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
enum cudaMemLocationType {
    cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost
};
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
    cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly,
    cudaMemAdviseSetPreferredLocation, cudaMemAdviseUnsetPreferredLocation,
    cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};

#define SIMT_LINE int simt_line = __builtin_LINE()

// --- the channel

namespace simt {

struct Request {
    char name[16];
    int64_t line;
    uint64_t values[8];
    uint64_t size;  // bytes that follow
};
struct Answer {
    int32_t error;
    uint64_t value;
    // bytes that follow: what kernels printed, what was asked for, what the host may touch now
    uint64_t printed, size, regions;
};
struct Region {
    uint64_t address, size, access;
};

inline int channel = -1;
inline thread_local bool inside = false;  // of a function on a stream
inline volatile char lock = 0;

[[noreturn]] inline void lost() {
    signal(SIGSEGV, SIG_DFL);
    _exit(errno == EFAULT ? 139 : 1);
}

inline void put(const void* data, size_t size) {
    for (const char* at = (const char*)data; size > 0;) {
        ssize_t done = write(channel, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) lost();
        at += done;
        size -= (size_t)done;
    }
}

inline void get(void* data, size_t size) {
    for (char* at = (char*)data; size > 0;) {
        ssize_t done = read(channel, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) lost();
        at += done;
        size -= (size_t)done;
    }
}

struct Ask {
    Request request = {};
    const void* data = nullptr;
    void* result = nullptr;  // room for what is asked for

    Ask(const char* name, int line, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0,
        uint64_t e = 0, uint64_t f = 0, uint64_t g = 0, uint64_t h = 0) {
        strncpy(request.name, name, sizeof request.name - 1);
        request.line = line;
        uint64_t values[8] = {a, b, c, d, e, f, g, h};
        memcpy(request.values, values, sizeof values);
    }

    Answer operator()() {
        bool always = !strcmp(request.name, "fault") || !strcmp(request.name, "last_error") ||
                      !strcmp(request.name, "callback_end");
        if (inside && !always) {
            strncpy(request.name, "inside", sizeof request.name);
            request.size = 0;
        }
        while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {}
        put(&request, sizeof request);
        if (request.size) put(data, request.size);
        Answer answer;
        get(&answer, sizeof answer);
        if (answer.printed) {
            char* text = (char*)malloc(answer.printed);
            get(text, answer.printed);
            fwrite(text, 1, answer.printed, stdout);
            free(text);
        }
        if (answer.size) get(result, answer.size);
        for (uint64_t k = 0; k < answer.regions / sizeof(Region); ++k) {
            Region region;
            get(&region, sizeof region);
            mprotect((void*)region.address, region.size, (int)region.access);
        }
        __atomic_clear(&lock, __ATOMIC_RELEASE);
        return answer;
    }

    cudaError_t error() { return (cudaError_t)(*this)().error; }
};

// Memory that is not to be touched, and addresses that are none.
inline void fault(int number, siginfo_t* info, void* context) {
    uint64_t address = (uint64_t)info->si_addr, writes = 2;  // 2: not known
    void* frames[32];
    uint64_t told[64];
    int count = 0;
    void* here = nullptr;  // the instruction
    (void)context;
#ifdef __x86_64__
    auto& registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    writes = (registers[REG_ERR] >> 1) & 1;
    for (int k = 0; k <= REG_RIP; ++k) told[count++] = (uint64_t)registers[k];
    if (info->si_code != SI_KERNEL) told[0] = address;
    here = (void*)registers[REG_RIP];
#else
#ifdef __aarch64__
    here = (void*)((ucontext_t*)context)->uc_mcontext.pc;
#endif
    told[count++] = address;
#endif
    int depth = backtrace(frames, 32), first = 0;
    for (int k = 0; k < depth; ++k)
        if (frames[k] == here) first = k;
    Ask ask("fault", 0, address, writes, (uint64_t)count);
    // the others are where calls return to, one byte behind the call
    for (int k = first; k < depth; ++k)
        told[count++] = (uint64_t)frames[k] - (frames[k] != here);
    ask.request.size = (uint64_t)count * sizeof told[0];
    ask.data = told;
    lock = 0;
    if (ask().value) return;  // work under way uses it, and it may be touched from now on
    fflush(stdout);
    signal(number, SIG_DFL);
}

inline bool begin() {
    const char* given = getenv("SIMT_CHANNEL");
    if (!given) {
        fputs("start this program with: python -m simt run\n", stderr);
        exit(2);
    }
    channel = atoi(given);
    void* frames[2];
    backtrace(frames, 2);  // the first call takes memory, which a handler must not
    struct sigaction action = {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    return true;
}
inline const bool begun = begin();

// --- launches

struct Shape {
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
    int line = 0;
    char what[8] = "launch";
    uint64_t value = 0, limit = 0;
    cudaError_t error = cudaSuccess;
};
inline thread_local Shape shape;

inline void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr,
                      SIMT_LINE) {
    shape = Shape();
    shape.grid = grid, shape.block = block, shape.shared = shared, shape.stream = stream;
    shape.line = simt_line;
}

template <typename T>
const char* pretty() {
    return __PRETTY_FUNCTION__;
}

// The arguments of one launch on their way: each with what it is and its size.
struct Call {
    char data[16384];
    size_t used = 0;
    int kernel;

    explicit Call(int kernel) : kernel(kernel) {}

    void add(char what, const void* from, size_t size) {
        uint32_t head[2] = {(uint32_t)what, (uint32_t)size};
        if (used + sizeof head + size > sizeof data) {
            fputs("the arguments of a launch take too much room\n", stderr);
            exit(2);
        }
        memcpy(data + used, head, sizeof head);
        memcpy(data + used + sizeof head, from, size);
        used += sizeof head + size;
    }
    template <typename T>
    void type() {
        add('T', pretty<T>(), strlen(pretty<T>()));
    }
    template <typename T>
    void value(T number) {
        type<T>();
        long long wide = (long long)number;
        add('V', &wide, sizeof wide);
    }
    template <typename T>
    void argument(const T& value) {
        add('A', &value, sizeof value);
    }
    void go() {
        uint64_t grid = shape.grid.x, block = shape.block.x;
        Ask ask(shape.what, shape.line, (uint64_t)kernel, grid | (uint64_t)shape.grid.y << 32,
                shape.grid.z, block | (uint64_t)shape.block.y << 32, shape.block.z, shape.shared,
                (uint64_t)shape.stream, shape.limit);
        ask.request.size = used;
        ask.data = data;
        Answer answer = ask();
        shape.error = (cudaError_t)answer.error;
        shape.value = answer.value;
    }
};

// Asks of a kernel in place of launching it.
template <typename... P>
uint64_t about(const char* what, void (*kernel)(P...), int threads, size_t shared, uint64_t limit,
               int line) {
    configure(dim3(1), dim3((unsigned)threads), shared, nullptr, line);
    strncpy(shape.what, what, sizeof shape.what - 1);
    shape.limit = limit;
    kernel(P()...);
    return shape.value;
}

// Kernels by their address, for launches whose arguments are given as pointers.
struct Known {
    const void* kernel;
    void (*launch)(void (*)(), void**);
    Known* next;
};
inline Known* kernels = nullptr;

template <size_t... N>
struct Numbers {
    template <typename... P>
    static void call(void (*kernel)(P...), void** given) {
        (void)given;
        kernel(*(P*)given[N]...);
    }
};
template <size_t Left, size_t... N>
struct Count : Count<Left - 1, Left - 1, N...> {};
template <size_t... N>
struct Count<0, N...> {
    typedef Numbers<N...> Result;
};
template <typename... P>
bool known(void (*kernel)(P...)) {
    static Known* made = new Known;
    made->kernel = (const void*)kernel;
    made->launch = [](void (*any)(), void** given) {
        Count<sizeof...(P)>::Result::call((void (*)(P...))any, given);
    };
    made->next = kernels;
    kernels = made;
    return true;
}

inline bool variable(int number, const void* shadow, size_t size) {
    Ask("variable", 0, (uint64_t)number, (uint64_t)shadow, size)();
    return true;
}

inline cudaError_t copy(const char* name, void* to, const void* from, size_t size, int kind,
                        uint64_t stream, uint64_t later, int line) {
    Ask ask(name, line, (uint64_t)to, (uint64_t)from, size, (uint64_t)kind, stream, later);
    ask.result = to;
    Answer answer = ask();
    if (answer.value == 2) memmove(to, from, size);  // both are the host's own
    if (answer.value != 1) return (cudaError_t)answer.error;
    Ask rest(name, line, (uint64_t)to, (uint64_t)from, size, (uint64_t)kind, stream, later, 1);
    rest.request.size = size;
    rest.data = from;
    return rest.error();
}

inline cudaError_t rows(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                        size_t width, size_t height, int kind, uint64_t stream, uint64_t later,
                        int line) {
    if (width > to_pitch || width > from_pitch)
        return Ask("bad_pitch", line, width, to_pitch, from_pitch).error();
    for (size_t row = 0; row < height; ++row) {
        cudaError_t error = copy("memcpy", (char*)to + row * to_pitch,
                                 (const char*)from + row * from_pitch, width, kind, stream, later,
                                 line);
        if (error) return error;
    }
    return cudaSuccess;
}

inline cudaError_t mapped(const char* name, void** pointer, size_t size, int line) {
    char file[512];
    Ask ask(name, line, size);
    ask.result = file;
    Answer answer = ask();
    *pointer = nullptr;
    if (answer.error) return (cudaError_t)answer.error;
    file[answer.size] = 0;
    int opened = open(file, O_RDWR);
    void* at = mmap((void*)answer.value, size ? size : 1, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, opened, 0);
    close(opened);
    if (at != (void*)answer.value) return cudaErrorMemoryAllocation;
    *pointer = at;
    return cudaSuccess;
}

inline cudaError_t unmap(const char* name, void* pointer, int line) {
    Answer answer = Ask(name, line, (uint64_t)pointer)();
    if (answer.value) munmap(pointer, answer.value);
    return (cudaError_t)answer.error;
}

inline int attribute(int number) {
    return (int)Ask("attribute", 0, (uint64_t)number)().value;
}

}  // namespace simt

// --- memory

template <typename T>
cudaError_t cudaMalloc(T** pointer, size_t size, SIMT_LINE) {
    simt::Answer answer = simt::Ask("malloc", simt_line, size)();
    *pointer = (T*)answer.value;
    return (cudaError_t)answer.error;
}
template <typename T>
cudaError_t cudaMallocAsync(T** pointer, size_t size, cudaStream_t stream, SIMT_LINE) {
    simt::Answer answer =
        simt::Ask("malloc_async", simt_line, size, (uint64_t)stream)();
    *pointer = (T*)answer.value;
    return (cudaError_t)answer.error;
}
template <typename T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height,
                            SIMT_LINE) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height, simt_line);
}
template <typename T>
cudaError_t cudaMallocManaged(T** pointer, size_t size, unsigned = cudaMemAttachGlobal,
                              SIMT_LINE) {
    return simt::mapped("malloc_managed", (void**)pointer, size, simt_line);
}
template <typename T>
cudaError_t cudaMallocHost(T** pointer, size_t size, unsigned = 0, SIMT_LINE) {
    return simt::mapped("malloc_host", (void**)pointer, size, simt_line);
}
template <typename T>
cudaError_t cudaHostAlloc(T** pointer, size_t size, unsigned, SIMT_LINE) {
    return simt::mapped("malloc_host", (void**)pointer, size, simt_line);
}
template <typename T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
    *device = (T*)host;
    return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer, SIMT_LINE) {
    return simt::unmap("free", pointer, simt_line);
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, SIMT_LINE) {
    return simt::Ask("free_async", simt_line, (uint64_t)pointer, (uint64_t)stream).error();
}
inline cudaError_t cudaFreeHost(void* pointer, SIMT_LINE) {
    return simt::unmap("free_host", pointer, simt_line);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                              SIMT_LINE) {
    return simt::copy("memcpy", to, from, size, kind, 0, 0, simt_line);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr, SIMT_LINE) {
    return simt::copy("memcpy", to, from, size, kind, (uint64_t)stream, 1, simt_line);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                     size_t from_pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                                     SIMT_LINE) {
    return simt::rows(to, to_pitch, from, from_pitch, width, height, kind, (uint64_t)stream, 1,
                          simt_line);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                size_t width, size_t height, cudaMemcpyKind kind, SIMT_LINE) {
    return simt::rows(to, to_pitch, from, from_pitch, width, height, kind, 0, 0,
                          simt_line);
}
inline cudaError_t cudaMemset(void* to, int value, size_t size, SIMT_LINE) {
    return simt::Ask("memset", simt_line, (uint64_t)to, (uint64_t)value, size).error();
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream = nullptr,
                                   SIMT_LINE) {
    return simt::Ask("memset", simt_line, (uint64_t)to, (uint64_t)value, size,
                         (uint64_t)stream, 1).error();
}
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t size, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, SIMT_LINE) {
    uint64_t to = simt::Ask("symbol", simt_line, (uint64_t)&symbol)().value;
    return simt::copy("memcpy", (char*)to + offset, from, size, kind, 0, 0, simt_line);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                                    SIMT_LINE) {
    uint64_t to = simt::Ask("symbol", simt_line, (uint64_t)&symbol)().value;
    return simt::copy("memcpy", (char*)to + offset, from, size, kind, (uint64_t)stream, 1,
                          simt_line);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t size, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, SIMT_LINE) {
    uint64_t from = simt::Ask("symbol", simt_line, (uint64_t)&symbol)().value;
    return simt::copy("memcpy", to, (char*)from + offset, size, kind, 0, 0, simt_line);
}
template <typename T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol, SIMT_LINE) {
    simt::Answer answer = simt::Ask("symbol", simt_line, (uint64_t)&symbol)();
    *pointer = (void*)answer.value;
    return (cudaError_t)answer.error;
}
template <typename T>
cudaError_t cudaGetSymbolSize(size_t* size, const T& symbol) {
    return *size = sizeof symbol, cudaSuccess;
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* made, const void* pointer,
                                            SIMT_LINE) {
    simt::Answer answer = simt::Ask("pointer", simt_line, (uint64_t)pointer)();
    void* mine = (void*)pointer;
    made->type = (cudaMemoryType)answer.value;
    made->device = made->type == cudaMemoryTypeUnregistered ? -2 : 0;
    made->hostPointer = made->type == cudaMemoryTypeDevice ? nullptr : mine;
    made->devicePointer = made->type == cudaMemoryTypeUnregistered ? nullptr : mine;
    return (cudaError_t)answer.error;
}
// Memory that is locked stays what it was: a copy from it is staged, one to it waits.
inline cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t* unused, size_t* total) {
    *unused = simt::Ask("memory", 0, 1)().value;
    *total = simt::Ask("memory", 0, 0)().value;
    return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) {
    return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned,
                                        cudaStream_t = nullptr) {
    return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }

// --- waiting, streams, events

inline cudaError_t cudaDeviceSynchronize(SIMT_LINE) {
    return simt::Ask("wait_for_all", simt_line).error();
}
inline cudaError_t cudaThreadSynchronize(SIMT_LINE) {
    return cudaDeviceSynchronize(simt_line);
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags,
                                             SIMT_LINE) {
    simt::Answer answer = simt::Ask("stream", simt_line, flags)();
    *stream = (cudaStream_t)answer.value;
    return (cudaError_t)answer.error;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream, SIMT_LINE) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault, simt_line);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int,
                                                SIMT_LINE) {
    return cudaStreamCreateWithFlags(stream, flags, simt_line);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return *least = 0, *greatest = -5, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream, SIMT_LINE) {
    return simt::Ask("no_stream", simt_line, (uint64_t)stream).error();
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream, SIMT_LINE) {
    return simt::Ask("synchronize", simt_line, (uint64_t)stream).error();
}
// The host's functions have their turn at once, after all that comes before them.
template <typename F>
cudaError_t simt_turn(cudaStream_t stream, F function, int line) {
    simt::Ask ask("callback", line, (uint64_t)stream);
    cudaError_t error = ask.error();
    if (error) return error;
    simt::inside = true;
    function();
    simt::inside = false;
    return simt::Ask("callback_end", line).error();
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data,
                                      SIMT_LINE) {
    return simt_turn(stream, [=] { function(data); }, simt_line);
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                         void* data, unsigned, SIMT_LINE) {
    cudaError_t error =
        simt_turn(stream, [=] { function(stream, cudaSuccess, data); }, simt_line);
    if (error) function(stream, error, data);
    return error;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream, SIMT_LINE) {
    return simt::Ask("query", simt_line, (uint64_t)stream).error();
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned = 0, SIMT_LINE) {
    simt::Answer answer = simt::Ask("event", simt_line)();
    *event = (cudaEvent_t)answer.value;
    return (cudaError_t)answer.error;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags, SIMT_LINE) {
    return cudaEventCreate(event, flags, simt_line);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event, SIMT_LINE) {
    return simt::Ask("no_event", simt_line, (uint64_t)event).error();
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr,
                                   SIMT_LINE) {
    return simt::Ask("record", simt_line, (uint64_t)event, (uint64_t)stream).error();
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event, SIMT_LINE) {
    return simt::Ask("wait", simt_line, (uint64_t)event).error();
}
inline cudaError_t cudaEventQuery(cudaEvent_t event, SIMT_LINE) {
    return simt::Ask("ask_event", simt_line, (uint64_t)event).error();
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0,
                                       SIMT_LINE) {
    return simt::Ask("wait_event", simt_line, (uint64_t)event, (uint64_t)stream).error();
}
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end,
                                        SIMT_LINE) {
    simt::Answer answer =
        simt::Ask("elapsed", simt_line, (uint64_t)start, (uint64_t)end)();
    if (!answer.error) *milliseconds = (float)((double)answer.value * 1e-6);
    return (cudaError_t)answer.error;
}

// --- errors

inline cudaError_t cudaGetLastError(SIMT_LINE) {
    return simt::Ask("last_error", simt_line, 1).error();
}
inline cudaError_t cudaPeekAtLastError(SIMT_LINE) {
    return simt::Ask("last_error", simt_line, 0).error();
}
inline const char* cudaGetErrorName(cudaError_t error) {
    switch ((int)error) {
#define SIMT_ERROR(number, name, text) case number: return #name;
#include "simt_errors.h"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}
inline const char* cudaGetErrorString(cudaError_t error) {
    switch ((int)error) {
#define SIMT_ERROR(number, name, text) case number: return text;
#include "simt_errors.h"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}

// --- the device

inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int device, SIMT_LINE) {
    return simt::Ask("set_device", simt_line, (uint64_t)device).error();
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset(SIMT_LINE) {
    return simt::Ask("reset", simt_line).error();
}
inline cudaError_t cudaDriverGetVersion(int* version) {
    return *version = CUDART_VERSION, cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
    return *version = CUDART_VERSION, cudaSuccess;
}
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr number, int) {
    return *value = simt::attribute(number), cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* made, int device, SIMT_LINE) {
    using simt::attribute;
    cudaError_t error = cudaSetDevice(device, simt_line);
    if (error) return error;
    cudaDeviceProp& p = *made;
    p = cudaDeviceProp();
    strcpy(p.name, "SIMT machine");
    p.totalGlobalMem = simt::Ask("memory", 0, 0)().value;
    p.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
    for (int k = 0; k < 3; ++k) {
        p.maxThreadsDim[k] = attribute(cudaDevAttrMaxBlockDimX + k);
        p.maxGridSize[k] = attribute(cudaDevAttrMaxGridDimX + k);
    }
    p.sharedMemPerBlock = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    p.sharedMemPerBlockOptin = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    p.sharedMemPerMultiprocessor = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    p.totalConstMem = (size_t)attribute(cudaDevAttrTotalConstantMemory);
    p.memPitch = INT32_MAX;
    p.textureAlignment = 512;
    p.warpSize = attribute(cudaDevAttrWarpSize);
    p.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
    p.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    p.clockRate = attribute(cudaDevAttrClockRate);
    p.memoryClockRate = attribute(cudaDevAttrMemoryClockRate);
    p.memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
    p.l2CacheSize = attribute(cudaDevAttrL2CacheSize);
    p.major = attribute(cudaDevAttrComputeCapabilityMajor);
    p.minor = attribute(cudaDevAttrComputeCapabilityMinor);
    p.multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
    p.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    p.maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    p.canMapHostMemory = attribute(cudaDevAttrCanMapHostMemory);
    p.concurrentKernels = attribute(cudaDevAttrConcurrentKernels);
    p.unifiedAddressing = attribute(cudaDevAttrUnifiedAddressing);
    p.managedMemory = attribute(cudaDevAttrManagedMemory);
    p.concurrentManagedAccess = attribute(cudaDevAttrConcurrentManagedAccess);
    p.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch);
    return cudaSuccess;
}

// --- kernels

template <typename... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...),
                                                          int threads, size_t shared,
                                                          SIMT_LINE) {
    *blocks = (int)simt::about("blocks", kernel, threads, shared, 0, simt_line);
    return simt::shape.error;
}
// The largest block of those that keep most threads on a multiprocessor.
template <typename... P>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, void (*kernel)(P...),
                                               size_t shared = 0, int limit = 0, SIMT_LINE) {
    int most = simt::attribute(cudaDevAttrMaxThreadsPerBlock), best = 0;
    *grid = *block = 0;
    for (int threads = limit > 0 && limit < most ? limit : most; threads > 0;
         threads = (threads - 1) / 32 * 32) {
        int blocks = (int)simt::about("blocks", kernel, threads, shared, 0, simt_line);
        if (simt::shape.error) return simt::shape.error;
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * simt::attribute(cudaDevAttrMultiProcessorCount);
    }
    return cudaSuccess;
}
template <typename... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value,
                                 SIMT_LINE) {
    simt::about("limit", kernel, 1, 0, attribute == 8 ? (uint64_t)value : 0, simt_line);
    return simt::shape.error;
}
template <typename F>
cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) {
    return cudaSuccess;
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** given,
                                    size_t shared = 0, cudaStream_t stream = nullptr,
                                    SIMT_LINE) {
    for (simt::Known* k = simt::kernels; k; k = k->next) {
        if (k->kernel != kernel) continue;
        simt::configure(grid, block, shared, stream, simt_line);
        k->launch((void (*)())kernel, given);
        return simt::shape.error;
    }
    return simt::Ask("no_kernel", simt_line).error();
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                               void** given, size_t shared = 0,
                                               cudaStream_t stream = nullptr, SIMT_LINE) {
    return cudaLaunchKernel(kernel, grid, block, given, shared, stream, simt_line);
}

// --- what nvcc declares for the host too

#define SIMT_BOTH(type)                                          \
    inline type min(type a, type b) { return b < a ? b : a; }        \
    inline type max(type a, type b) { return a < b ? b : a; }
SIMT_BOTH(int)
SIMT_BOTH(unsigned)
SIMT_BOTH(long)
SIMT_BOTH(unsigned long)
SIMT_BOTH(long long)
SIMT_BOTH(unsigned long long)
SIMT_BOTH(float)
SIMT_BOTH(double)
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
