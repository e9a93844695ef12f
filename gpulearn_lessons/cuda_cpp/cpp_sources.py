"""Kernels of the course in CUDA C++: the same work as their twins in Numba.

Their arguments are those of the twin, then the sizes that a pointer does not know.
"""

from simt.cpp.source import CppSource

# the twin of `saxpy_grid_stride`
SAXPY_CPP = CppSource(
    "saxpy_cpp",
    r"""
__global__ void saxpy(float alpha, const float* x, const float* y, float* out, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;
    for (int i = first; i < n; i += step) {
        out[i] = alpha * x[i] + y[i];
    }
}
""",
    "saxpy",
)

# the twin of `transpose_tiled`; blocks of TILE × TILE threads
TRANSPOSE_CPP = CppSource(
    "transpose_cpp",
    r"""
const int TILE = 32;

__global__ void transpose(const float* image, float* out, int height, int width)
{
    __shared__ float tile[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    if (y0 + ty < height && x0 + tx < width) {
        tile[ty][tx] = image[(y0 + ty) * width + x0 + tx];
    }
    __syncthreads();
    if (x0 + ty < width && y0 + tx < height) {
        out[(x0 + ty) * height + y0 + tx] = tile[tx][ty];
    }
}
""",
    "transpose",
)

# the twin of `block_sum`; a block is 4 warps, and each sums its values by shuffles
BLOCK_SUM_CPP = CppSource(
    "block_sum_cpp",
    r"""
__global__ void block_sum(const float* a, float* out, int n)
{
    __shared__ float sums[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int i = blockIdx.x * blockDim.x + t;
    float sum = i < n ? a[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
    if (lane == 0) {
        sums[warp] = sum;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) {
            sum += sums[w];
        }
        out[blockIdx.x] = sum;
    }
}
""",
    "block_sum",
)
