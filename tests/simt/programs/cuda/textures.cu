// Textures and surfaces: `fetch` reads texels and coordinates from a file and writes what it gets
// to another; every other name that may come first is a function that prints.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
#include "check.h"

// --- fetches

enum Geometry { LINEAR, ONE, TWO, THREE, LAYERED_ONE, LAYERED_TWO, CUBE, LAYERED_CUBE, GATHER };

// One fetch at each place: x, y, z and a layer.
template <typename T>
__global__ void fetch(cudaTextureObject_t t, int geometry, const float4* places, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 p = places[i];
    int layer = (int)p.w;
    switch (geometry) {
        case LINEAR: out[i] = tex1Dfetch<T>(t, (int)p.x); break;
        case ONE: out[i] = tex1D<T>(t, p.x); break;
        case TWO: out[i] = tex2D<T>(t, p.x, p.y); break;
        case THREE: out[i] = tex3D<T>(t, p.x, p.y, p.z); break;
        case LAYERED_ONE: out[i] = tex1DLayered<T>(t, p.x, layer); break;
        case LAYERED_TWO: out[i] = tex2DLayered<T>(t, p.x, p.y, layer); break;
        case CUBE: out[i] = texCubemap<T>(t, p.x, p.y, p.z); break;
        case LAYERED_CUBE: out[i] = texCubemapLayered<T>(t, p.x, p.y, p.z, layer); break;
    }
}

__global__ void gather(cudaTextureObject_t t, const float4* places, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2Dgather<float4>(t, places[i].x, places[i].y, 1);
}

