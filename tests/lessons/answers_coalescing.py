"""Answers to the exercises of notebook 04 by another hand than the catalogue's."""

from gpulearn import cuda


def copy_warp_by_warp(source, target):
    # each warp has a run of its own; its lanes stay side by side in it
    warps = cuda.gridsize(1) // 32
    warp, lane = cuda.grid(1) // 32, cuda.grid(1) % 32
    each = (source.size // warps + 32) // 32 * 32
    i = warp * each + lane
    while i < (warp + 1) * each:
        if i < source.size:
            target[i] = source[i]
        i += 32


def copy_even_stride(source, target):
    # pairs of threads share a number
    for i in range(cuda.grid(1) * 2, source.size, cuda.gridsize(1) * 2):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


def transpose_x_block_only(image, out):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    r = cuda.threadIdx.y
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def sectors_of_one_row(start, step_x, step_y, block_x):
    return len({(start + lane * step_x) // 32 for lane in range(min(32, block_x))})


def stretch_first_factor_late(points, factors, out):
    for k in range(cuda.grid(1), points.size, cuda.gridsize(1)):
        out[k // 3, k % 3] = factors[cuda.grid(1) % 3] * points[k // 3, k % 3]


def stretch_one_block(points, factors, out):
    if cuda.blockIdx.x == 0:
        for k in range(cuda.threadIdx.x, points.size, cuda.blockDim.x):
            out[k // 3, k % 3] = factors[k % 3] * points[k // 3, k % 3]


WRONG = [
    ("copy_coalesced", copy_warp_by_warp, "for 90 elements, 1 × 20 threads"),
    ("sectors_of_a_warp", sectors_of_one_row, "it returns 2, expected 4"),
    ("stretch_points", stretch_first_factor_late, "elements of out differ"),
    ("stretch_points", stretch_one_block, "compute its own share from its number."),
    ("copy_coalesced", copy_even_stride, "neighboring lanes are 8 bytes apart"),
    ("transpose_naive", transpose_x_block_only, "only the first 8 columns of out are written"),
]
