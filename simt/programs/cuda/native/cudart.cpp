// The CUDA runtime library of a program whose device is the SIMT machine.
//
// Each function sends a request through a socket to the Python process that started the program
// and waits for the answer; `runtime.py` has a method for each. Device pointers are numbers that
// no address of this process has; managed and pinned memory is mapped by both processes.
#include <cuda_runtime_api.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // Linux 4.17; the C library may be older
#endif

namespace {

struct Request {
    char name[16];
    int64_t line;
    uint64_t values[8];
    uint64_t size;  // bytes that follow
};
struct Answer {
    int32_t error;
    uint64_t value;
    // bytes that follow: what kernels printed, what was asked for, what the host may touch now,
    // what graphs have copied to its memory
    uint64_t printed, size, regions, writes;
};
struct Region {
    uint64_t address, size, access;
};

constexpr int FRAMES = 24;
int channel = -1;
thread_local bool inside = false;  // of a function on a stream
std::recursive_mutex& lock() {
    static std::recursive_mutex* mutex = new std::recursive_mutex;  // never destroyed
    return *mutex;
}

[[noreturn]] void lost() {
    signal(SIGSEGV, SIG_DFL);
    _exit(errno == EFAULT ? 139 : 1);
}

void put(const void* data, size_t size) {
    for (const char* at = (const char*)data; size > 0;) {
        ssize_t done = write(channel, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) lost();
        at += done;
        size -= (size_t)done;
    }
}

// How many bytes have come; fewer if there is no memory for more.
size_t get(void* data, size_t size) {
    size_t left = size;
    for (char* at = (char*)data; left > 0;) {
        ssize_t done = read(channel, at, left);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno == EFAULT) break;
        if (done <= 0) lost();
        at += done;
        left -= (size_t)done;
    }
    return size - left;
}

// `into` is where the content of the answer goes, if not to `result`.
Answer exchange(Request& request, const void* data, std::vector<char>* result,
                void* into = nullptr) {
    if (channel < 0) {
        fputs("a process that was forked cannot use the device, which is its parent's: give each "
              "process a run of its own\n", stderr);
        _exit(1);
    }
    std::lock_guard<std::recursive_mutex> hold(lock());
    put(&request, sizeof request);
    if (request.size) put(data, request.size);
    Answer answer;
    get(&answer, sizeof answer);
    if (answer.printed) {
        std::vector<char> text(answer.printed);
        get(text.data(), text.size());
        fwrite(text.data(), 1, text.size(), stdout);
    }
    size_t came = into ? get(into, answer.size) : 0;
    std::vector<char> content(answer.size - came);
    get(content.data(), content.size());
    for (uint64_t k = 0; k < answer.regions / sizeof(Region); ++k) {
        Region region;
        get(&region, sizeof region);
        mprotect((void*)region.address, region.size, (int)region.access);
    }
    for (uint64_t at[2], left = answer.writes; left; left -= sizeof at + at[1]) {
        get(at, sizeof at);
        if (get((void*)at[0], at[1]) < at[1]) lost();
    }
    if (into && !content.empty()) memcpy((char*)into + came, content.data(), content.size());
    if (result) result->swap(content);
    return answer;
}

// A request that nobody is to blame for.
Answer tell(const char* name, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0,
            const void* data = nullptr, size_t size = 0, std::vector<char>* result = nullptr) {
    Request request = {};
    strncpy(request.name, name, sizeof request.name - 1);
    uint64_t values[3] = {a, b, c};
    memcpy(request.values, values, sizeof values);
    request.size = size;
    return exchange(request, data, result);
}

// The line of the program that called, by a number that the other side has given to the frames
// above this library.
int64_t calling_line() {
    static std::map<std::vector<void*>, int64_t>* known = new std::map<std::vector<void*>, int64_t>;
    std::vector<void*> frames(FRAMES);
    frames.resize((size_t)backtrace(frames.data(), FRAMES));
    std::lock_guard<std::recursive_mutex> hold(lock());
    auto [at, added] = known->try_emplace(frames, 0);
    if (added)
        at->second =
            (int64_t)tell("site", 0, 0, 0, frames.data(), frames.size() * sizeof(void*)).value;
    return at->second;
}

