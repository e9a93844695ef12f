// Memory pools: a part of cudart.cpp, and `pools.py` answers.
#pragma once

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { return made("pool", pool, 0); }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) { return made("pool", pool, 1); }
#if CUDART_VERSION >= 13000
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* where,
                                     cudaMemAllocationType) {
    if (where->type != cudaMemLocationTypeDevice)
        return simt_refused("a memory pool that is not the device's");
    return cudaDeviceGetDefaultMemPool(pool, 0);
}
#endif
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t pool) {
    return Ask("use_pool", (uint64_t)pool).error();
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* wanted) {
    if (wanted->handleTypes != cudaMemHandleTypeNone ||
        wanted->location.type != cudaMemLocationTypeDevice)
        return simt_refused("a memory pool that other processes reach or that is not the device's");
#if CUDART_VERSION >= 12020
    return made("pool", pool, 2, wanted->maxSize);
#else
    return made("pool", pool, 2);
#endif
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return Ask("no_pool", (uint64_t)pool).error();
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t size) {
    return Ask("trim_pool", (uint64_t)pool, size).error();
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
    bool wide = which >= cudaMemPoolAttrReleaseThreshold;
    uint64_t number = wide ? *(uint64_t*)value : (uint64_t)*(int*)value;
    return Ask("set_pool", (uint64_t)pool, which, number).error();
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
    Answer answer = Ask("ask_pool", (uint64_t)pool, which)();
    if (answer.error) return (cudaError_t)answer.error;
    if (which >= cudaMemPoolAttrReleaseThreshold) *(uint64_t*)value = answer.value;
    else *(int*)value = (int)answer.value;
    return cudaSuccess;
}
// There is one device, which reaches its pools.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t, cudaMemLocation*) {
    return *flags = cudaMemAccessFlagsProtReadWrite, cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream) {
    Answer answer = Ask("malloc_async", size, (uint64_t)stream, (uint64_t)pool)();
    *pointer = (void*)answer.value;
    return (cudaError_t)answer.error;
}

}  // extern "C"
