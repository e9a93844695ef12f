"""The matrix product over tiles in shared memory, for sizes that no tile divides."""

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_TILED, TILE
from gpulearn_lessons.matmul.products import (
    NO_FLOAT64,
    WRITTEN_ONCE,
    barriers_of,
    launch,
    tiles_once,
)

MEASURED = (64, 96, 64)

SHARE = (
    "Let the threads of a block load each tile together, each element once, and read it from "
    "shared memory."
)
FETCH = "Load a tile row by row: make x the last index of a, of b, and of the tile that is filled."
BANKS = (
    "The lanes of a warp differ only in x: with x as the last index, they use one row of a tile."
)
TWO = "Two barriers per tile are enough: one when it is filled, one when it has been used."


def cases() -> list[Launch]:
    """One tile, several, and sizes that no tile divides along each of the three axes."""
    sizes = ((32, 32, 32), MEASURED, (33, 40, 20), (20, 70, 50), (1, 33, 1))
    return [launch(MATMUL_TILED, *s, measured=s == MEASURED) for s in sizes]


EXERCISE = kernel_exercise(
    MATMUL_TILED,
    task="Fill two tiles in shared memory, add up their products, and continue with the next two.",
    cases=cases,
    budgets=(
        *NO_FLOAT64,
        budgets.shared_memory(advice=SHARE),
        budgets.sectors_per_request(4, advice=FETCH),
        WRITTEN_ONCE,
        tiles_once(TILE, TILE, advice=SHARE),
        budgets.bank_conflicts(0, advice=BANKS),
        budgets.barriers(barriers_of(TILE), advice=TWO),
    ),
)