// A node of a graph, or of one that is instantiated, that is given its work.
struct Recording {
    const char* name;
    uint64_t target, executable;
    std::vector<cudaGraphNode_t> after;
    uint64_t made = 0;
};
thread_local Recording* recording = nullptr;

struct Ask {
    Request request = {};
    const void* data = nullptr;
    void* into = nullptr;
    std::vector<char> result;

    Ask(const char* name, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0,
        uint64_t e = 0, uint64_t f = 0, uint64_t g = 0, uint64_t h = 0) {
        strncpy(request.name, inside && strcmp(name, "callback_end") ? "inside" : name,
                sizeof request.name - 1);
        request.line = calling_line();
        uint64_t values[8] = {a, b, c, d, e, f, g, h};
        memcpy(request.values, values, sizeof values);
    }
    Ask& with(const void* from, size_t size) {
        data = from;
        request.size = size;
        return *this;
    }
    Answer operator()() {
        if (!recording) return exchange(request, data, &result, into);
        std::vector<char> all;
        auto put_in = [&](const void* from, size_t size) {
            all.insert(all.end(), (const char*)from, (const char*)from + size);
        };
        put_in(recording->after.data(), recording->after.size() * sizeof(cudaGraphNode_t));
        put_in(&request, sizeof request);
        put_in(data, request.size);
        bool adds = !recording->executable && !strcmp(recording->name, "graph_add");
        uint64_t second = adds ? recording->after.size() : recording->executable;
        Request outer = {"", request.line, {recording->target, second, recording->made}, all.size()};
        strncpy(outer.name, recording->name, sizeof outer.name - 1);
        Answer answer = exchange(outer, all.data(), &result);
        recording->made = answer.value;
        answer.value = 0;
        return answer;
    }
    cudaError_t error() { return (cudaError_t)(*this)().error; }
};

// Memory that is not to be touched, and addresses that are none.
void fault(int number, siginfo_t* info, void* context) {
    uint64_t address = (uint64_t)info->si_addr, writes = 2;  // 2: not known, 3: by an atomic operation
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
    if (info->si_code != SI_KERNEL && address != (uint64_t)here) {
        auto* code = (const unsigned char*)here;  // with lock, or xchg, which needs none
        while (*code == 0x66 || (*code & 0xf0) == 0x40) ++code;
        if (*code == 0xf0 || *code == 0x86 || *code == 0x87) writes = 3;
    }
#else
#ifdef __aarch64__
    here = (void*)((ucontext_t*)context)->uc_mcontext.pc;
#endif
    told[count++] = address;
#endif
    int depth = backtrace(frames, 32), first = 0;
    for (int k = 0; k < depth; ++k)
        if (frames[k] == here) first = k;
    int numbers = count;
    // the others are where calls return to, one byte behind the call
    for (int k = first; k < depth; ++k)
        told[count++] = (uint64_t)frames[k] - (frames[k] != here);
    size_t size = (size_t)count * sizeof told[0];
    if (tell("fault", address, writes, (uint64_t)numbers, told, size).value)
        return;  // it may be touched from now on
    fflush(stdout);
    signal(number, SIG_DFL);
}

