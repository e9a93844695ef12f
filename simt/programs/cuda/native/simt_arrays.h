// CUDA arrays, copies of three dimensions, textures and surfaces: a part of cudart.cpp, and
// `arrays.py` answers. The texels of an array lie one after the other, row by row.
#pragma once

namespace {

// A part of an array, or of memory with pitches, for a copy.
struct Part {
    char* at = nullptr;
    size_t row = 0, slice = 0, texel = 1;  // bytes
    cudaError_t error = cudaSuccess;
};

Part part_of(cudaArray_const_t array, bool in_texels, size_t x, size_t y, size_t z, size_t width,
             size_t height, size_t depth) {
    Ask ask("array_part", (uint64_t)array, in_texels, x, y, z, width, height, depth);
    Answer answer = ask();
    Part part;
    part.error = (cudaError_t)answer.error;
    if (part.error) return part;
    uint64_t pitches[3];
    memcpy(pitches, ask.result.data(), sizeof pitches);
    part.at = (char*)answer.value;
    part.texel = pitches[0], part.row = pitches[1], part.slice = pitches[2];
    return part;
}

// Copies slices of rows of bytes, as many at once as lie together.
cudaError_t box(const Part& to, const Part& from, size_t width, size_t height, size_t depth,
                int kind, cudaStream_t stream, bool later) {
    if (to.error || from.error) return to.error ? to.error : from.error;
    if (width == to.row && width == from.row && height) {
        bool together = height * width == to.slice && height * width == from.slice;
        size_t parts = together || depth == 1 ? 1 : depth, size = width * height * depth / parts;
        for (size_t z = 0; z < parts; ++z) {
            cudaError_t error = copy(to.at + z * to.slice, from.at + z * from.slice, size, kind,
                                     stream, later);
            if (error) return error;
        }
        return cudaSuccess;
    }
    for (size_t z = 0; z < depth; ++z) {
        cudaError_t error = rows(to.at + z * to.slice, to.row, from.at + z * from.slice, from.row,
                                 width, height, kind, stream, later);
        if (error) return error;
    }
    return cudaSuccess;
}

Part in_memory(const void* at, size_t row, size_t slice) {
    Part part;
    part.at = (char*)at, part.row = row, part.slice = slice;
    return part;
}

cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                     size_t width, size_t height, int kind, cudaStream_t stream, bool later) {
    Part part = part_of(to, false, x, y, 0, width, height, 1);
    return box(part, in_memory(from, pitch, 0), width, height, 1, kind, stream, later);
}

cudaError_t from_array(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                       size_t width, size_t height, int kind, cudaStream_t stream, bool later) {
    Part part = part_of(from, false, x, y, 0, width, height, 1);
    return box(in_memory(to, pitch, 0), part, width, height, 1, kind, stream, later);
}

// Bytes that run on from row to row.
cudaError_t run_of_array(cudaArray_const_t array, size_t x, size_t y, void* memory, size_t count,
                         bool inward, int kind, cudaStream_t stream, bool later) {
    Part part = part_of(array, false, x, y, 0, 0, 0, 0);
    if (part.error) return part.error;
    return inward ? copy(part.at, memory, count, kind, stream, later)
                  : copy(memory, part.at, count, kind, stream, later);
}

cudaError_t copy_3d(const cudaMemcpy3DParms* p, cudaStream_t stream, bool later) {
    bool texels = p->srcArray || p->dstArray;
    cudaExtent e = p->extent;
    auto part = [=](cudaArray_t array, cudaPos at, cudaPitchedPtr m) {
        if (array) return part_of(array, true, at.x, at.y, at.z, e.width, e.height, e.depth);
        size_t slice = m.pitch * m.ysize;
        return in_memory((char*)m.ptr + at.x + at.y * m.pitch + at.z * slice, m.pitch, slice);
    };
    Part from = part(p->srcArray, p->srcPos, p->srcPtr);
    Part to = part(p->dstArray, p->dstPos, p->dstPtr);
    size_t texel = texels ? (p->srcArray ? from.texel : to.texel) : 1;
    return box(to, from, e.width * texel, e.height, e.depth, p->kind, stream, later);
}

struct ArrayInfo {
    int64_t extent[3], channels[5], flags;
};

cudaError_t info_of(cudaArray_const_t array, ArrayInfo* info) {
    Ask ask("array_info", (uint64_t)array);
    cudaError_t error = ask.error();
    if (!error) memcpy(info, ask.result.data(), sizeof *info);
    return error;
}

void put_channels(int64_t* to, const cudaChannelFormatDesc& d) {
    int64_t each[5] = {d.x, d.y, d.z, d.w, d.f};
    memcpy(to, each, sizeof each);
}