template <typename Texel, typename T>
void carry_out(FILE* in, FILE* out, const int* told) {
    int geometry = told[0], width = told[1], height = told[2], depth = told[3], n = told[8];
    size_t count = (size_t)width * (height ? height : 1) * (depth ? depth : 1);
    std::vector<Texel> texels(count);
    std::vector<float4> places(n);
    if (fread(texels.data(), sizeof(Texel), count, in) != count) exit(9);
    if (fread(places.data(), sizeof(float4), n, in) != (size_t)n) exit(9);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<Texel>();
    cudaResourceDesc resource = {};
    cudaArray_t array = nullptr;
    void* memory = nullptr;
    if (geometry == LINEAR) {
        CHECK(cudaMalloc(&memory, count * sizeof(Texel)));
        CHECK(cudaMemcpy(memory, texels.data(), count * sizeof(Texel), cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear = {memory, format, count * sizeof(Texel)};
    } else if (geometry == TWO && told[9]) {
        size_t pitch;
        CHECK(cudaMallocPitch(&memory, &pitch, width * sizeof(Texel), height));
        CHECK(cudaMemcpy2D(memory, pitch, texels.data(), width * sizeof(Texel),
                           width * sizeof(Texel), height, cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D.devPtr = memory;
        resource.res.pitch2D.desc = format;
        resource.res.pitch2D.width = width, resource.res.pitch2D.height = height;
        resource.res.pitch2D.pitchInBytes = pitch;
    } else {
        unsigned flags = geometry == LAYERED_ONE || geometry == LAYERED_TWO ? cudaArrayLayered
                         : geometry == CUBE ? cudaArrayCubemap
                         : geometry == LAYERED_CUBE ? cudaArrayCubemap | cudaArrayLayered
                         : geometry == GATHER ? cudaArrayTextureGather : 0;
        CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(texels.data(), width * sizeof(Texel), width,
                                          height ? height : 1);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    cudaTextureDesc how = {};
    for (int k = 0; k < 3; ++k) how.addressMode[k] = (cudaTextureAddressMode)told[4];
    how.filterMode = (cudaTextureFilterMode)told[5];
    how.readMode = (cudaTextureReadMode)told[6];
    how.normalizedCoords = told[7];
    how.borderColor[0] = 0.5f, how.borderColor[1] = 2;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    float4* device_places;
    T* result;
    CHECK(cudaMalloc(&device_places, n * sizeof(float4)));
    CHECK(cudaMalloc(&result, n * sizeof(float4)));
    CHECK(cudaMemcpy(device_places, places.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    if (geometry == GATHER)
        gather<<<(n + 63) / 64, 64>>>(texture, device_places, (float4*)result, n);
    else
        fetch<T><<<(n + 63) / 64, 64>>>(texture, geometry, device_places, result, n);
    std::vector<float4> host(n);
    size_t size = geometry == GATHER ? sizeof(float4) : sizeof(T);
    CHECK(cudaMemcpy(host.data(), result, n * size, cudaMemcpyDeviceToHost));
    fwrite(host.data(), size, n, out);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(result));
    CHECK(cudaFree(device_places));
    CHECK(cudaFree(memory));
    CHECK(cudaFreeArray(array));
}

// format, then geometry, width, height, depth, address mode, filter, read mode, normalized,
// the number of places, whether in pitched memory
int fetch_file(char** words) {
    FILE *in = fopen(words[0], "rb"), *out = fopen(words[1], "wb");
    const std::string format = words[2];
    int told[10];
    for (int k = 0; k < 10; ++k) told[k] = atoi(words[3 + k]);
    bool real = told[6] == cudaReadModeNormalizedFloat;
    if (format == "float") carry_out<float, float>(in, out, told);
    if (format == "float4") carry_out<float4, float4>(in, out, told);
    if (format == "uchar4" && real) carry_out<uchar4, float4>(in, out, told);
    if (format == "short2" && real) carry_out<short2, float2>(in, out, told);
    if (format == "short2" && !real) carry_out<short2, short2>(in, out, told);
    if (format == "uint") carry_out<unsigned, unsigned>(in, out, told);
    fclose(in);
    fclose(out);
    return 0;
}

// --- surfaces, and what goes wrong

const int width = 8, height = 6;

static void say(const char* what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

struct Image {
    cudaArray_t array;
    cudaSurfaceObject_t surface;
    cudaTextureObject_t texture;

    explicit Image(bool filled = true, cudaExtent extent = {width, height, 0}, unsigned flags = 0) {
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore);  // [array]
        if (filled) {
            std::vector<float> host(width * height);
            for (int i = 0; i < width * height; ++i) host[i] = (float)i;
            cudaMemcpy2DToArray(array, 0, 0, host.data(), width * 4, width * 4, height,
                                cudaMemcpyHostToDevice);
        }
        cudaResourceDesc resource = {};
        resource.res.array.array = array;
        cudaCreateSurfaceObject(&surface, &resource);
        cudaTextureDesc how = {};
        cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    }
    ~Image() {
        cudaDestroySurfaceObject(surface);
        cudaDestroyTextureObject(texture);
        cudaFreeArray(array);
    }
};

__global__ void transposes(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = threadIdx.y;
    float value = surf2Dread<float>(from, 4 * x, y);
    surf2Dwrite(value, to, 4 * (x * height + y) % (4 * width), (x * height + y) / width);
}

__global__ void edges(cudaSurfaceObject_t s, float* out) {
    out[0] = surf2Dread<float>(s, 4 * width, 1, cudaBoundaryModeClamp);
    out[1] = surf2Dread<float>(s, -4, -1, cudaBoundaryModeClamp);
    out[2] = surf2Dread<float>(s, 4 * width, 1, cudaBoundaryModeZero);
    surf2Dwrite(9.f, s, 0, height, cudaBoundaryModeZero);
    surf2Dwrite(7.f, s, 0, height, cudaBoundaryModeClamp);
    out[3] = surf2Dread<float>(s, 0, height - 1);
    uchar4 bytes = surf2Dread<uchar4>(s, 4, 0);  // of 1.0f
    out[4] = bytes.w;
}

int surfaces() {
    Image a, b(false);
    float host[width * height], *out;
    transposes<<<1, dim3(width, height)>>>(a.surface, b.surface);
    cudaMemcpy2DFromArray(host, width * 4, b.array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < width * height; ++i) wrong += host[i] != i % height * width + i / height;
    cudaMalloc(&out, 5 * sizeof(float));
    edges<<<1, 1>>>(a.surface, out);
    cudaMemcpy(host, out, 5 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%d wrong: %g %g %g %g %g\n", wrong, host[0], host[1], host[2], host[3], host[4]);
    cudaFree(out);
    return 0;
}

__global__ void fills(cudaSurfaceObject_t s) {
    surf3Dwrite(1.f * blockIdx.x, s, 4 * threadIdx.x, threadIdx.y, blockIdx.x);
}

__global__ void doubles(cudaSurfaceObject_t s) {
    float value = surf2DLayeredread<float>(s, 4 * threadIdx.x, threadIdx.y, blockIdx.x);
    surf2DLayeredwrite(2 * value + threadIdx.x, s, 4 * threadIdx.x, threadIdx.y, blockIdx.x);
}

int volumes() {
    Image cube(false, {width, height, 3}), layers(false, {width, height, 3}, cudaArrayLayered);
    fills<<<3, dim3(width, height)>>>(cube.surface);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = cube.array, copy.dstArray = layers.array;
    copy.extent = {width, height, 3}, copy.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3D(&copy);
    doubles<<<3, dim3(width, height)>>>(layers.surface);
    float host[2][2][3];  // of layers 1 and 2: two rows of three from (5, 4) on
    cudaMemcpy3DParms back = {};
    back.srcArray = layers.array, back.srcPos = {5, 4, 1};
    back.dstPtr = make_cudaPitchedPtr(host, sizeof host[0][0], 3, 2);
    back.extent = {3, 2, 2}, back.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&back);
    cudaExtent extent;
    unsigned flags;
    cudaArrayGetInfo(nullptr, &extent, &flags, layers.array);
    printf("%g %g %g %g, %zu x %zu x %zu, %u\n", host[0][0][0], host[0][1][2], host[1][0][0],
           host[1][1][2], extent.width, extent.height, extent.depth, flags);
    return 0;
}

__global__ void numbers(cudaSurfaceObject_t s) {
    surf2Dwrite(1.f, s, 4 * threadIdx.x, threadIdx.y);  // [outside]
}

int outside() {
    Image image;
    numbers<<<1, dim3(width, height + 1)>>>(image.surface);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

__global__ void in_texels(cudaSurfaceObject_t s) {
    surf2Dwrite(1.f, s, threadIdx.x, threadIdx.y);  // [x in texels]
}

int askew() {
    Image image;
    in_texels<<<1, dim3(width, height)>>>(image.surface);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

__global__ void reads(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 2);  // [reads]
}

__global__ void reads_again(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 2);  // [reads again]
}

int unset() {
    Image image(false);
    float* out;
    cudaMalloc(&out, 4 * width);
    reads<<<1, width>>>(image.texture, out);
    say("wait", cudaDeviceSynchronize());
    cudaFree(out);
    return 0;
}

int freed() {
    Image image;
    float* out;
    cudaMalloc(&out, 4 * width);
    cudaFreeArray(image.array);  // [freed]
    reads_again<<<1, width>>>(image.texture, out);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

__global__ void both(cudaTextureObject_t t, cudaSurfaceObject_t s, float* out) {
    surf2Dwrite(1.f, s, 4 * threadIdx.x, 0);  // [stored]
    out[threadIdx.x] = tex2D<float>(t, width - 1 - threadIdx.x, 0);  // [fetched]
}

int race() {
    Image image;
    float* out;
    cudaMalloc(&out, 4 * width);
    both<<<1, width>>>(image.texture, image.surface, out);
    say("wait", cudaDeviceSynchronize());
    cudaFree(out);
    return 0;
}

int streams() {
    Image image;
    cudaStream_t one, two;
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    float* out;
    cudaMalloc(&out, 4 * width);
    in_texels<<<1, 1, 0, one>>>(image.surface);
    reads<<<1, width, 0, two>>>(image.texture, out);  // reads another row
    in_texels<<<1, dim3(1, 3), 0, one>>>(image.surface);  // [other stream]
    say("wait", cudaDeviceSynchronize());
    cudaFree(out);
    return 0;
}

__global__ void choose(const cudaTextureObject_t* objects, float* out) {
    out[threadIdx.x] = tex2D<float>(objects[threadIdx.x % 2], threadIdx.x, 1);  // [chosen]
}

// Objects that lie in memory, and copies between arrays.
int bindless() {
    Image a, b(false);
    float host[width];
    cudaMemcpy2DArrayToArray(b.array, 0, 1, a.array, 0, 3, 4 * width, 2);
    cudaTextureObject_t objects[] = {a.texture, b.texture}, *memory;
    float* out;
    cudaMalloc(&memory, sizeof objects);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(memory, objects, sizeof objects, cudaMemcpyHostToDevice);
    choose<<<1, width>>>(memory, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (float x : host) printf("%g ", x);
    cudaMemcpyToArray(b.array, 16, 0, host, 32, cudaMemcpyHostToDevice);  // half a row, then another
    float back[2] = {};
    cudaMemcpyFromArray(back, b.array, 28, 0, 8, cudaMemcpyDeviceToHost);
    printf("%g %g\n", back[0], back[1]);
    objects[1] = a.surface;
    cudaMemcpy(memory, objects, sizeof objects, cudaMemcpyHostToDevice);
    choose<<<1, width>>>(memory, out);
    say("wait", cudaDeviceSynchronize());
    return 0;
}

int calls() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    say("odd", cudaMallocArray(&array, &format, 0, 3));  // [no width]
    cudaChannelFormatDesc strange = {24, 0, 0, 0, cudaChannelFormatKindUnsigned};
    say("odd", cudaMallocArray(&array, &strange, 3, 3));  // [format]
    cudaMallocArray(&array, &format, 16, 16);
    cudaResourceDesc resource = {};
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    say("filter", cudaCreateTextureObject(&texture, &resource, &how, nullptr));  // [filter]
    say("surface", cudaCreateSurfaceObject(&surface, &resource));  // [surface]
    char host[65] = {};
    say("copy", cudaMemcpy((void*)array, host, 64, cudaMemcpyHostToDevice));  // [pointer]
    say("row", cudaMemcpy2DToArray(array, 8, 0, host, 64, 64, 1, cudaMemcpyHostToDevice));  // [row]
    char* memory;
    cudaMalloc(&memory, 4096);
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {memory + 4, format, 16, 16, 64};
    how.filterMode = cudaFilterModePoint;
    say("askew", cudaCreateTextureObject(&texture, &resource, &how, nullptr));  // [alignment]
    resource.res.pitch2D = {memory, format, 16, 65, 64};
    say("large", cudaCreateTextureObject(&texture, &resource, &how, nullptr));  // [too large]
    say("free", cudaFree(array));  // [cudaFree]
    say("free", cudaFreeArray(array));
    say("again", cudaFreeArray(array));  // [again]
    say("destroy", cudaDestroyTextureObject(5));  // [object]
    cudaFree(memory);
    return 0;
}

int main(int argc, char** argv) {
    if (std::string(argv[1]) == "fetch") return fetch_file(argv + 2);
    std::map<std::string, int (*)()> all{
#define ONE(name) {#name, name}
        ONE(surfaces), ONE(volumes), ONE(outside), ONE(askew), ONE(unset), ONE(freed), ONE(race),
        ONE(streams), ONE(bindless), ONE(calls),
    };
    return all.at(argv[1])();
}