__attribute__((constructor(101))) void begin() {
    const char* given = getenv("SIMT_CHANNEL");
    if (!given) {
        fputs("start this program with: python -m simt run\n", stderr);
        exit(2);
    }
    channel = atoi(given);
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    unsetenv("SIMT_CHANNEL");
    pthread_atfork(nullptr, nullptr, [] { channel = -1; });
    const char *loaded = getenv("LD_PRELOAD"), *others = loaded ? strchr(loaded, ':') : nullptr;
    others ? setenv("LD_PRELOAD", others + 1, 1) : unsetenv("LD_PRELOAD");  // for its children
    void* frames[2];
    backtrace(frames, 2);  // the first call takes memory, which a handler must not
    struct sigaction action = {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

cudaError_t copy(void* to, const void* from, size_t size, int kind, cudaStream_t stream,
                 bool later) {
    Ask ask("memcpy", (uint64_t)to, (uint64_t)from, size, (uint64_t)kind, (uint64_t)stream, later);
    ask.into = to;
    Answer answer = ask();
    if (answer.value == 2) memmove(to, from, size);  // both are the host's own
    if (answer.value != 1) return (cudaError_t)answer.error;
    return Ask("memcpy", (uint64_t)to, (uint64_t)from, size, (uint64_t)kind, (uint64_t)stream,
               later, 1).with(from, size).error();
}

cudaError_t rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                 size_t height, int kind, cudaStream_t stream, bool later) {
    if (width > to_pitch || width > from_pitch)
        return Ask("bad_pitch", width, to_pitch, from_pitch).error();
    for (size_t row = 0; row < height; ++row) {
        cudaError_t error = copy((char*)to + row * to_pitch, (const char*)from + row * from_pitch,
                                 width, kind, stream, later);
        if (error) return error;
    }
    return cudaSuccess;
}

cudaError_t mapped(const char* name, void** pointer, size_t size) {
    Ask ask(name, size);
    Answer answer = ask();
    *pointer = nullptr;
    if (answer.error) return (cudaError_t)answer.error;
    ask.result.push_back(0);
    int opened = open(ask.result.data(), O_RDWR);
    void* at = mmap((void*)answer.value, size ? size : 1, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED_NOREPLACE, opened, 0);
    close(opened);
    if (at != (void*)answer.value) return cudaErrorMemoryAllocation;
    *pointer = at;
    return cudaSuccess;
}

cudaError_t unmap(const char* name, void* pointer) {
    Answer answer = Ask(name, (uint64_t)pointer)();
    if (answer.value) munmap(pointer, answer.value);
    return (cudaError_t)answer.error;
}

int attribute(int number) { return (int)tell("attribute", (uint64_t)number).value; }

template <typename T>
cudaError_t made(const char* name, T* handle, uint64_t a = 0, uint64_t b = 0) {
    Answer answer = Ask(name, a, b)();
    *handle = (T)answer.value;
    return (cudaError_t)answer.error;
}

uint64_t address_of(const void* symbol, cudaError_t* error) {
    Answer answer = Ask("symbol", (uint64_t)symbol)();
    *error = (cudaError_t)answer.error;
    return answer.value;
}

// --- kernels, by the address of the host's function that stands for each

cudaError_t about_kernel(const char* what, const void* kernel, dim3 grid, dim3 block,
                         size_t shared, cudaStream_t stream, uint64_t last, void** given,
                         uint64_t* value = nullptr, int64_t line = 0) {
    static std::map<const void*, std::vector<char>>* sizes =
        new std::map<const void*, std::vector<char>>;
    std::vector<char> parameters, data;
    {
        std::lock_guard<std::recursive_mutex> hold(lock());
        auto found = sizes->find(kernel);
        if (found == sizes->end()) {
            std::vector<char> each;
            Answer answer = tell("parameters", (uint64_t)kernel, 0, 0, nullptr, 0, &each);
            if (answer.error) return (cudaError_t)answer.error;
            found = sizes->emplace(kernel, each).first;
        }
        parameters = found->second;
    }
    for (size_t k = 0; given && k < parameters.size() / 4; ++k) {
        uint32_t size;
        memcpy(&size, parameters.data() + 4 * k, sizeof size);
        data.insert(data.end(), (char*)&size, (char*)(&size + 1));
        data.insert(data.end(), (char*)given[k], (char*)given[k] + size);
    }
    Ask ask(what, (uint64_t)kernel, grid.x | (uint64_t)grid.y << 32, grid.z,
            block.x | (uint64_t)block.y << 32, block.z, shared, (uint64_t)stream, last);
    if (line) ask.request.line = line;
    Answer answer = ask.with(data.data(), data.size())();
    if (value) *value = answer.value;
    return (cudaError_t)answer.error;
}

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    int64_t line;
};
thread_local std::vector<Configuration>* configurations = nullptr;
thread_local int64_t launch_line = 0;  // of the brackets, until the kernel's function is called