cudaChannelFormatDesc channels_of(const int64_t* c) {
    return {(int)c[0], (int)c[1], (int)c[2], (int)c[3], (cudaChannelFormatKind)c[4]};
}

}  // namespace

extern "C" {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
    return {x, y, z, w, f};
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags) {
    int64_t channels[5];
    put_channels(channels, *format);
    Ask ask("array", extent.width, extent.height, extent.depth, flags);
    Answer answer = ask.with(channels, sizeof channels)();
    *array = (cudaArray_t)answer.value;
    return (cudaError_t)answer.error;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) { return Ask("free_array", (uint64_t)array).error(); }
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
    ArrayInfo info;
    cudaError_t error = info_of(array, &info);
    if (error) return error;
    if (format) *format = channels_of(info.channels);
    if (extent)
        *extent = {(size_t)info.extent[0], (size_t)info.extent[1], (size_t)info.extent[2]};
    if (flags) *flags = (unsigned)info.flags;
    return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
    return cudaArrayGetInfo(format, nullptr, nullptr, (cudaArray_t)array);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* made, cudaExtent extent) {
    made->xsize = extent.width, made->ysize = extent.height;
    return cudaMallocPitch(&made->ptr, &made->pitch, extent.width, extent.height * extent.depth);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent e, cudaStream_t stream) {
    for (size_t z = 0; z < e.depth; ++z) {
        cudaError_t error = cudaMemset2DAsync((char*)to.ptr + z * to.pitch * to.ysize, to.pitch,
                                              value, e.width, e.height, stream);
        if (error) return error;
    }
    return cudaSuccess;
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    return cudaMemset3DAsync(to, value, extent, nullptr);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) { return copy_3d(p, nullptr, false); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    return copy_3d(p, stream, true);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
    return to_array(to, x, y, from, pitch, width, height, kind, nullptr, false);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
    return to_array(to, x, y, from, pitch, width, height, kind, stream, true);
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    return from_array(to, pitch, from, x, y, width, height, kind, nullptr, false);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
    return from_array(to, pitch, from, x, y, width, height, kind, stream, true);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t x, size_t y, cudaArray_const_t from,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
    Part target = part_of(to, false, x, y, 0, width, height, 1);
    Part source = part_of(from, false, from_x, from_y, 0, width, height, 1);
    return box(target, source, width, height, 1, kind, nullptr, false);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                              cudaMemcpyKind kind) {
    return run_of_array(to, x, y, (void*)from, count, true, kind, nullptr, false);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                   size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
    return run_of_array(to, x, y, (void*)from, count, true, kind, stream, true);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                cudaMemcpyKind kind) {
    return run_of_array(from, x, y, to, count, false, kind, nullptr, false);
}
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
    return run_of_array(from, x, y, to, count, false, kind, stream, true);
}

// --- objects

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc* view) {
    if (view || how->sRGB || resource->resType == cudaResourceTypeMipmappedArray)
        return simt_refused("a texture that is mipmapped, sRGB or seen through another format");
    struct {
        int64_t kind, pointer, channels[5], width, height, pitch, modes[3], filtered, floats,
            normalized, border[4];
    } told = {resource->resType};
    if (told.kind == cudaResourceTypeArray) {
        told.pointer = (int64_t)resource->res.array.array;
    } else if (told.kind == cudaResourceTypeLinear) {
        auto& linear = resource->res.linear;
        told.pointer = (int64_t)linear.devPtr, told.width = (int64_t)linear.sizeInBytes;
        put_channels(told.channels, linear.desc);
    } else {
        auto& flat = resource->res.pitch2D;
        told.pointer = (int64_t)flat.devPtr, told.width = (int64_t)flat.width;
        told.height = (int64_t)flat.height, told.pitch = (int64_t)flat.pitchInBytes;
        put_channels(told.channels, flat.desc);
    }
    for (int k = 0; k < 3; ++k) told.modes[k] = how->addressMode[k];
    told.filtered = how->filterMode == cudaFilterModeLinear;
    told.floats = how->readMode == cudaReadModeNormalizedFloat;
    told.normalized = how->normalizedCoords;
    for (int k = 0; k < 4; ++k) memcpy(&told.border[k], &how->borderColor[k], sizeof(float));
    Answer answer = Ask("texture").with(&told, sizeof told)();
    *object = answer.value;
    return (cudaError_t)answer.error;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    return Ask("no_object", object).error();
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
    if (resource->resType != cudaResourceTypeArray)
        return simt_refused("a surface of anything but an array");
    Answer answer = Ask("surface", (uint64_t)resource->res.array.array)();
    *object = answer.value;
    return (cudaError_t)answer.error;
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
    return Ask("no_object", object).error();
}

}  // extern "C"
