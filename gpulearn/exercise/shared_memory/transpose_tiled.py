"""Transpose a picture of any size through a tile: coalesced on both sides, no bank conflict."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.transpose_tiled import PADDED, TILE, transpose_tiled

__all__ = ["EXERCISE"]

Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers()

WIDER, CELLS = TILE + 3, TILE * TILE  # of tiles in right answers

COALESCED = (
    "Neighbouring lanes differ in threadIdx.x: let it run along a row of the image in the load "
    "and along a row of out in the store, and turn the picture in the tile between them."
)
PADDING = (
    "Words that lie 32 words apart share a bank. Give the tile's rows one float more than they "
    "need: (TILE, PADDED)."
)
ALONE = "Let each thread load one element and store one, so that a warp moves 32 at once."
BARRIERS = "One barrier is enough: between filling the tile and reading it."


def cases() -> list[Launch]:
    """Pictures that tiles fill, that they do not fill, and a grid that is too large."""
    rng = np.random.default_rng(6)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        args = rng.normal(size=(h, w)).astype(np.float32), np.empty((w, h), np.float32)
        grid = -(-w // TILE) + spare, -(-h // TILE) + spare
        label = f"an image of {h} × {w}{more}"
        return Launch(
            label, args, grid=grid, block=(TILE, TILE), outputs=(1,), measured=measured
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72, measured=True),
        launch(33, 97),
        launch(1, 70),
        launch(50, 20, " and a grid larger than it needs", spare=1),
    ]


def requests(launch: Launch) -> int:
    """Loads and stores of warps: one of each for each row of a tile, and as many again."""
    blocks = launch.grid[0] * launch.grid[1] if isinstance(launch.grid, tuple) else launch.grid
    return 2 * 2 * TILE * blocks


def transposed(image: Matrix, out: Matrix) -> tuple[Matrix]:
    """The specification in NumPy."""
    return (image.T,)


@answers.wrong(
    "between the line that fills the tile and the line that reads it there must be a barrier: "
    "what a thread reads, another thread has loaded."
)
def no_barrier(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "threads that lie outside the image never reach the barrier, and the others wait for them: "
    "guard the load and the store, each for itself, and leave the barrier unguarded."
)
def barrier_in_guard(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
        cuda.syncthreads()
        if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
            out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "each tile is turned, but stands in the wrong place: in out, rows begin at the block's x "
    "and columns at its y."
)
def tiles_stay(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if y0 + ty < out.shape[0] and x0 + tx < out.shape[1]:
        out[y0 + ty, x0 + tx] = tile[tx, ty]


@answers.wrong(
    "the tiles stand in the right places, but inside them nothing is turned: tx and ty must "
    "change places once, between the line that fills the tile and the line that reads it."
)
def inside_stays(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[ty, tx]


@answers.wrong(
    "the output is the input: neither the tiles nor what is in them is turned, or both are "
    "turned twice, which undoes it."
)
def copies(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if y0 + ty < out.shape[0] and x0 + tx < out.shape[1]:
        out[y0 + ty, x0 + tx] = tile[ty, tx]


@answers.wrong(COALESCED)
def no_tile(image: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        out[x, y] = image[y, x]


@answers.wrong(COALESCED)
def threads_swapped(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.y, cuda.threadIdx.x
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(ALONE)
def one_thread_stores(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if tx == 0 and ty == 0:
        for i in range(x0, min(x0 + TILE, out.shape[0])):
            for j in range(y0, min(y0 + TILE, out.shape[1])):
                out[i, j] = tile[j - y0, i - x0]


@answers.wrong(PADDING)
def no_padding(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "the store has no guard of its own, or one that asks for the image's sizes, which is right "
    "for square images only: check the two indices that the store uses against out.shape."
)
def square_only(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < image.shape[0] and y0 + tx < image.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "a guard with <= lets one row and one column too many through: the last index is one less "
    "than the size."
)
def guard_too_wide(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty <= image.shape[0] and x0 + tx <= image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty <= out.shape[0] and y0 + tx <= out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "right only where tiles fill the image: there is no guard, so that threads outside read "
    "past its end."
)
def no_guard(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong("every block turns the first tile: the block index is never used.")
def block_ignored(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if ty < image.shape[0] and tx < image.shape[1]:
        tile[ty, tx] = image[ty, tx]
    cuda.syncthreads()
    if ty < out.shape[0] and tx < out.shape[1]:
        out[ty, tx] = tile[tx, ty]


@answers.wrong(
    "the block's x and y are mixed up: x counts tiles along a row, so x0 belongs to the "
    "columns of the image."
)
def block_swapped(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.wrong(
    "every element of out is zero: the tile is filled, but never written to out, or filled with "
    "zeros."
)
def constant(image: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[x, y] = 0


@answers.wrong("nothing is written: out is left as it was.")
def empty(image: Matrix, out: Matrix) -> None:
    pass


@answers.wrong(BARRIERS)
def two_barriers(image: Matrix, out: Matrix) -> None:
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    cuda.syncthreads()
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@answers.right
def turned_on_the_way_in(image: Matrix, out: Matrix) -> None:
    turned = cuda.shared.array((TILE, WIDER), np.float32)
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        turned[cuda.threadIdx.x, cuda.threadIdx.y] = image[y, x]
    cuda.syncthreads()
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.y
    column = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.x
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = turned[cuda.threadIdx.y, cuda.threadIdx.x]


@answers.right
def shifted_columns(image: Matrix, out: Matrix) -> None:
    """No padding: each row is rotated by its number, which spreads a column over the banks."""
    h, w = image.shape
    tile = cuda.shared.array(CELLS, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx
    if row < h and column < w:
        tile[ty * TILE + (tx + ty) % TILE] = image[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx
    if row < w and column < h:
        out[row, column] = tile[tx * TILE + (tx + ty) % TILE]


EXERCISE = kernel_exercise(
    name="transpose_tiled",
    notebook="05_shared_memory_and_barriers",
    task="Transpose an image of any size: at most 4 sectors on both sides, no bank conflict.",
    reference=transpose_tiled,
    cases=cases,
    expect=transposed,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=COALESCED),
        budgets.requests(requests, advice=ALONE),
        budgets.bank_conflicts(0, advice=PADDING),
        budgets.barriers(1, advice=BARRIERS),
    ),
)
