"""The last rung: tiles for blocks, warps and threads, and loads that run ahead of the products.

Same signature and promise as in `matmul_ladder`: float32 in C order, `a` (m, n), `b` (n, p),
`c` (m, p), any m, n, p above zero. The scheme is the one that NVIDIA's CUTLASS describes
("CUTLASS: Fast Linear Algebra in CUDA C++", NVIDIA developer blog, 2017).

A block's tile of C is shared out among its warps, and a warp's among its 32 lanes. A thread's
sums come in patches of PATCH × PATCH: a patch for each lane, side by side, then the same again
further down and across. So a thread reads PATCH neighbors at a time from the tile of `b`, and
from that of `a` too, which is stored with its columns as rows. The compiler makes one load of
16 bytes of four neighbors.
"""

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Array
from gpulearn_lessons.matmul.matmul_ladder import multiplies

ROWS, COLUMNS, DEPTH = 128, 128, 8  # of the tile of C that a block computes, and along k
HIGH, WIDE, PATCH = 8, 16, 4  # sums of a thread, as rows × columns, and the side of a patch
LANES_DOWN, LANES_ACROSS = 8, 4  # the lanes of a warp
THREADS = ROWS * COLUMNS // (HIGH * WIDE)  # of a block
A_LOADS, B_LOADS = ROWS * DEPTH // THREADS, COLUMNS * DEPTH // THREADS  # of a thread
# Two tiles of `a` and of `b`, of which one is filled while the other is used. Rows have four words
# more than they need. In the tile of `a` lanes that write down a column meet in no bank that way;
# in that of `b` the compiler of numba-cuda 0.30 would not make one load of four neighbors if a row
# were a power of two.
A_TILES, B_TILES = (2, DEPTH, ROWS + 4), (2, DEPTH, COLUMNS + 4)


