"""Weigh each pixel's neighbourhood through a tile with a halo: all of the notebook at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.convolution import REACH, SIDE, conv2d_tiled
from gpulearn.kernels.transpose_tiled import TILE

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]
Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers()

FILTER = 2 * REACH + 1

ONCE = (
    "Neighbouring outputs need almost the same pixels: let the block bring each of them to a "
    "shared tile once, the halo too."
)
COALESCED = (
    "Neighbouring lanes differ in threadIdx.x: let it run along the rows of the image, of the "
    "tile and of out."
)
SINGLE = (
    "A sum that starts from 0.0 is a float64: start it from np.float32(0), so that float32 stays "
    "float32."
)
BARRIERS = "One barrier is enough: between filling the tile and reading it."
CONFLICTS = "Let the lanes of a warp read neighbouring words of one row of the tile."


def cases() -> list[Launch]:
    """Images that tiles fill and that they do not, with a filter that has no symmetry."""
    rng = np.random.default_rng(9)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        image = rng.normal(size=(h, w)).astype(np.float32)
        weights = rng.normal(size=(FILTER, FILTER)).astype(np.float32)
        grid = -(-w // TILE) + spare, -(-h // TILE) + spare
        return Launch(
            f"an image of {h} × {w}{more}", (image, weights, np.empty_like(image)),
            grid=grid, block=(TILE, TILE), outputs=(2,), measured=measured,
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72),
        launch(33, 35),
        launch(1, 70),
        launch(20, 30, " and a grid larger than it needs", spare=1),
    ]


def weighed(image: Matrix, weights: Matrix, out: Matrix) -> tuple[Array]:
    """The specification in NumPy."""
    h, w = image.shape
    padded = np.pad(image.astype(np.float64), REACH)
    total = np.zeros((h, w))
    for i in range(FILTER):
        for j in range(FILTER):
            total += weights[i, j] * padded[i : i + h, j : j + w]
    return (total.astype(np.float32),)


def limit(launch: Launch) -> int:
    """Bytes that may move: tiles with halo in, outputs out, a weight per warp and product."""
    blocks = launch.grid[0] * launch.grid[1] if isinstance(launch.grid, tuple) else launch.grid
    # a row of a tile with its halo begins 8 bytes before a sector: 5 sectors, and 2 for the rest
    return 32 * blocks * (SIDE * (5 + 2) + TILE * 4 + TILE * FILTER**2)


# What the answers below share: each says one thing otherwise.


@cuda.jit(device=True)
def fill(tile: Array, image: Matrix, x0: int, y0: int) -> None:
    """Bring a tile and its halo to shared memory, zeros beyond the image."""
    for i in range(cuda.threadIdx.y, SIDE, TILE):
        for j in range(cuda.threadIdx.x, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                tile[i, j] = image[row, column]
            else:
                tile[i, j] = 0


@cuda.jit(device=True)
def weigh(tile: Array, weights: Matrix, out: Matrix, x: int, y: int) -> None:
    """Write one output from the tile."""
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(ONCE)
def no_tile(image: Matrix, weights: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                row, column = y + i - REACH, x + j - REACH
                if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                    total += weights[i, j] * image[row, column]
        out[y, x] = total


@answers.wrong(
    "between the lines that fill the tile and the line that reads it there must be a barrier: a "
    "thread weighs pixels that other threads have loaded."
)
def no_barrier(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "threads that lie outside the image never reach the barrier: let every thread of the block "
    "help to fill the tile and pass the barrier, and guard what comes after it."
)
def early_return(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "a part of the halo is loaded by nobody: a tile with its halo has more rows and more columns "
    "than the block has threads, so that both need a second round."
)
def no_halo(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    own = np.float32(0)
    if y < image.shape[0] and x < image.shape[1]:
        own = image[y, x]
    tile[cuda.threadIdx.y + REACH, cuda.threadIdx.x + REACH] = own
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "the lower part of the halo is never loaded: the rows of the tile need a second round as the "
    "columns do."
)
def rows_once(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    i = cuda.threadIdx.y
    for j in range(cuda.threadIdx.x, SIDE, TILE):
        row, column = y - REACH, cuda.blockIdx.x * TILE + j - REACH
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            tile[i, j] = image[row, column]
        else:
            tile[i, j] = 0
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "cells beyond the image's edges are left as they are: shared memory starts as garbage, so "
    "write a zero there."
)
def edges_left_open(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    for i in range(cuda.threadIdx.y, SIDE, TILE):
        for j in range(cuda.threadIdx.x, SIDE, TILE):
            row = cuda.blockIdx.y * TILE + i - REACH
            column = cuda.blockIdx.x * TILE + j - REACH
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                tile[i, j] = image[row, column]
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "the halo on the left is zero between blocks too: only beyond the image it is zero, so "
    "compare with 0, not with x0."
)
def left_halo_of_zeros(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            inside = 0 <= row < image.shape[0] and x0 <= column < image.shape[1]
            tile[i, j] = image[row, column] if inside else np.float32(0)
    cuda.syncthreads()
    weigh(tile, weights, out, x0 + tx, y0 + ty)


@answers.wrong(
    "the halo on the right is zero between blocks too: only beyond the image it is zero, so "
    "compare with image.shape[1], not with x0 + TILE."
)
def right_halo_of_zeros(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            inside = 0 <= row < image.shape[0] and 0 <= column < min(image.shape[1], x0 + TILE)
            tile[i, j] = image[row, column] if inside else np.float32(0)
    cuda.syncthreads()
    weigh(tile, weights, out, x0 + tx, y0 + ty)


@answers.wrong(
    "the halo above is zero between blocks too: only beyond the image it is zero, so "
    "compare with 0, not with y0."
)
def upper_halo_of_zeros(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            inside = y0 <= row < image.shape[0] and 0 <= column < image.shape[1]
            tile[i, j] = image[row, column] if inside else np.float32(0)
    cuda.syncthreads()
    weigh(tile, weights, out, x0 + tx, y0 + ty)


@answers.wrong(
    "the halo below is zero between blocks too: only beyond the image it is zero, so "
    "compare with image.shape[0], not with y0 + TILE."
)
def lower_halo_of_zeros(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            inside = 0 <= row < min(image.shape[0], y0 + TILE) and 0 <= column < image.shape[1]
            tile[i, j] = image[row, column] if inside else np.float32(0)
    cuda.syncthreads()
    weigh(tile, weights, out, x0 + tx, y0 + ty)


@answers.wrong(
    "an index below zero is not guarded: as in NumPy, image[−1] is the last row. Ask for "
    "0 <= row and 0 <= column as well."
)
def wraps_around(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    for i in range(cuda.threadIdx.y, SIDE, TILE):
        for j in range(cuda.threadIdx.x, SIDE, TILE):
            row = cuda.blockIdx.y * TILE + i - REACH
            column = cuda.blockIdx.x * TILE + j - REACH
            if row < image.shape[0] and column < image.shape[1]:
                tile[i, j] = image[row, column]
            else:
                tile[i, j] = 0
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "the guard of the load takes rows for columns, which is right for square images only: rows "
    "end at image.shape[0], columns at image.shape[1]."
)
def square_only(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    for i in range(cuda.threadIdx.y, SIDE, TILE):
        for j in range(cuda.threadIdx.x, SIDE, TILE):
            row = cuda.blockIdx.y * TILE + i - REACH
            column = cuda.blockIdx.x * TILE + j - REACH
            if 0 <= row < image.shape[1] and 0 <= column < image.shape[0]:
                tile[i, j] = image[row, column]
            else:
                tile[i, j] = 0
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "the store has no guard of its own, or one with <=: threads outside the image must not write."
)
def guard_too_wide(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y <= out.shape[0] and x <= out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(
    "the tile is filled without its shift: cell (0, 0) belongs to the pixel REACH rows above and "
    "REACH columns to the left of the tile."
)
def not_shifted(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE + REACH, cuda.blockIdx.y * TILE + REACH)
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "every block fills its tile from the image's first corner: the block index is missing in "
    "the load."
)
def block_ignored(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, 0, 0)
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)


@answers.wrong(
    "x and y are mixed up in the tile: rows of the tile belong to threadIdx.y, columns to "
    "threadIdx.x."
)
def tile_transposed(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[i, j] * tile[cuda.threadIdx.x + i, cuda.threadIdx.y + j]
        out[y, x] = total


@answers.wrong("the weights are read as weights[j, i]: i counts rows, in the tile and there.")
def weights_transposed(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[j, i] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(
    "the filter is flipped: weights[0, 0] belongs to the neighbour above and to the left, as in "
    "the formula of the task."
)
def flipped(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                weight = weights[FILTER - 1 - i, FILTER - 1 - j]
                total += weight * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(
    "the last row and the last column of the filter are left out: it has 2·REACH + 1 of each."
)
def filter_cut(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(2 * REACH):
            for j in range(2 * REACH):
                total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(
    "the edges repeat the image's first and last pixels: beyond the edges of the image is zero."
)
def clamped(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row = min(max(y0 + i - REACH, 0), image.shape[0] - 1)
            column = min(max(x0 + j - REACH, 0), image.shape[1] - 1)
            tile[i, j] = image[row, column]
    cuda.syncthreads()
    weigh(tile, weights, out, x0 + tx, y0 + ty)


@answers.wrong("every pixel of out is zero: the sums are never stored, or taken over zeros.")
def constant(image: Matrix, weights: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = 0


@answers.wrong(
    "only the 3 × 3 weights in the middle are used: with REACH 2 the filter has 5 × 5, i and j "
    "from 0 to 4."
)
def three_by_three(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(1, FILTER - 1):
            for j in range(1, FILTER - 1):
                total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong("nothing is written: out is left as it was.")
def empty(image: Matrix, weights: Matrix, out: Matrix) -> None:
    pass


@answers.wrong(COALESCED)
def down_the_columns(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.y, cuda.threadIdx.x
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            inside = 0 <= row < image.shape[0] and 0 <= column < image.shape[1]
            tile[i, j] = image[row, column] if inside else np.float32(0)
    cuda.syncthreads()
    if y0 + ty < out.shape[0] and x0 + tx < out.shape[1]:
        total = np.float32(0)
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[i, j] * tile[ty + i, tx + j]
        out[y0 + ty, x0 + tx] = total


@answers.wrong(SINGLE)
def sum_in_float64(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        total = 0.0
        for i in range(FILTER):
            for j in range(FILTER):
                total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
        out[y, x] = total


@answers.wrong(BARRIERS)
def two_barriers(image: Matrix, weights: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    x, y = cuda.grid(2)
    fill(tile, image, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE)
    cuda.syncthreads()
    weigh(tile, weights, out, x, y)
    cuda.syncthreads()


@answers.right
def cells_in_one_line(image: Matrix, weights: Matrix, out: Matrix) -> None:
    """The tile is filled as one long line of cells, whatever the block's shape."""
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    threads = cuda.blockDim.x * cuda.blockDim.y
    left, top = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    number = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    while number < SIDE * SIDE:
        i, j = number // SIDE, number % SIDE
        value = np.float32(0)
        if 0 <= top + i < image.shape[0] and 0 <= left + j < image.shape[1]:
            value = image[top + i, left + j]
        tile[i, j] = value
        number += threads
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    total = weights[0, 0] * tile[cuda.threadIdx.y, cuda.threadIdx.x]
    for k in range(1, FILTER * FILTER):
        i, j = k // FILTER, k % FILTER
        total += weights[i, j] * tile[cuda.threadIdx.y + i, cuda.threadIdx.x + j]
    out[y, x] = total


@answers.right
def zeros_first(image: Matrix, weights: Matrix, out: Matrix) -> None:
    """The same thread writes a zero and then, perhaps, the pixel: no barrier is needed."""
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            tile[i, j] = 0
            row = cuda.blockIdx.y * TILE - REACH + i
            column = cuda.blockIdx.x * TILE - REACH + j
            if row >= 0 and column >= 0 and row < image.shape[0] and column < image.shape[1]:
                tile[i, j] = image[row, column]
    cuda.syncthreads()
    weigh(tile, weights, out, cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty)


EXERCISE = kernel_exercise(
    name="conv2d_tiled",
    notebook="05_shared_memory_and_barriers",
    task="Weigh each pixel's 5 × 5 neighbourhood, with each pixel brought to the block once.",
    reference=conv2d_tiled,
    cases=cases,
    expect=weighed,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(6, advice=COALESCED),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(1, advice=BARRIERS),
        budgets.float64(advice=SINGLE),
    ),
)
