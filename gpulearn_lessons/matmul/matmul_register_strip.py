"""A strip of sums in registers, given with two mistakes, to be mended from its report."""

from __future__ import annotations

import textwrap

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_registers import (
    COLUMNS,
    DEPTH,
    MATMUL_REGISTER_STRIP,
    ROWS,
    STRIP,
    matmul_register_strip,
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

answers = Answers(matmul_register_strip)
MEASURED = (64, 24, 128)

KEEP = (
    "An element of B serves a whole strip: load it once for each step along k, before the loop "
    "over the strip, into a variable."
)
TILES = "Let the threads of a block fetch each tile together, and read it from shared memory."
FETCH = "Neighbouring threads have to fetch neighbours in a row of A and of B."
TWO = "Two barriers for each tile are enough: one when it is filled, one when it has been used."
SINGLE = "Keep sums and factors in float32: begin with np.float32(0), in arrays of np.float32."

# Text of the solution.
FILLED = "        cuda.syncthreads()\n        for q"
USED = "        cuda.syncthreads()\n    for r"
FACTOR = "            factor = tile_b[q, x]\n"
ADDED = "* factor"
ZEROS = "    for r in range(STRIP):\n        total[r] = zero\n"
WALK = "    for k in range(0, a.shape[1], DEPTH):\n"
GUARD = "if i < c.shape[0] and j < c.shape[1]"
WRITE = f"""\
    for r in range(STRIP):
        i = top + y * STRIP + r
        {GUARD}:
            c[i, j] = total[r]"""

PLACES = """\
    zero = np.float32(0)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    j = left + x
    # 512 threads, numbered through: each fetches one element of either tile
    row, column = (y * COLUMNS + x) // DEPTH, (y * COLUMNS + x) % DEPTH
"""
FETCHED = """\
        inside = top + row < a.shape[0] and k + column < a.shape[1]
        tile_a[row, column] = a[top + row, k + column] if inside else zero
"""

answers.give(
    {
        USED: "    for r",
        FACTOR: "",
        ADDED: "* tile_b[q, x]",
        # shorter, so that a learner sees it in one piece
        PLACES: """\
    x, y, zero = cuda.threadIdx.x, cuda.threadIdx.y, np.float32(0)
    top, j = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS + x
    i, n = (y * COLUMNS + x) // DEPTH, (y * COLUMNS + x) % DEPTH
""",
        FETCHED: """\
        tile_a[i, n] = a[top + i, k + n] if top + i < a.shape[0] and k + n < a.shape[1] else zero
""",
        f"        i = top + y * STRIP + r\n        {GUARD}:\n            c[i, j]": (
            "        if top + y * STRIP + r < c.shape[0] and j < c.shape[1]:\n"
            "            c[top + y * STRIP + r, j]"
        ),
    }
)


def cases() -> list[Launch]:
    """Sizes that tiles divide, that they do not along each of the three axes, and one element."""
    sizes = ((64, 16, 64), MEASURED, (33, 9, 70), (65, 8, 20), (1, 8, 1))
    return [launch(MATMUL_REGISTER_STRIP, *s, measured=s == MEASURED) for s in sizes]


answers.edit(
    {USED: "    for r"},
    "the next tiles are filled while other warps still use the last: wait again after the sums.",
)
answers.edit(
    {FILLED: "        for q"},
    "the sums begin before the tiles are full: wait for all threads after filling them.",
)
answers.edit(
    {"    j = left + x\n": "    j = left + x\n    if j >= c.shape[1]:\n        return\n"},
    "threads whose column lies outside C left before the barrier: all must arrive, and then not "
    "write.",
)
answers.edit({ZEROS: ""}, "the sums never begin: set all STRIP of them to 0 before the first tile.")
answers.edit(
    {ZEROS: "", WALK: WALK + textwrap.indent(ZEROS, "    ")},
    "the sums begin anew with each tile: set them to 0 once, before the loop over k.",
)
answers.edit(
    {"total[r] += ": "total[r] = "},
    "the products are not added up: each one replaces the last, so write += for =.",
)
answers.edit(
    {GUARD: GUARD.replace("<", "<=")},
    "the guard of the write lets one row and one column too many in: it needs < and not <=.",
)
answers.edit(
    {"i = top + y * STRIP + r": "i = top + r * DEPTH + y"},
    "a sum is written to another row than it was computed for: row y · STRIP + r in both.",
)
answers.edit(
    {"top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS": "top, left = 0, 0"},
    "the block index is never used: every block computes the elements of block 0.",
)
answers.edit(
    {WRITE: WRITE.replace("range(STRIP)", "range(1)")},
    "each thread writes one of its sums: all STRIP of them must go to C.",
)


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


answers.edit({FACTOR: "", ADDED: "* tile_b[q, x]"}, KEEP)
answers.edit(
    {
        FACTOR: "            inside = k + q < b.shape[0] and j < b.shape[1]\n"
        "            factor = b[k + q, j] if inside else zero\n"
    },
    READ_ONCE,
)
answers.edit({USED: "            cuda.syncthreads()\n    for r"}, TWO)
answers.edit({"(STRIP, np.float32)": "(STRIP, np.float64)"}, SINGLE)
answers.edit({WRITE: textwrap.indent(WRITE, "    ")}, ONE_WRITE)
answers.edit(
    {
        "row, column = (y * COLUMNS + x) // DEPTH, (y * COLUMNS + x) % DEPTH": (
            "row, column = (y * COLUMNS + x) % ROWS, (y * COLUMNS + x) // ROWS"
        )
    },
    FETCH,
)


@answers.wrong(TILES)
def from_global_memory(a: Matrix, b: Matrix, c: Matrix) -> None:
    total = cuda.local.array(STRIP, "float32")
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, j = cuda.blockIdx.y * ROWS + y * STRIP, cuda.blockIdx.x * COLUMNS + x
    for r in range(STRIP):
        total[r] = 0
    for k in range(a.shape[1]):
        if j < c.shape[1]:
            factor = b[k, j]
            for r in range(STRIP):
                if top + r < c.shape[0]:
                    total[r] += a[top + r, k] * factor
    for r in range(STRIP):
        if top + r < c.shape[0] and j < c.shape[1]:
            c[top + r, j] = total[r]


answers.variant(
    {
        "in range(DEPTH)": "in range(min(DEPTH, a.shape[1] - k))",
        GUARD: "if not (i >= c.shape[0] or j >= c.shape[1])",
    }
)
answers.variant(
    {  # a row of the strip's partners is kept as well
        FACTOR + "            for r in range(STRIP):\n                total[r] += "
        "tile_a[y * STRIP + r, q] * factor\n": """\
            for r in range(STRIP):
                strip[r] = tile_a[y * STRIP + r, q]
            above = tile_b[q, x]
            for r in range(STRIP):
                total[r] += strip[r] * above
""",
        "    zero = np.float32(0)\n": (
            "    zero = np.float32(0)\n    strip = cuda.local.array(STRIP, np.float32)\n"
        ),
    }
)

EXERCISE = kernel_exercise(
    MATMUL_REGISTER_STRIP,
    task="Mend the kernel: no race, and at most (STRIP + 1) / STRIP loads for each product.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.shared_memory(advice=TILES),
        budgets.sectors_per_request(4, advice=FETCH),
        WRITTEN_ONCE,
        tiles_once(ROWS, COLUMNS, advice=READ_ONCE),
        Budget(loads_per_product((STRIP + 1) / STRIP), KEEP),
        budgets.barriers(barriers_of(DEPTH), advice=TWO),
    ),
)