@cuda.jit(device=True)
def fill(a: Array, b: Array, k: Any, tile_a: Any, tile_b: Any, buffer: Any) -> None:
    """Write the tiles that begin at k, with zeros for what lies beyond an edge."""
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    zero = np.float32(0)
    for n in range(cuda.threadIdx.x, ROWS * DEPTH, THREADS):
        i, q = top + n // DEPTH, k + n % DEPTH
        inside = i < a.shape[0] and 0 <= q < a.shape[1]
        tile_a[buffer, n % DEPTH, n // DEPTH] = a[i, q] if inside else zero
    for n in range(cuda.threadIdx.x, DEPTH * COLUMNS, THREADS):
        q, j = k + n // COLUMNS, left + n % COLUMNS
        inside = 0 <= q < b.shape[0] and j < b.shape[1]
        tile_b[buffer, n // COLUMNS, n % COLUMNS] = b[q, j] if inside else zero


@cuda.jit(device=True)
def fetch(a: Array, b: Array, k: Any, top: Any, left: Any, next_a: Any, next_b: Any) -> None:
    """Load the tiles that begin at k into registers; they lie wholly inside."""
    t = np.uint32(cuda.threadIdx.x)
    for n in range(A_LOADS):  # eight lanes read a sector, since DEPTH is a multiple of 8
        down, across = n % (8 * ROWS // THREADS), n // (8 * ROWS // THREADS)
        next_a[n] = a[top + t // 8 + down * (THREADS // 8), k + t % 8 + across * 8]
    for n in range(B_LOADS):
        down, across = n // (COLUMNS // 32), n % (COLUMNS // 32)
        next_b[n] = b[k + t // 32 + down * (THREADS // 32), left + t % 32 + across * 32]


@cuda.jit(device=True)
def put(next_a: Any, next_b: Any, tile_a: Any, tile_b: Any, buffer: Any) -> None:
    """Write to shared memory what `fetch` has loaded."""
    t = np.uint32(cuda.threadIdx.x)
    for n in range(A_LOADS):
        down, across = n % (8 * ROWS // THREADS), n // (8 * ROWS // THREADS)
        tile_a[buffer, t % 8 + across * 8, t // 8 + down * (THREADS // 8)] = next_a[n]
    for n in range(B_LOADS):
        down, across = n // (COLUMNS // 32), n % (COLUMNS // 32)
        tile_b[buffer, t // 32 + down * (THREADS // 32), t % 32 + across * 32] = next_b[n]


@cuda.jit(device=True)
def multiply(tile_a: Any, tile_b: Any, buffer: Any, q: Any, y: Any, x: Any, total: Any) -> None:
    """Add the products of one column of the tile of `a` and one row of that of `b`."""
    left_side = cuda.local.array(HIGH, np.float32)
    above = cuda.local.array(WIDE, np.float32)
    for r in range(HIGH):
        left_side[r] = tile_a[buffer, q, y + r % PATCH + r // PATCH * (PATCH * LANES_DOWN)]
    for s in range(WIDE):
        above[s] = tile_b[buffer, q, x + s % PATCH + s // PATCH * (PATCH * LANES_ACROSS)]
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] += left_side[r] * above[s]


@cuda.jit(device=True)
def eight(tile_a: Any, tile_b: Any, buffer: Any, y: Any, x: Any, total: Any) -> None:
    """`multiply` for each of DEPTH, written out: the compiler leaves a loop as long as this one."""
    multiply(tile_a, tile_b, buffer, 0, y, x, total)
    multiply(tile_a, tile_b, buffer, 1, y, x, total)
    multiply(tile_a, tile_b, buffer, 2, y, x, total)
    multiply(tile_a, tile_b, buffer, 3, y, x, total)
    multiply(tile_a, tile_b, buffer, 4, y, x, total)
    multiply(tile_a, tile_b, buffer, 5, y, x, total)
    multiply(tile_a, tile_b, buffer, 6, y, x, total)
    multiply(tile_a, tile_b, buffer, 7, y, x, total)


@cuda.jit(device=True)
def write(c: Array, top: Any, left: Any, total: Any) -> None:
    """Write a thread's sums; its first patch begins at (top, left)."""
    for r in range(HIGH):
        for s in range(WIDE):
            i = top + r % PATCH + r // PATCH * (PATCH * LANES_DOWN)
            j = left + s % PATCH + s // PATCH * (PATCH * LANES_ACROSS)
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@cuda.jit
def matmul_warp_tiles(a: Array, b: Array, c: Array) -> None:
    """C = A·B with tiles for warps, and with the next tile's loads before this tile's products.

    Launch: blocks of THREADS threads, here 128; a grid of ceil(p / COLUMNS) by ceil(m / ROWS)
    blocks.
    Cost: HIGH + WIDE words from shared memory for HIGH · WIDE products, in loads of 16 bytes;
    one barrier for each tile. A block whose tiles lie inside `a` and `b` loads them with no
    guard: where DEPTH does not divide n, the first tile hangs over the front edge, so that
    all the others are whole.

    Unsigned numbers where an index begins, since Numba makes a negative one count from the
    end, and looks at each signed one to know.
    """
    tile_a = cuda.shared.array(A_TILES, np.float32)
    tile_b = cuda.shared.array(B_TILES, np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    next_a = cuda.local.array(A_LOADS, np.float32)
    next_b = cuda.local.array(B_LOADS, np.float32)
    lane, warp = np.uint32(cuda.threadIdx.x) % 32, np.uint32(cuda.threadIdx.x) // 32
    top, left = np.uint32(cuda.blockIdx.y) * ROWS, np.uint32(cuda.blockIdx.x) * COLUMNS
    # a warp's tile has HIGH · LANES_DOWN rows and WIDE · LANES_ACROSS columns
    across = COLUMNS // (WIDE * LANES_ACROSS)
    # lanes n and n ^ 2 stand in one column, as n and n ^ 1 in one row
    down, right = lane // 2 % LANES_DOWN, lane % 2 + lane // (2 * LANES_DOWN) * 2
    y = warp // across * (HIGH * LANES_DOWN) + down * PATCH
    x = warp % across * (WIDE * LANES_ACROSS) + right * PATCH
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = np.float32(0)
    first = (b.shape[0] - 1) % DEPTH + 1 - DEPTH
    buffer = np.uint32(0)
    fill(a, b, first, tile_a, tile_b, buffer)
    cuda.syncthreads()
    if top + ROWS <= c.shape[0] and left + COLUMNS <= c.shape[1]:
        for k in range(first + DEPTH, b.shape[0], DEPTH):
            fetch(a, b, np.uint32(k), top, left, next_a, next_b)
            eight(tile_a, tile_b, buffer, y, x, total)
            buffer = np.uint32(buffer ^ 1)
            put(next_a, next_b, tile_a, tile_b, buffer)
            cuda.syncthreads()
    else:
        for k in range(first + DEPTH, b.shape[0], DEPTH):
            for q in range(DEPTH):
                multiply(tile_a, tile_b, buffer, q, y, x, total)
            buffer = np.uint32(buffer ^ 1)
            fill(a, b, k, tile_a, tile_b, buffer)
            cuda.syncthreads()
    for q in range(DEPTH):
        multiply(tile_a, tile_b, buffer, q, y, x, total)
    write(c, top + y, left + x, total)


MATMUL_WARP_TILES = multiplies(matmul_warp_tiles, (THREADS, 1), COLUMNS, ROWS)
