"""Answers to the exercises of notebook 05 by another hand than the catalogue's."""

import numpy as np
from numba import cuda as numba_cuda
from numba import float32

from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.convolution import REACH, SIDE
from gpulearn.kernels.stencil import RADIUS, WINDOW
from gpulearn.kernels.transpose_tiled import PADDED, TILE

sync = cuda.syncthreads
CELLS = TILE * PADDED
HALVES = (64, 32, 16, 8, 4, 2, 1)
WIDE = 40
POWERS = 2 * BLOCK


@cuda.jit(device=True)
def pixel(image, r, c):
    if r < 0 or c < 0 or r >= image.shape[0] or c >= image.shape[1]:
        return np.float32(0)
    return image[r, c]


def reverse_aliases(a):
    row = cuda.shared.array(shape=(BLOCK,), dtype=float32)
    t = cuda.threadIdx.x
    start = BLOCK * cuda.blockIdx.x
    end = min(start + BLOCK, a.size)
    if start + t < end:
        row[t] = a[start + t]
    sync()
    if start + t < end:
        a[end - 1 - t] = row[t]


def reverse_by_registers(a):
    cells = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.x
    length = a.size - start
    if length > BLOCK:
        length = BLOCK
    mine = a[start + t] if t < length else np.float32(0)
    other = length - 1 - t
    if other >= 0:
        cells[other] = mine
    cuda.syncthreads()
    if t < length:
        a[start + t] = cells[t]


