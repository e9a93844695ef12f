"""Answers to the exercises of notebook 09."""

from simt.cpp.source import CppSource


def cpp(name, kernel, text):
    """A name for the test, and the text of a kernel."""
    return CppSource(name, text, kernel)


def launch_by_hand(rows, columns, tile):
    blocks_x, blocks_y = 0, 0
    while blocks_x * tile < columns:
        blocks_x += 1
    while blocks_y * tile < rows:
        blocks_y += 1
    return [blocks_x, blocks_y], [tile, tile], 2 * 4 * tile * tile


def launch_of_whole_threads(rows, columns, tile):
    return (columns, rows), (1, 1), 8 * tile * tile


def launch_without_bytes(rows, columns, tile):
    return (-(-columns // tile), -(-rows // tile)), (tile, tile)


def ptx_by_table(outputs, restrict, suffix):
    kept = {True: 1, False: outputs}[restrict]
    return (kept, outputs, *{"f": (2 * outputs, 0), "": (0, 2 * outputs)}[suffix])


SAXPY = "__global__ void saxpy(float alpha, const float* x, const float* y, float* out, int n)\n"
TRANSPOSE = "__global__ void transpose(const float* image, float* out, int height, int width)\n"
SUM = "__global__ void block_sum(const float* a, float* out, int n)\n"

device_function = cpp(
    "device_function",
    "saxpy",
    """
__device__ float axpy(float a, float x, float y) { return a * x + y; }

"""
    + SAXPY
    + """{
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        out[i] = axpy(alpha, x[i], y[i]);
}""",
)
first_block = cpp(
    "first_block",
    "saxpy",
    SAXPY
    + """{
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = alpha * x[i] + y[i];
}""",
)
by_bytes = cpp(
    "by_bytes",
    "saxpy",
    SAXPY
    + """{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[4 * i] = alpha * x[4 * i] + y[4 * i];
}""",
)
one_long_tile = cpp(
    "one_long_tile",
    "transpose",
    TRANSPOSE
    + """{
    __shared__ float cells[32 * 33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row < height && column < width) cells[threadIdx.y * 33 + threadIdx.x] =
        image[row * width + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    if (row < width && column < height) out[row * height + column] =
        cells[threadIdx.x * 33 + threadIdx.y];
}""",
)
by_two_shuffles = cpp(
    "by_two_shuffles",
    "block_sum",
    SUM
    + """{
    __shared__ float warps[4];
    int i = blockIdx.x * 128 + threadIdx.x;
    float v = 0.0f;
    if (i < n) v = a[i];
    for (int k = 1; k <= 16; k <<= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
}""",
)

RIGHT = {
    "saxpy_cpp": [device_function],
    "launch_configuration": [launch_by_hand],
    "transpose_cpp": [one_long_tile],
    "block_sum_cpp": [by_two_shuffles],
    "read_ptx": [ptx_by_table],
}
WRONG = [
    ("saxpy_cpp", first_block, "so that none does that of others."),
    ("saxpy_cpp", by_bytes, "line 5 (`out[4 * i] = alpha * x[4 * i] + y[4 * i];`)"),
    ("launch_configuration", launch_of_whole_threads, "the grid is (64, 48), expected (4, 3)."),
    ("launch_configuration", launch_without_bytes, "return three values, the grid, the block, the"),
]
