"""The register-tiled matrix product: a tile of sums in each thread's registers."""

from __future__ import annotations

import textwrap

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_registers import (
    ALONG,
    COLUMNS,
    DEPTH,
    DOWN,
    HIGH,
    MATMUL_REGISTER_TILED,
    ROWS,
    WIDE,
    matmul_register_patch,
    matmul_register_tiled,
)
from gpulearn_lessons.matmul.products import (
    ONE_WRITE,
    READ_ONCE,
    WRITTEN_ONCE,
    Matrix,
    barriers_of,
    launch,
    loads_per_product,
    tiles_once,
)

answers = Answers(matmul_register_tiled)
MEASURED = (64, 24, 128)
LOADS = 0.5  # from shared memory for each product; HIGH + WIDE for HIGH · WIDE is half of it

COMB = (
    "Let lanes next to each other write next to each other: column x + s · ALONG of the tile, row "
    "y + r · DOWN."
)
SHARE = "Let the threads of a block fetch each tile together, and read it from shared memory."
TEETH = (
    "The lanes of a warp differ in x and, every 8 lanes, in y: what they touch in one step must "
    "lie in different banks, and words that lie a multiple of 32 apart share one. Rows "
    "y + r · DOWN of tile_a are spread well, rows y · HIGH + r are not."
)
KEEP = (
    "Load each element of a tile once for each step along k, into a variable or a local array, "
    "and use it for a whole row or column of sums."
)
TWO = "Two barriers for each tile are enough: one when it is filled, one when it has been used."
SINGLE = "Keep sums and factors in float32: in local arrays of np.float32."

# Text of the solution.
ZEROS = """\
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = zero
"""
CORNER = "top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS\n"
TILES = "    for k in range(0, a.shape[1], DEPTH):\n"
FILLED = "        cuda.syncthreads()\n        for q"
KEPT = "            for r in range(HIGH):\n                left_side[r] = tile_a[y + r * DOWN, q]\n"
FACTOR = "                factor = tile_b[q, x + s * ALONG]\n"
SUMS = f"""\
            for s in range(WIDE):
{FACTOR}                for r in range(HIGH):
                    total[r, s] += left_side[r] * factor
"""
USED = "        cuda.syncthreads()\n    for r"
PLACE = "i, j = top + y + r * DOWN, left + x + s * ALONG\n"
GUARD = "if i < c.shape[0] and j < c.shape[1]"
WRITE = f"""\
    for r in range(HIGH):
        for s in range(WIDE):
            {PLACE}            {GUARD}:
                c[i, j] = total[r, s]"""


def cases() -> list[Launch]:
    """Sizes that no tile divides along each of the three axes first: they tell most apart."""
    sizes = ((33, 9, 70), MEASURED, (65, 8, 20), (64, 16, 64), (1, 8, 1))
    return [launch(MATMUL_REGISTER_TILED, *s, measured=s == MEASURED) for s in sizes]


answers.edit(
    {FILLED: "        for q"},
    "the sums begin before the tiles are full: wait for all threads after filling them.",
)
answers.edit(
    {USED: "    for r"},
    "the next tiles are filled while other warps still use the last: wait again after the sums.",
)
answers.edit(
    {CORNER: f"{CORNER}    if top + y >= c.shape[0] or left + x >= c.shape[1]:\n        return\n"},
    "threads whose sums lie outside C left before the barrier: all must arrive, and then not "
    "write.",
)
answers.edit(
    {ZEROS: ""},
    "the sums never begin: set all HIGH × WIDE of them to 0 before the first tile.",
)
answers.edit(
    {ZEROS: "", TILES: TILES + textwrap.indent(ZEROS, "    ")},
    "the sums begin anew with each tile: set them to 0 once, before the loop over k.",
)
answers.edit(
    {GUARD: GUARD.replace("<", "<=")},
    "the guard of the write lets one row and one column too many in: it needs < and not <=.",
)
answers.edit(
    {WRITE: WRITE.replace("HIGH", "1").replace("WIDE", "1")},
    "each thread writes one of its sums: all HIGH × WIDE must go to C.",
)
answers.edit(
    {"c[i, j] = total[r, s]": "c[i, j] = total[s, r]"},
    "rows and columns of the sums are swapped: total[r, s] belongs r steps down and s to the "
    "right.",
)
answers.edit(
    {PLACE: "i, j = top + y * HIGH + r, left + x * WIDE + s\n"},
    "a sum is written to another place than it was computed for: row y + r · DOWN in both.",
)
answers.edit(
    {CORNER: "top, left = 0, 0\n"},
    "the block index is never used: every block computes the elements of block 0.",
)
answers.edit(
    {GUARD: "if i < c.shape[0] and j < c.shape[0]"},
    "it is right for square matrices only: the guard of the write takes the columns for the rows.",
)
answers.edit(
    {"total[r, s] += ": "total[r, s] = "},
    "the products are not added up: each one replaces the last, so write += for =.",
)