def stencil_centre_and_ends(a, out):
    w = cuda.shared.array(WINDOW, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    zero = np.float32(0)
    w[t + RADIUS] = a[i] if i < a.size else zero
    if t < RADIUS:
        w[t] = a[i - RADIUS] if 0 <= i - RADIUS < a.size else zero
    if t >= BLOCK - RADIUS:
        w[t + 2 * RADIUS] = a[i + RADIUS] if i + RADIUS < a.size else zero
    cuda.syncthreads()
    if i >= out.size:
        return
    out[i] = w[t] + w[t + 1] + w[t + 2] + w[t + 3] + w[t + 4] + w[t + 5] + w[t + 6]


def stencil_padding_first(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * BLOCK - RADIUS
    k = t
    while k < WINDOW:
        w[k] = 0
        if base + k >= 0 and base + k < len(a):
            w[k] = a[base + k]
        k += BLOCK
    cuda.syncthreads()
    me = base + RADIUS + t
    s = w[t + RADIUS]
    for d in range(1, RADIUS + 1):
        s += w[t + RADIUS - d] + w[t + RADIUS + d]
    if me < len(out):
        out[me] = s


def turned_by_column_tile(image, out):
    tile = cuda.shared.array((TILE, PADDED), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        tile[x, y] = image[r, c]  # turned on the way in
    cuda.syncthreads()
    c, r = cuda.blockIdx.y * TILE + x, cuda.blockIdx.x * TILE + y
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = tile[y, x]


def turned_flat_tile(image, out):
    tile = cuda.shared.array(CELLS, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    rows, columns = image.shape
    tile[y * PADDED + x] = pixel(image, top + y, left + x)
    cuda.syncthreads()
    if left + y < columns:
        if top + x < rows:
            out[left + y, top + x] = tile[x * PADDED + y]


def turned_rotated(image, out):
    # no padding: each row of the tile is rotated by its number
    tile = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if top + y < image.shape[0] and left + x < image.shape[1]:
        tile[y, (x + y) % TILE] = image[top + y, left + x]
    cuda.syncthreads()
    if left + y < out.shape[0] and top + x < out.shape[1]:
        out[left + y, top + x] = tile[x, (y + x) % TILE]


def sum_by_tuple(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    for half in HALVES:
        cuda.syncthreads()
        if t < half:
            part[t] = part[t] + part[t + half]
    if t < 1:
        out[cuda.blockIdx.x] = part[t]


def sum_first_pair_from_global(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    own = np.float32(0)
    if start + t < a.size:
        own = a[start + t]
    part[t] = own
    s = BLOCK >> 1
    while s:
        cuda.syncthreads()
        if t < s:
            own += part[t + s]
            part[t] = own
        s >>= 1
    if t == 0:
        out[cuda.blockIdx.x] = own


def blur_numbered(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    n = cuda.threadIdx.y * TILE + cuda.threadIdx.x
    top, left = cuda.blockIdx.y * TILE - REACH, cuda.blockIdx.x * TILE - REACH
    while n < SIDE * SIDE:
        tile[n // SIDE, n % SIDE] = pixel(image, top + n // SIDE, left + n % SIDE)
        n += TILE * TILE
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if c >= out.shape[1] or r >= out.shape[0]:
        return
    total = np.float32(0)
    for j in range(weights.shape[1]):
        for i in range(weights.shape[0]):
            total += tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j] * weights[i, j]
    out[r, c] = total


def blur_zero_then_fill(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for dy in range(0, SIDE, TILE):
        for dx in range(0, SIDE, TILE):
            if y + dy < SIDE and x + dx < SIDE:
                r, c = r0 + y + dy, c0 + x + dx
                inside = 0 <= r and 0 <= c and r < image.shape[0] and c < image.shape[1]
                tile[y + dy, x + dx] = image[r, c] if inside else float32(0)
    cuda.syncthreads()
    if r0 + REACH + y < image.shape[0] and c0 + REACH + x < image.shape[1]:
        s = float32(0)
        for k in range(25):
            s += weights[k // 5, k % 5] * tile[y + k // 5, x + k % 5]
        out[r0 + REACH + y, c0 + REACH + x] = s


@numba_cuda.jit
def reverse_numba(a):
    s = numba_cuda.shared.array(shape=BLOCK, dtype=float32)
    t = numba_cuda.threadIdx.x
    start = numba_cuda.blockIdx.x * BLOCK
    n = min(BLOCK, a.size - start)
    if t < n:
        s[t] = a[start + t]
    numba_cuda.syncthreads()
    if t < n:
        a[start + t] = s[n - t - 1]


RIGHT = {
    "reverse_block": (reverse_aliases, reverse_by_registers, reverse_numba),
    "stencil_1d": (stencil_centre_and_ends, stencil_padding_first),
    "transpose_tiled": (turned_by_column_tile, turned_flat_tile, turned_rotated),
    "block_sum": (sum_by_tuple, sum_first_pair_from_global),
    "conv2d_tiled": (blur_numbered, blur_zero_then_fill),
}


def reverse_swap_no_barrier(a):
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length // 2:
        low, high = a[start + t], a[start + length - 1 - t]
        a[start + t], a[start + length - 1 - t] = high, low


def reverse_full_blocks(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < a.size:
        s[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        a[i] = s[BLOCK - 1 - t]


def reverse_barrier_inside(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        s[t] = a[start + t]
        cuda.syncthreads()
        a[start + t] = s[length - 1 - t]


def reverse_whole_vector(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < a.size:
        s[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        a[a.size - 1 - i] = s[t]


def reverse_early_return(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= a.size:
        return
    length = min(BLOCK, a.size - cuda.blockIdx.x * BLOCK)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[length - 1 - t]


def reverse_off_by_one(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        s[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = s[length - t]


def reverse_one_thread(a):
    s = cuda.shared.array(BLOCK, np.float32)
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if cuda.threadIdx.x == 0:
        for k in range(length):
            s[k] = a[start + k]
        for k in range(length):
            a[start + k] = s[length - 1 - k]


def reverse_two_barriers(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    cuda.syncthreads()
    if t < length:
        s[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = s[length - 1 - t]


def reverse_shared_unused(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    value = np.float32(0)
    if t < length:
        s[t] = 0
        value = a[start + length - 1 - t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = value


def stencil_no_shared(a, out):
    i = cuda.grid(1)
    if i < out.size:
        s = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if 0 <= i + k < a.size:
                s += a[i + k]
        out[i] = s


def stencil_radius_two(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WINDOW, BLOCK):
        w[k] = a[base + k] if 0 <= base + k < a.size else np.float32(0)
    cuda.syncthreads()
    if base + RADIUS + t < out.size:
        s = np.float32(0)
        for k in range(1, 2 * RADIUS):
            s += w[t + k]
        out[base + RADIUS + t] = s


def stencil_wraps(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WINDOW, BLOCK):
        w[k] = a[(base + k) % a.size]
    cuda.syncthreads()
    if base + RADIUS + t < out.size:
        s = np.float32(0)
        for k in range(2 * RADIUS + 1):
            s += w[t + k]
        out[base + RADIUS + t] = s


def stencil_edges_repeated(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WINDOW, BLOCK):
        w[k] = a[min(max(base + k, 0), a.size - 1)]
    cuda.syncthreads()
    if base + RADIUS + t < out.size:
        s = np.float32(0)
        for k in range(2 * RADIUS + 1):
            s += w[t + k]
        out[base + RADIUS + t] = s


def stencil_halo_by_thread_zero(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    zero = np.float32(0)
    w[t + RADIUS] = a[i] if i < a.size else zero
    if t == 0:
        for k in range(1, RADIUS + 1):
            w[RADIUS - k] = a[i - k] if i - k >= 0 else zero
            after = i + BLOCK - 1 + k
            w[RADIUS + BLOCK - 1 + k] = a[after] if after < a.size else zero
    if i < out.size:
        s = zero
        for k in range(2 * RADIUS + 1):
            s += w[t + k]
        out[i] = s


def stencil_return_before_barrier(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK - RADIUS
    if base + RADIUS + t >= out.size:
        return
    for k in range(t, WINDOW, BLOCK):
        w[k] = a[base + k] if 0 <= base + k < a.size else np.float32(0)
    cuda.syncthreads()
    s = np.float32(0)
    for k in range(2 * RADIUS + 1):
        s += w[t + k]
    out[base + RADIUS + t] = s


def stencil_mean(a, out):
    w = cuda.shared.array(WINDOW, np.float32)
    t, base = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WINDOW, BLOCK):
        w[k] = a[base + k] if 0 <= base + k < a.size else np.float32(0)
    cuda.syncthreads()
    if base + RADIUS + t < out.size:
        s = np.float32(0)
        for k in range(2 * RADIUS + 1):
            s += w[t + k]
        out[base + RADIUS + t] = s / np.float32(7)


def turned_no_tile(image, out):
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def turned_blocks_stay(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        tile[y, x] = image[r, c]
    cuda.syncthreads()
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = tile[x, y]


def turned_inside_only_blocks(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if r0 + y < image.shape[0] and c0 + x < image.shape[1]:
        tile[y, x] = image[r0 + y, c0 + x]
    cuda.syncthreads()
    if c0 + y < out.shape[0] and r0 + x < out.shape[1]:
        out[c0 + y, r0 + x] = tile[y, x]


def turned_same_guard(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    inside = r0 + y < image.shape[0] and c0 + x < image.shape[1]
    if inside:
        tile[y, x] = image[r0 + y, c0 + x]
    cuda.syncthreads()
    if inside:
        out[c0 + y, r0 + x] = tile[x, y]


def turned_store_strided(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        tile[y, x] = image[r, c]
    cuda.syncthreads()
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = tile[y, x]


def turned_unpadded(image, out):
    tile = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if r0 + y < image.shape[0] and c0 + x < image.shape[1]:
        tile[x, y] = image[r0 + y, c0 + x]
    cuda.syncthreads()
    if c0 + y < out.shape[0] and r0 + x < out.shape[1]:
        out[c0 + y, r0 + x] = tile[y, x]


def turned_barrier_in_guard(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if r0 + y < image.shape[0] and c0 + x < image.shape[1]:
        tile[y, x] = image[r0 + y, c0 + x]
        cuda.syncthreads()
    if c0 + y < out.shape[0] and r0 + x < out.shape[1]:
        out[c0 + y, r0 + x] = tile[x, y]


def sum_wide_shared(a, out):
    part = cuda.shared.array(BLOCK, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    for half in HALVES:
        cuda.syncthreads()
        if t < half:
            part[t] += part[t + half]
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_interleaved(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    step = 1
    while step < BLOCK:
        cuda.syncthreads()
        if t % (2 * step) == 0:
            part[t] += part[t + step]
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_packed(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    step = 1
    while step < BLOCK:
        cuda.syncthreads()
        k = 2 * step * t
        if k < BLOCK:
            part[k] += part[k + step]
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_atomic_shared(a, out):
    part = cuda.shared.array(1, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        part[0] = 0
    cuda.syncthreads()
    if i < a.size:
        cuda.atomic.add(part, 0, a[i])
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_atomic_global(a, out):
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(out, cuda.blockIdx.x, a[i])


def sum_plain_update(a, out):
    part = cuda.shared.array(1, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        part[0] = 0
    cuda.syncthreads()
    if i < a.size:
        part[0] += a[i]
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_from_global_serial(a, out):
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        start = cuda.blockIdx.x * BLOCK
        for i in range(start, min(start + BLOCK, a.size)):
            total += a[i]
        out[cuda.blockIdx.x] = total


def sum_stops_early(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 1:
        cuda.syncthreads()
        if t < half:
            part[t] += part[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_barrier_in_if(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    for half in HALVES:
        if t < half:
            part[t] += part[t + half]
            cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def sum_everybody_writes(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    for half in HALVES:
        cuda.syncthreads()
        if t < half:
            part[t] += part[t + half]
    out[cuda.blockIdx.x] = part[0]


def sum_unloaded_cells(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < a.size:
        part[t] = a[i]
    for half in HALVES:
        cuda.syncthreads()
        if t < half:
            part[t] += part[t + half]
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def blur_straight(image, weights, out):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[i, j] * pixel(image, r + i - 2, c + j - 2)
        out[r, c] = s


def blur_flipped(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            tile[i, j] = pixel(image, r0 + i, c0 + j)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[4 - i, 4 - j] * tile[y + i, x + j]
        out[r, c] = s


def blur_weights_turned(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            tile[i, j] = pixel(image, r0 + i, c0 + j)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[j, i] * tile[y + i, x + j]
        out[r, c] = s


def blur_one_round(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    tile[y, x] = pixel(image, r0 + y, c0 + x)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[i, j] * tile[y + i, x + j]
        out[r, c] = s


def blur_no_barrier(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            tile[i, j] = pixel(image, r0 + i, c0 + j)
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[i, j] * tile[y + i, x + j]
        out[r, c] = s


def blur_corner(image, weights, out):
    # the filter hangs to the right and downwards: the halo is all on one side
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            tile[i, j] = pixel(image, r0 + i, c0 + j)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[i, j] * tile[y + i, x + j]
        out[r, c] = s


def blur_three_by_three(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            tile[i, j] = pixel(image, r0 + i, c0 + j)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(1, 4):
            for j in range(1, 4):
                s += weights[i, j] * tile[y + i, x + j]
        out[r, c] = s


def blur_negative_wraps(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for i in range(y, SIDE, TILE):
        for j in range(x, SIDE, TILE):
            r, c = r0 + i, c0 + j
            ok = r < image.shape[0] and c < image.shape[1]
            tile[i, j] = image[r, c] if ok else np.float32(0)
    cuda.syncthreads()
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        s = np.float32(0)
        for i in range(5):
            for j in range(5):
                s += weights[i, j] * tile[y + i, x + j]
        out[r, c] = s


WRONG = [
    (name, answer, "")
    for name, answers in {
        "reverse_block": (
            reverse_swap_no_barrier,
            reverse_full_blocks,
            reverse_barrier_inside,
            reverse_whole_vector,
            reverse_early_return,
            reverse_off_by_one,
            reverse_one_thread,
            reverse_two_barriers,
            reverse_shared_unused,
        ),
        "stencil_1d": (
            stencil_no_shared,
            stencil_radius_two,
            stencil_wraps,
            stencil_edges_repeated,
            stencil_halo_by_thread_zero,
            stencil_return_before_barrier,
            stencil_mean,
        ),
        "transpose_tiled": (
            turned_no_tile,
            turned_blocks_stay,
            turned_inside_only_blocks,
            turned_same_guard,
            turned_store_strided,
            turned_unpadded,
            turned_barrier_in_guard,
        ),
        "block_sum": (
            sum_wide_shared,
            sum_interleaved,
            sum_packed,
            sum_atomic_shared,
            sum_atomic_global,
            sum_plain_update,
            sum_from_global_serial,
            sum_stops_early,
            sum_barrier_in_if,
            sum_everybody_writes,
            sum_unloaded_cells,
        ),
        "conv2d_tiled": (
            blur_straight,
            blur_flipped,
            blur_weights_turned,
            blur_one_round,
            blur_no_barrier,
            blur_corner,
            blur_three_by_three,
            blur_negative_wraps,
        ),
    }.items()
    for answer in answers
]