template <typename F>
cudaError_t turn(cudaStream_t stream, F function, void* called = nullptr, void* data = nullptr) {
    Answer answer = Ask("callback", (uint64_t)stream, (uint64_t)called, (uint64_t)data)();
    if (answer.error || answer.value) return (cudaError_t)answer.error;  // it may be captured
    inside = true;
    function();
    inside = false;
    return Ask("callback_end").error();
}

int& priority_of(cudaStream_t stream) {
    static std::map<cudaStream_t, int>* known = new std::map<cudaStream_t, int>;  // never destroyed
    return (*known)[stream];
}

}  // namespace

extern "C" {

// What a function does that this library lacks: the program is told which.
cudaError_t simt_refused(const char* name) {
    recording = nullptr;  // it becomes no node
    return Ask("refused").with(name, strlen(name)).error();
}

// --- what nvcc's code calls

// A wrapper of version 2 has the translation units that the device linker was given.
void** __cudaRegisterFatBinary(void* wrapper) {
    struct {
        int magic, version;
        const char *data, **parts;
    } given;
    memcpy(&given, wrapper, sizeof given);
    const char* alone[] = {given.data, nullptr};
    uint64_t module = 0;
    for (const char** part = given.version == 2 ? given.parts : alone; *part; ++part) {
        uint16_t head;
        uint64_t size;
        memcpy(&head, *part + 6, sizeof head);
        memcpy(&size, *part + 8, sizeof size);
        module = tell("binary", module, 0, 0, *part, head + size).value;
    }
    return (void**)module;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** module, const char* kernel, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
    tell("function", (uint64_t)module, (uint64_t)kernel, 0, name, strlen(name));
}
void __cudaRegisterVar(void** module, char* shadow, char*, const char* name, int, size_t size, int,
                       int) {
    tell("device_variable", (uint64_t)module, (uint64_t)shadow, size, name, strlen(name));
}
void __cudaRegisterManagedVar(void** module, void** shadow, char*, const char* name, int,
                              size_t size, int, int) {
    if (mapped("malloc_managed", shadow, size)) return;
    tell("managed", (uint64_t)module, (uint64_t)*shadow, 0, name, strlen(name));
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
    if (!configurations) configurations = new std::vector<Configuration>;
    configurations->push_back({grid, block, shared, (cudaStream_t)stream, calling_line()});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    Configuration last = configurations->back();
    configurations->pop_back();
    *grid = last.grid, *block = last.block, *shared = last.shared;
    *(cudaStream_t*)stream = last.stream;
    launch_line = last.line;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = (cudaKernel_t)function;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** given,
                               size_t shared, cudaStream_t stream) {
    int64_t line = launch_line;
    launch_line = 0;
    return about_kernel("launch", (const void*)kernel, grid, block, shared, stream, 0, given,
                        nullptr, line);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** given,
                             size_t shared, cudaStream_t stream) {
    return about_kernel("launch", kernel, grid, block, shared, stream, 0, given);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** given,
                                        size_t shared, cudaStream_t stream) {
    return about_kernel("launch", kernel, grid, block, shared, stream, 1, given);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* kernel, void** given) {
    uint64_t together = 0;
    for (unsigned k = 0; k < how->numAttrs; ++k) {
        if (how->attrs[k].id == cudaLaunchAttributeCooperative)
            together = (uint64_t)how->attrs[k].val.cooperative;
        else if (how->attrs[k].id == cudaLaunchAttributeClusterDimension)
            return simt_refused("a launch in clusters of blocks");
    }
    return about_kernel("launch", kernel, how->gridDim, how->blockDim, how->dynamicSmemBytes,
                        how->stream, together, given);
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute which, int value) {
    if (which != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    return about_kernel("limit", kernel, 1, 1, 0, nullptr, (uint64_t)value, nullptr);
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    memset(attributes, 0, sizeof *attributes);
    std::vector<char> content;
    Answer answer = tell("static_shared", (uint64_t)kernel, 0, 0, nullptr, 0, &content);
    if (answer.error) return (cudaError_t)answer.error;
    uint64_t most;
    memcpy(&most, content.data(), sizeof most);
    attributes->sharedSizeBytes = answer.value;
    attributes->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
    attributes->maxDynamicSharedSizeBytes = (int)(most - answer.value);
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 80;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* kernel, int threads, size_t shared, unsigned) {
    uint64_t value = 0;
    cudaError_t error =
        about_kernel("blocks", kernel, 1, (unsigned)threads, shared, nullptr, 0, nullptr, &value);
    *blocks = (int)value;
    return error;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared,
                                                                  0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel,
                                                      int blocks, int threads) {
    int most = 0;
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel, threads, 0);
    if (error || blocks < 1 || blocks > most) return error ? error : cudaErrorInvalidValue;
    cudaFuncAttributes attributes;
    error = cudaFuncGetAttributes(&attributes, kernel);
    int each = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks -
               attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    int limit = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    *bytes = (size_t)(each < limit ? each : limit) - attributes.sharedSizeBytes;
    return error;
}

// --- memory

cudaError_t cudaMalloc(void** pointer, size_t size) { return made("malloc", pointer, size); }
cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
    return made("malloc_async", pointer, size, (uint64_t)stream);
}
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned) {
    return mapped("malloc_managed", pointer, size);
}
cudaError_t cudaMallocHost(void** pointer, size_t size) {
    return mapped("malloc_host", pointer, size);
}
cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned) {
    return mapped("malloc_host", pointer, size);
}
struct Locked {
    size_t size;
    char *at, *device;  // of its first page
};
std::map<char*, Locked>& locked() {
    static std::map<char*, Locked>* pieces = new std::map<char*, Locked>;
    return *pieces;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    std::lock_guard<std::recursive_mutex> hold(lock());
    *device = host;
    for (auto& [start, piece] : locked())
        if (start <= (char*)host && (char*)host < start + piece.size)
            *device = piece.device + ((char*)host - piece.at);
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void*) { return *flags = 0, cudaSuccess; }
cudaError_t cudaFree(void* pointer) { return unmap("free", pointer); }
cudaError_t cudaFreeHost(void* pointer) { return unmap("free_host", pointer); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return Ask("free_async", (uint64_t)pointer, (uint64_t)stream).error();
}
// Memory that is locked stays what it was: a copy from it is staged, one to it waits. If it is to be
// mapped, its pages become those of pinned memory, which has an address of its own for kernels.
cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
    if (!(flags & cudaHostRegisterMapped) || !size) return cudaSuccess;
    std::lock_guard<std::recursive_mutex> hold(lock());
    size_t page = sysconf(_SC_PAGESIZE), before = (uintptr_t)pointer % page;
    size_t whole = (before + size + page - 1) / page * page;
    Locked piece = {size, (char*)pointer - before, nullptr};
    cudaError_t error = mapped("malloc_host", (void**)&piece.device, whole);
    if (error) return error;
    memcpy(piece.device, piece.at, whole);
    mremap(piece.device, 0, whole, MREMAP_MAYMOVE | MREMAP_FIXED, piece.at);  // the same pages
    locked()[(char*)pointer] = piece;
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
    std::lock_guard<std::recursive_mutex> hold(lock());
    auto found = locked().find((char*)pointer);
    if (found == locked().end()) return cudaSuccess;
    char* device = found->second.device;
    locked().erase(found);
    return unmap("free_host", device);
}
cudaError_t cudaMemGetInfo(size_t* unused, size_t* total) {
    *unused = tell("memory", 1).value;
    *total = tell("memory").value;
    return cudaSuccess;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
    return cudaSuccess;
}
#else
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
#endif
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    Answer answer = Ask("pointer", (uint64_t)pointer)();
    void* mine = (void*)pointer;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = (cudaMemoryType)answer.value;
    attributes->device = attributes->type == cudaMemoryTypeUnregistered ? -2 : 0;
    attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? nullptr : mine;
    attributes->devicePointer = attributes->type == cudaMemoryTypeUnregistered ? nullptr : mine;
    return (cudaError_t)answer.error;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
    return copy(to, from, size, kind, nullptr, false);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy(to, from, size, kind, stream, true);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t size) {
    return copy(to, from, size, cudaMemcpyDeviceToDevice, nullptr, false);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size,
                                cudaStream_t stream) {
    return copy(to, from, size, cudaMemcpyDeviceToDevice, stream, true);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    return rows(to, to_pitch, from, from_pitch, width, height, kind, nullptr, false);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return rows(to, to_pitch, from, from_pitch, width, height, kind, stream, true);
}
cudaError_t cudaMemset(void* to, int value, size_t size) {
    return Ask("memset", (uint64_t)to, (uint64_t)value, size).error();
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
    return Ask("memset", (uint64_t)to, (uint64_t)value, size, (uint64_t)stream, 1).error();
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    for (size_t row = 0; row < height; ++row) {
        cudaError_t error = cudaMemsetAsync((char*)to + row * pitch, value, width, stream);
        if (error) return error;
    }
    return cudaSuccess;
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                               cudaMemcpyKind kind) {
    cudaError_t error;
    uint64_t to = address_of(symbol, &error);
    return error ? error : copy((char*)to + offset, from, size, kind, nullptr, false);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    cudaError_t error;
    uint64_t to = address_of(symbol, &error);
    return error ? error : copy((char*)to + offset, from, size, kind, stream, true);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                                 cudaMemcpyKind kind) {
    cudaError_t error;
    uint64_t from = address_of(symbol, &error);
    return error ? error : copy(to, (char*)from + offset, size, kind, nullptr, false);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    cudaError_t error;
    uint64_t from = address_of(symbol, &error);
    return error ? error : copy(to, (char*)from + offset, size, kind, stream, true);
}
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    cudaError_t error;
    *pointer = (void*)address_of(symbol, &error);
    return error;
}
cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
    return made("symbol", size, (uint64_t)symbol, 1);
}

