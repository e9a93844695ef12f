"""The tiled 2-D convolution, with a halo: all of the notebook at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn.kernels.transpose_tiled import TILE
from gpulearn_lessons.shared_memory.convolution import (
    CONV2D_TILED,
    REACH,
    SIDE,
    conv2d_naive,
    conv2d_tiled,
)

Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers(conv2d_tiled)

FILTER = 2 * REACH + 1

ONCE = (
    "Neighbouring outputs need almost the same pixels: let the threads of a block share out its "
    "pixels, halo included, and load each once; weigh them from the shared tile alone."
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

# Text of the solution.
BARRIER = "    cuda.syncthreads()\n"
ELSE = "            else:\n                tile[i, j] = 0\n"
FILL = f"""\
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                tile[i, j] = image[row, column]
{ELSE}"""
SHIFTED = "row, column = y0 + i - REACH, x0 + j - REACH"
ROWS, COLUMNS = "row < image.shape[0]", "column < image.shape[1]"
FILTER_ROWS, FILTER_COLUMNS = "i in range(2 * REACH + 1)", "j in range(2 * REACH + 1)"


def cases() -> list[Launch]:
    """Images that tiles fill and that they do not, with a filter that has no symmetry."""
    rng = np.random.default_rng(9)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        image = rng.normal(size=(h, w)).astype(np.float32)
        weights = rng.normal(size=(FILTER, FILTER)).astype(np.float32)
        args = image, weights, np.empty_like(image)
        x, y = blocks_along((w, h), (TILE, TILE))
        return Launch.of(
            CONV2D_TILED, f"an image of {h} × {w}{more}", *args,
            grid=(x + spare, y + spare), measured=measured,
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72),
        launch(33, 35),
        launch(1, 70),
        launch(20, 30, " and a grid larger than it needs", spare=1),
    ]


def limit(launch: Launch) -> int:
    """Bytes that may move: tiles with halo in, outputs out, a weight per warp and product."""
    blocks = launch.grid[0] * launch.grid[1] if isinstance(launch.grid, tuple) else launch.grid
    # a row of a tile with its halo begins 8 bytes before a sector: 5 sectors, and 2 for the rest
    return 32 * blocks * (SIDE * (5 + 2) + TILE * 4 + TILE * FILTER**2)


answers.wrong(ONCE)(conv2d_naive)
answers.edit(
    {BARRIER: ""},
    "between the lines that fill the tile and the line that reads it there must be a barrier: a "
    "thread weighs pixels that other threads have loaded.",
)
answers.edit(
    {
        FILL: "    if y0 + ty >= out.shape[0] or x0 + tx >= out.shape[1]:\n        return\n" + FILL,
    },
    "threads that lie outside the image never reach the barrier: let every thread of the block "
    "help to fill the tile and pass the barrier, and guard what comes after it.",
)
answers.edit(
    {
        FILL: """\
    own = np.float32(0)
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        own = image[y0 + ty, x0 + tx]
    tile[ty + REACH, tx + REACH] = own