@answers.wrong("every element is 0: the tiles are never multiplied.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = 0


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


answers.wrong(COMB)(matmul_register_patch)
answers.edit(
    {
        "tile_a[y + r * DOWN, q]": "tile_a[x + r * DOWN, q]",
        "tile_b[q, x + s * ALONG]": "tile_b[q, y + s * ALONG]",
        PLACE: "i, j = top + x + r * DOWN, left + y + s * ALONG\n",
    },
    COMB,
)
answers.edit(
    {
        FACTOR: "                j = left + x + s * ALONG\n"
        "                inside = k + q < b.shape[0] and j < b.shape[1]\n"
        "                factor = b[k + q, j] if inside else zero\n"
    },
    READ_ONCE,
)
answers.edit({WRITE: textwrap.indent(WRITE, "    ")}, ONE_WRITE)
answers.edit(
    {
        "tile_a[y + r * DOWN, q]": "tile_a[y * HIGH + r, q]",
        PLACE: "i, j = top + y * HIGH + r, left + x + s * ALONG\n",
    },
    TEETH,
)
answers.edit(
    {
        KEPT: "",
        FACTOR: "",
        "left_side[r] * factor": "tile_a[y + r * DOWN, q] * tile_b[q, x + s * ALONG]",
    },
    KEEP,
)
answers.edit({USED: "            cuda.syncthreads()\n    for r"}, TWO)
answers.edit({"(HIGH, WIDE), np.float32": "(HIGH, WIDE), np.float64"}, SINGLE)

# --- right ones
ROW_KEPT = """\
            for s in range(WIDE):
                row[s] = tile_b[q, x + s * ALONG]
"""
answers.variant(
    {
        "left_side = cuda.local.array(HIGH,": "row = cuda.local.array(WIDE,",
        KEPT: ROW_KEPT,
        SUMS: """\
            for r in range(HIGH):
                factor = tile_a[y + r * DOWN, q]
                for s in range(WIDE):
                    total[r, s] += factor * row[s]
""",
    }
)
answers.variant(
    {
        "in range(DEPTH)": "in range(min(DEPTH, a.shape[1] - k))",
        WRITE: """\
    for r in range(HIGH):
        i = top + y + r * DOWN
        if i < c.shape[0]:
            for s in range(WIDE):
                if left + x + s * ALONG < c.shape[1]:
                    c[i, left + x + s * ALONG] = total[r, s]""",
    }
)
answers.variant(
    {
        "total = cuda.local.array((HIGH, WIDE),": "row = cuda.local.array(WIDE, np.float32)\n"
        "    total = cuda.local.array(COUNT,",
        ZEROS: "    for n in range(COUNT):\n        total[n] = zero\n",
        SUMS: ROW_KEPT
        + """\
            for n in range(COUNT):
                total[n] += left_side[n // WIDE] * row[n % WIDE]
""",
        "= total[r, s]": "= total[r * WIDE + s]",
    },
    COUNT=HIGH * WIDE,
)

EXERCISE = kernel_exercise(
    MATMUL_REGISTER_TILED,
    task="Let each thread keep HIGH × WIDE sums, and use each element it loads for a row of them.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.shared_memory(advice=SHARE),
        budgets.sectors_per_request(4, advice=COMB),
        WRITTEN_ONCE,
        tiles_once(ROWS, COLUMNS, advice=READ_ONCE),
        budgets.bank_conflicts(0, advice=TEETH),
        Budget(loads_per_product(LOADS), KEEP),
        budgets.barriers(barriers_of(DEPTH), advice=TWO),
    ),
)
