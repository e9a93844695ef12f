"""The register-tiled matrix product: a tile of sums in each thread's registers."""

from gpulearn.judge import budgets
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_registers import COLUMNS, DEPTH, MATMUL_REGISTER_TILED, ROWS
from gpulearn_lessons.matmul.products import (
    READ_ONCE,
    WRITTEN_ONCE,
    barriers_of,
    launch,
    loads_per_product,
    tiles_once,
)

MEASURED = (64, 24, 128)
LOADS = 0.5  # from shared memory for each product; HIGH + WIDE for HIGH · WIDE is half of it

COMB = (
    "Let neighboring lanes write neighboring elements: column x + s · ALONG of the tile, row "
    "y + r · DOWN."
)
SHARE = "Let the threads of a block load each tile together, and read it from shared memory."
TEETH = (
    "The lanes of a warp differ in x and, every 8 lanes, in y. The words that they read in one "
    "step must be in different banks: rows y + r · DOWN of tile_a are, rows y · HIGH + r are not."
)
KEEP = (
    "In each step along k, load each element of a tile into a variable or a local array once, and "
    "use it for a whole row or column of sums."
)
TWO = "Two barriers per tile are enough: one when it is filled, one when it has been used."
SINGLE = "Keep sums and factors in float32: in local arrays of np.float32."


def cases() -> list[Launch]:
    """Sizes that no tile divides along each of the three axes first: they tell most apart."""
    sizes = ((33, 9, 70), MEASURED, (65, 8, 20), (64, 16, 64), (1, 8, 1))
    return [launch(MATMUL_REGISTER_TILED, *s, measured=s == MEASURED) for s in sizes]


EXERCISE = kernel_exercise(
    MATMUL_REGISTER_TILED,
    task="Let each thread keep HIGH × WIDE sums, and use each element it loads for many of them.",
    cases=cases,
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
