"""A strip of sums in registers, given with two mistakes, to be mended from its report."""

from gpulearn.judge import budgets
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_registers import (
    COLUMNS,
    DEPTH,
    MATMUL_REGISTER_STRIP,
    ROWS,
    STRIP,
)
from gpulearn_lessons.matmul.products import (
    READ_ONCE,
    WRITTEN_ONCE,
    barriers_of,
    launch,
    loads_per_product,
    tiles_once,
)

MEASURED = (64, 24, 128)

KEEP = (
    "An element of B serves a whole strip: in each step along k, load it into a variable once, "
    "before the loop over the strip."
)
TILES = "Let the threads of a block load each tile together, and read it from shared memory."
FETCH = "Let neighboring threads load neighbors in a row of A and of B."
TWO = "Two barriers per tile are enough: one when it is filled, one when it has been used."
SINGLE = "Keep sums and factors in float32: begin with np.float32(0), in arrays of np.float32."


def cases() -> list[Launch]:
    """Sizes that tiles divide, that they do not along each of the three axes, and one element."""
    sizes = ((64, 16, 64), MEASURED, (33, 9, 70), (65, 8, 20), (1, 8, 1))
    return [launch(MATMUL_REGISTER_STRIP, *s, measured=s == MEASURED) for s in sizes]


EXERCISE = kernel_exercise(
    MATMUL_REGISTER_STRIP,
    task="Fix the kernel: no race, and at most (STRIP + 1) / STRIP loads per product.",
    cases=cases,
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