// --- waiting, streams, events

cudaError_t cudaDeviceSynchronize() { return Ask("wait_for_all").error(); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return made("stream", stream, flags);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return made("stream", stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    std::lock_guard<std::recursive_mutex> hold(lock());
    cudaError_t error = made("stream", stream, flags);
    if (!error) priority_of(*stream) = std::max(-5, std::min(priority, 0));
    return error;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    std::lock_guard<std::recursive_mutex> hold(lock());
    return *priority = priority_of(stream), cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return *least = 0, *greatest = -5, cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return *id = (unsigned long long)stream, cudaSuccess;
}
#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { return *device = 0, cudaSuccess; }
#endif
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return Ask("no_stream", (uint64_t)stream).error();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return Ask("synchronize", (uint64_t)stream).error();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return Ask("query", (uint64_t)stream).error(); }
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }
// The host's functions have their turn at once, after all that comes before them.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return turn(stream, [=] { function(data); }, (void*)function, data);
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned) {
    cudaError_t error = turn(stream, [=] { function(stream, cudaSuccess, data); });
    if (error) function(stream, error, data);
    return error;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return made("event", event); }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return made("event", event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return Ask("no_event", (uint64_t)event).error();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return Ask("record", (uint64_t)event, (uint64_t)stream).error();
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return Ask("wait", (uint64_t)event).error();
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return Ask("ask_event", (uint64_t)event).error(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return Ask("wait_event", (uint64_t)event, (uint64_t)stream).error();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    Answer answer = Ask("elapsed", (uint64_t)start, (uint64_t)end)();
    if (!answer.error) *milliseconds = (float)((double)answer.value * 1e-6);
    return (cudaError_t)answer.error;
}

// --- errors

cudaError_t cudaGetLastError() { return (cudaError_t)tell("last_error", 1).error; }
cudaError_t cudaPeekAtLastError() { return (cudaError_t)tell("last_error").error; }
const char* cudaGetErrorName(cudaError_t error) {
    switch ((int)error) {
#define SIMT_ERROR(number, name, text) case number: return #name;
#include "simt_errors.h"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
    switch ((int)error) {
#define SIMT_ERROR(number, name, text) case number: return text;
#include "simt_errors.h"
#undef SIMT_ERROR
    }
    return "unrecognized error code";
}

// --- the device

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return Ask("set_device", (uint64_t)device).error(); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned* flags) { return *flags = 0, cudaSuccess; }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    return *device = 0, cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return *config = cudaFuncCachePreferNone, cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
size_t device_limits[8] = {1024, 1 << 20, 8 << 20, 2, 2048};  // by cudaLimit; none binds here
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    if (limit >= 0 && limit < 8) device_limits[limit] = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return *value = limit >= 0 && limit < 8 ? device_limits[limit] : 0, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned) {
    return Ask("peer", (uint64_t)device).error();
}
cudaError_t cudaDeviceDisablePeerAccess(int device) { return Ask("peer", (uint64_t)device).error(); }
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int device) {
    return *value = 0, Ask("peer", (uint64_t)device).error();
}
cudaError_t cudaDeviceReset() { return Ask("reset").error(); }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr number, int) {
    return *value = attribute(number), cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
    return snprintf(text, (size_t)length, "0000:00:00.0"), cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    cudaError_t error = cudaSetDevice(device);
    if (error) return error;
    cudaDeviceProp& p = *properties;
    memset(&p, 0, sizeof p);
    strcpy(p.name, "SIMT machine");
    p.totalGlobalMem = tell("memory").value;
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
    p.textureAlignment = (size_t)attribute(cudaDevAttrTextureAlignment);
    p.texturePitchAlignment = (size_t)attribute(cudaDevAttrTexturePitchAlignment);
    p.surfaceAlignment = (size_t)attribute(cudaDevAttrSurfaceAlignment);
    p.maxTexture1D = attribute(cudaDevAttrMaxTexture1DWidth);
    for (int k = 0; k < 3; ++k) {
        p.maxTexture3D[k] = attribute(cudaDevAttrMaxTexture3DWidth + k);
        p.maxTexture2DLayered[k] = attribute(cudaDevAttrMaxTexture2DLayeredWidth + k);
        p.maxTexture2DLinear[k] = attribute(cudaDevAttrMaxTexture2DLinearWidth + k);
        p.maxSurface3D[k] = attribute(cudaDevAttrMaxSurface3DWidth + k);
        p.maxSurface2DLayered[k] = attribute(cudaDevAttrMaxSurface2DLayeredWidth + k);
    }
    for (int k = 0; k < 2; ++k) {
        p.maxTexture2D[k] = attribute(cudaDevAttrMaxTexture2DWidth + k);
        p.maxTexture2DGather[k] = attribute(cudaDevAttrMaxTexture2DGatherWidth + k);
        p.maxTexture1DLayered[k] = attribute(cudaDevAttrMaxTexture1DLayeredWidth + k);
        p.maxTextureCubemapLayered[k] = attribute(cudaDevAttrMaxTextureCubemapLayeredWidth + k);
        p.maxSurface2D[k] = attribute(cudaDevAttrMaxSurface2DWidth + k);
        p.maxSurface1DLayered[k] = attribute(cudaDevAttrMaxSurface1DLayeredWidth + k);
        p.maxSurfaceCubemapLayered[k] = attribute(cudaDevAttrMaxSurfaceCubemapLayeredWidth + k);
    }
    p.maxTextureCubemap = attribute(cudaDevAttrMaxTextureCubemapWidth);
    p.maxSurface1D = attribute(cudaDevAttrMaxSurface1DWidth);
    p.maxSurfaceCubemap = attribute(cudaDevAttrMaxSurfaceCubemapWidth);
    p.warpSize = attribute(cudaDevAttrWarpSize);
    p.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
    p.regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
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
    p.asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
    p.streamPrioritiesSupported = attribute(cudaDevAttrStreamPrioritiesSupported);
    p.globalL1CacheSupported = attribute(cudaDevAttrGlobalL1CacheSupported);
    p.localL1CacheSupported = attribute(cudaDevAttrLocalL1CacheSupported);
    p.reservedSharedMemPerBlock = (size_t)attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    p.memoryPoolsSupported = attribute(cudaDevAttrMemoryPoolsSupported);
    p.cooperativeLaunch = attribute(cudaDevAttrCooperativeLaunch);
    return cudaSuccess;
}

}  // extern "C"

#include "simt_arrays.h"
#include "simt_pools.h"
#include "graphs.h"
#include "driver.h"