"""
    },
    "a part of the halo is loaded by nobody: a tile with its halo has more rows and more columns "
    "than the block has threads, so that both need a second round.",
)
answers.edit(
    {"range(ty, SIDE, TILE)": "range(ty, TILE, TILE)"},
    "the lower part of the halo is never loaded: the rows of the tile need a second round as the "
    "columns do.",
)
answers.edit(
    {ELSE: ""},
    "cells beyond the image's edges are left as they are: shared memory starts as garbage, so "
    "write a zero there.",
)
answers.edit(
    {"0 <= column": "x0 <= column"},
    "the halo on the left is zero between blocks too: only beyond the image it is zero, so "
    "compare with 0, not with x0.",
)
answers.edit(
    {COLUMNS: "column < min(image.shape[1], x0 + TILE)"},
    "the halo on the right is zero between blocks too: only beyond the image it is zero, so "
    "compare with image.shape[1], not with x0 + TILE.",
)
answers.edit(
    {"0 <= row": "y0 <= row"},
    "the halo above is zero between blocks too: only beyond the image it is zero, so "
    "compare with 0, not with y0.",
)
answers.edit(
    {ROWS: "row < min(image.shape[0], y0 + TILE)"},
    "the halo below is zero between blocks too: only beyond the image it is zero, so "
    "compare with image.shape[0], not with y0 + TILE.",
)
answers.edit(
    {"0 <= row": "row", "0 <= column": "column"},
    "an index below zero is not guarded: as in NumPy, image[−1] is the last row. Ask for "
    "0 <= row and 0 <= column as well.",
)
answers.edit(
    {ROWS: "row < image.shape[1]", COLUMNS: "column < image.shape[0]"},
    "the guard of the load takes rows for columns, which is right for square images only: rows "
    "end at image.shape[0], columns at image.shape[1].",
)
answers.edit(
    {"y0 + ty < out": "y0 + ty <= out", "x0 + tx < out": "x0 + tx <= out"},
    "the store has no guard of its own, or one with <=: threads outside the image must not write.",
)
answers.edit(
    {SHIFTED: "row, column = y0 + i, x0 + j"},
    "the tile is filled without its shift: cell (0, 0) belongs to the pixel REACH rows above and "
    "REACH columns to the left of the tile.",
)
answers.edit(
    {SHIFTED: "row, column = i - REACH, j - REACH"},
    "every block fills its tile from the image's first corner: the block index is missing in "
    "the load.",
)
answers.edit(
    {"tile[ty + i, tx + j]": "tile[tx + i, ty + j]"},
    "x and y are mixed up in the tile: rows of the tile belong to threadIdx.y, columns to "
    "threadIdx.x.",
)
answers.edit(
    {"weights[i, j]": "weights[j, i]"},
    "the weights are read as weights[j, i]: i counts rows, in the tile and there.",
)
answers.edit(
    {"weights[i, j]": "weights[2 * REACH - i, 2 * REACH - j]"},
    "the filter is flipped: weights[0, 0] belongs to the neighbour above and to the left, as in "
    "the formula of the task.",
)
answers.edit(
    {FILTER_ROWS: "i in range(2 * REACH)", FILTER_COLUMNS: "j in range(2 * REACH)"},
    "the last row and the last column of the filter are left out: it has 2·REACH + 1 of each.",
)
answers.edit(
    {
        SHIFTED: "row = min(max(y0 + i - REACH, 0), image.shape[0] - 1)\n"
        "            column = min(max(x0 + j - REACH, 0), image.shape[1] - 1)"
    },
    "the edges repeat the image's first and last pixels: beyond the edges of the image is zero.",
)


@answers.wrong("every pixel of out is zero: the sums are never stored, or taken over zeros.")
def constant(image: Matrix, weights: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = 0


answers.edit(
    {FILTER_ROWS: "i in range(1, 2 * REACH)", FILTER_COLUMNS: "j in range(1, 2 * REACH)"},
    "only the 3 × 3 weights in the middle are used: with REACH 2 the filter has 5 × 5, i and j "
    "from 0 to 4.",
)


@answers.wrong("nothing is written: out is left as it was.")
def empty(image: Matrix, weights: Matrix, out: Matrix) -> None:
    pass


answers.edit({"tx, ty = ": "ty, tx = "}, COALESCED)
answers.edit({"np.float32(0)": "0.0"}, SINGLE)
answers.edit(
    {"    out[y0 + ty, x0 + tx] = total": "    out[y0 + ty, x0 + tx] = total\n" + BARRIER}, BARRIERS
)

answers.variant(
    {  # the tile is filled as one long line of cells, whatever the block's shape
        FILL: """\
    number = ty * cuda.blockDim.x + tx
    while number < SIDE * SIDE:
        i, j = number // SIDE, number % SIDE
        row, column = y0 + i - REACH, x0 + j - REACH
        value = np.float32(0)
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            value = image[row, column]
        tile[i, j] = value
        number += cuda.blockDim.x * cuda.blockDim.y
""",
    }
)
answers.variant(
    {  # the same thread writes a zero and then, perhaps, the pixel: no barrier is needed
        SHIFTED: SHIFTED + "\n            tile[i, j] = 0",
        ELSE: "",
    }
)

EXERCISE = kernel_exercise(
    CONV2D_TILED,
    task="Weigh each pixel's 5 × 5 neighbourhood, with each pixel brought to the block once.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(6, advice=COALESCED),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(1, advice=BARRIERS),
        *budgets.float64_sums(advice=SINGLE),
    ),
)
