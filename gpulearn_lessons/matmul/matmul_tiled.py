"""The matrix product over tiles in shared memory, for sizes that no tile divides."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_TILED, TILE, matmul_tiled
from gpulearn_lessons.matmul.products import (
    FLOAT64,
    NO_FLOAT64,
    ONE_WRITE,
    WRITTEN_ONCE,
    Matrix,
    launch,
    tiles_once,
)

answers = Answers(matmul_tiled)
MEASURED = (64, 96, 64)

SHARE = (
    "Let the threads of a block fetch each tile together, each element once, and read it from "
    "shared memory."
)
FETCH = (
    "Fetch a tile row by row: x is the last index of a and of b, and of the tile that is filled."
)
BANKS = (
    "In a warp x alone differs: where x is the last index of a tile, its lanes read one row of it."
)
TWO = "Two barriers for each tile are enough: one when it is filled, one when it has been used."

# Text of the solution.
LOAD_A = "a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero"
LOAD_B = "b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero"
FILL_A = f"tile_a[y, x] = {LOAD_A}"
FILL_B = f"tile_b[y, x] = {LOAD_B}"
PRODUCT = "tile_a[y, q] * tile_b[q, x]"
FILLED = "        cuda.syncthreads()\n        for q"
USED = "        cuda.syncthreads()\n    if i"
GUARD = "    if i < c.shape[0] and j < c.shape[1]:\n        c"

NO_ZEROS = {
    FILL_A: "if i < a.shape[0] and k + x < a.shape[1]:\n            tile_a[y, x] = a[i, k + x]",
    FILL_B: "if k + y < b.shape[0] and j < b.shape[1]:\n            tile_b[y, x] = b[k + y, j]",
}


def tiles(case: Launch) -> int:
    """How many tiles a block goes through, along k."""
    return -(-int(case.args[0].shape[1]) // TILE)


def cases() -> list[Launch]:
    """One tile, several, and sizes that no tile divides along each of the three axes."""
    sizes = ((32, 32, 32), MEASURED, (33, 40, 20), (20, 70, 50), (1, 33, 1))
    return [launch(MATMUL_TILED, *s, measured=s == MEASURED) for s in sizes]


answers.edit(
    {FILLED: "        for q"},
    "the sums begin before the tiles are full: wait for all threads between filling and using.",
)
answers.edit(
    {USED: "    if i"},
    "the next tiles are filled while other warps still use the last: wait again after the sums.",
)
answers.edit(
    {"total = zero": "total = zero\n    if i >= c.shape[0] or j >= c.shape[1]:\n        return"},
    "threads outside C never reach the barriers: guard the loads and the write, not the barriers.",
)
answers.edit(
    {LOAD_A: "a[i, k + x]", LOAD_B: "b[k + y, j]", GUARD: "    c"},
    "the loads are not guarded: where a tile hangs over an edge, fill it with zeros.",
)
answers.edit(
    {LOAD_A: LOAD_A.replace("<", "<="), LOAD_B: LOAD_B.replace("<", "<=")},
    "the guard of the loads lets one element too many in: it needs < and not <=.",
)
answers.edit(
    NO_ZEROS,
    "beyond the edges a tile keeps what stood in it before, and the sums take it: write zeros.",
)
answers.edit(
    {"range(0, a.shape[1], TILE)": "range(0, a.shape[1] // TILE * TILE, TILE)"},
    "the last, incomplete tile along k is left out: round the number of tiles up.",
)
answers.edit(
    {"range(0, a.shape[1], TILE)": "range(1)"},
    "only the first tiles are used: the block has to walk along k, tile after tile.",
)
answers.edit(
    {LOAD_A: LOAD_A.replace("k + ", ""), LOAD_B: LOAD_B.replace("k + ", "")},
    "the tiles do not move along k: the loop loads the first ones again and again.",
)
answers.edit(
    {"j, i = cuda.grid(2)": "j, i = x, y"},
    "the block index is never used: every block computes the elements of block 0.",
)
answers.edit(
    {"tile_b[q, x]": "tile_b[x, q]"},
    "the tile of B is read as if it were turned: the sum runs over tile_b's rows.",
)
answers.edit(
    {"a[i, k + x]": "a[i, x]"},
    "the tile of A does not move along k, only that of B does: it takes a[i, k + x].",
)
answers.edit(
    {"b[k + y, j]": "b[y, j]"},
    "the tile of B does not move along k, only that of A does: it takes b[k + y, j].",
)
answers.edit(
    {"tile_a[y, q]": "tile_a[x, q]"},
    "the tile of A is read as if it were turned: the sum runs along a row of tile_a, tile_a[y, q].",
)
answers.edit(
    {PRODUCT: "tile_a[q, x] * tile_b[y, q]"},
    "both tiles are read as if they were turned: row y of tile_a meets column x of tile_b, "
    "tile_a[y, q] * tile_b[q, x].",
)
answers.edit(
    {"range(TILE)": "range(TILE - 1)"},
    "the last product of each tile is missing: write range(TILE).",
)
answers.edit(
    {"x, y = cuda": "y, x = cuda"},
    "x and y have changed roles: x counts columns of C and y its rows, so that "
    "j, i = cuda.grid(2) and x, y are threadIdx.x and threadIdx.y.",
)
answers.edit(
    {"range(0, a.shape[1], TILE)": "range(0, c.shape[1], TILE)"},
    "it is right for square matrices only: the tiles go as far as A has columns, not as C has.",
)


@answers.wrong("every element is 0: the sum is never added to.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


@answers.wrong(SHARE)
def no_shared_memory(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


answers.edit({"    if i < c": "        if i < c", "        c[i": "            c[i"}, ONE_WRITE)
answers.edit(
    {
        FILL_A: "row, column = i - y + x, j - x + y\n"
        "        inside = row < a.shape[0] and k + y < a.shape[1]\n"
        "        tile_a[x, y] = a[row, k + y] if inside else zero",
        FILL_B: "inside = k + x < b.shape[0] and column < b.shape[1]\n"
        "        tile_b[x, y] = b[k + x, column] if inside else zero",
    },
    FETCH,
)
answers.edit(
    {
        "tile_a[y, x]": "tile_a[x, y]",
        "tile_b[y, x]": "tile_b[x, y]",
        PRODUCT: "tile_a[q, y] * tile_b[x, q]",
    },
    BANKS,
)
answers.edit({USED: "            cuda.syncthreads()\n    if i"}, TWO)
answers.edit({"zero = np.float32(0)": "zero = 0.0"}, FLOAT64)

# --- right ones
answers.variant(
    {
        "k in range(0, a.shape[1], TILE):": "step in range((a.shape[1] + TILE - 1) // TILE):\n"
        "        k = step * TILE",
        FILL_A: f"tile_a[y, x] = 0\n        {NO_ZEROS[FILL_A]}",
        FILL_B: f"tile_b[y, x] = 0\n        {NO_ZEROS[FILL_B]}",
    }
)
answers.variant(
    {
        **NO_ZEROS,
        "range(TILE)": "range(min(TILE, a.shape[1] - k))",
        "total += ": "if i < c.shape[0] and j < c.shape[1]:\n                total += ",
    }
)
answers.variant(
    {  # two pairs of tiles, filled in turn
        "tile_a = cuda.shared.array((": "tile_a = cuda.shared.array((2, ",
        "tile_b = cuda.shared.array((": "tile_b = cuda.shared.array((2, ",
        "total = zero": "total = zero\n    now = 0",
        "tile_a[y, x]": "tile_a[now, y, x]",
        "tile_b[y, x]": "tile_b[now, y, x]",
        PRODUCT: "tile_a[now, y, q] * tile_b[now, q, x]",
        USED: "        now = 1 - now\n    if i",
    }
)

EXERCISE = kernel_exercise(
    MATMUL_TILED,
    task="Fill two tiles in shared memory, add up what they give, and go on to the next two.",
    cases=cases,
    answers=answers,
    budgets=(
        *NO_FLOAT64,
        budgets.shared_memory(advice=SHARE),
        budgets.sectors_per_request(4, advice=FETCH),
        WRITTEN_ONCE,
        tiles_once(TILE, TILE, advice=SHARE),
        budgets.bank_conflicts(0, advice=BANKS),
        budgets.barriers(lambda case: 2 * tiles(case), advice=TWO),
    ),
)
