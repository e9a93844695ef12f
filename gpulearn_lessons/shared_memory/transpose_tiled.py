"""The tiled transpose for any size: coalesced on both sides, no bank conflict."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn.kernels.transpose import transpose_naive
from gpulearn.kernels.transpose_tiled import TILE, TRANSPOSE_TILED, transpose_tiled

Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers(transpose_tiled)

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

# Text of the solution.
BARRIER = "    cuda.syncthreads()\n"
LOAD = "if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]"
STORE = "if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]"
STRAIGHT = "if y0 + ty < out.shape[0] and x0 + tx < out.shape[1]"
TURN = "out[x0 + ty, y0 + tx] = tile[tx, ty]"


def cases() -> list[Launch]:
    """Pictures that tiles fill, that they do not fill, and a grid that is too large."""
    rng = np.random.default_rng(6)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        args = rng.normal(size=(h, w)).astype(np.float32), np.empty((w, h), np.float32)
        x, y = blocks_along((w, h), (TILE, TILE))
        return Launch.of(
            TRANSPOSE_TILED, f"an image of {h} × {w}{more}", *args,
            grid=(x + spare, y + spare), measured=measured,
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72, measured=True),
        launch(33, 97),
        launch(1, 70),
        launch(50, 20, " and a grid larger than it needs", spare=1),
    ]


def requests(launch: Launch) -> int:
    """Loads and stores of warps: one of each for each row of a tile."""
    blocks = launch.grid[0] * launch.grid[1] if isinstance(launch.grid, tuple) else launch.grid
    return 2 * TILE * blocks


answers.edit({BARRIER: "        tile[ty, tx] = image[y0 + ty, x0 + tx]\n" + BARRIER}, ALONE)
answers.edit(
    {BARRIER: ""},
    "between the line that fills the tile and the line that reads it there must be a barrier: "
    "what a thread reads, another thread has loaded.",
)
answers.edit(
    {f"{BARRIER}    {STORE}": f"    {BARRIER}        {STORE}", TURN: f"    {TURN}"},
    "threads that lie outside the image never reach the barrier, and every thread has to: "
    "guard the load and the store, each for itself, and leave the barrier unguarded.",
)
answers.edit(
    {STORE: STRAIGHT, TURN: "out[y0 + ty, x0 + tx] = tile[tx, ty]"},
    "each tile is turned, but stands in the wrong place: in out, rows begin at the block's x "
    "and columns at its y.",
)
answers.edit(
    {TURN: "out[x0 + ty, y0 + tx] = tile[ty, tx]"},
    "the tiles stand in the right places, but inside them nothing is turned: tx and ty must "
    "change places once, between the line that fills the tile and the line that reads it.",
)
answers.edit(
    {STORE: STRAIGHT, TURN: "out[y0 + ty, x0 + tx] = tile[ty, tx]"},
    "the output is the input: neither the tiles nor what is in them is turned, or both are "
    "turned twice, which undoes it.",
)
answers.wrong(COALESCED)(transpose_naive)
answers.edit({"tx, ty = ": "ty, tx = "}, COALESCED)
answers.edit(
    {
        STORE: "if tx == 0 and ty == 0",
        TURN: """\
for i in range(x0, min(x0 + TILE, out.shape[0])):
            for j in range(y0, min(y0 + TILE, out.shape[1])):
                out[i, j] = tile[j - y0, i - x0]""",
    },
    ALONE,
)
answers.edit({"PADDED": "TILE"}, PADDING)
answers.edit(
    {STORE: STORE.replace("out", "image")},
    "the store has no guard of its own, or one that asks for the image's sizes, which is right "
    "for square images only: check the two indices that the store uses against out.shape.",
)
answers.edit(
    {LOAD: LOAD.replace("<", "<="), STORE: STORE.replace("<", "<=")},
    "a guard with <= lets one row and one column too many through: the last index is one less "
    "than the size.",
)
answers.edit(
    {LOAD + ":\n        tile": "tile", STORE + ":\n        out": "out"},
    "right only where tiles fill the image: no guard keeps threads outside from reading past "
    "its end.",
)
answers.edit(
    {"x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE": "x0, y0 = 0, 0"},
    "every block turns the first tile: the block index is never used.",
)
answers.edit(
    {"x0, y0 = ": "y0, x0 = "},
    "the block's x and y are mixed up: x counts tiles along a row, so x0 belongs to the "
    "columns of the image.",
)


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


answers.edit({LOAD: f"cuda.syncthreads()\n    {LOAD}"}, BARRIERS)

answers.variant(
    {"PADDED": "WIDER", "tile[ty, tx]": "tile[tx, ty]", "= tile[tx, ty]": "= tile[ty, tx]"},
    WIDER=TILE + 3,
)
answers.variant(
    {  # no padding: each row is rotated by its number, which spreads a column over the banks
        "(TILE, PADDED)": "CELLS",
        "tile[ty, tx]": "tile[ty * TILE + (tx + ty) % TILE]",
        "tile[tx, ty]": "tile[tx * TILE + (tx + ty) % TILE]",
    },
    CELLS=TILE * TILE,
)

EXERCISE = kernel_exercise(
    TRANSPOSE_TILED,
    task="Transpose an image of any size: at most 4 sectors on both sides, no bank conflict.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=COALESCED),
        budgets.requests(requests, advice=ALONE),
        budgets.bank_conflicts(0, advice=PADDING),
        budgets.barriers(1, advice=BARRIERS),
    ),
)
