"""Write C = A·B over tiles in shared memory, for sizes that no tile divides."""

from __future__ import annotations

from gpulearn.checker import budgets
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.exercise.matmul.products import NO_FLOAT64, WRITTEN_ONCE, launch
from gpulearn.exercise.matmul.products import product as expect
from gpulearn.exercise.matmul.tiled_answers import BANKS, FETCH, SHARE, TWO, answers
from gpulearn.kernels.matmul_ladder import TILE, matmul_tiled

__all__ = ["EXERCISE"]

BLOCK = (TILE, TILE)
MEASURED = (64, 96, 32)


def grid(m: int, p: int) -> tuple[int, int]:
    """Blocks that cover p columns along x and m rows along y."""
    return (-(-p // TILE), -(-m // TILE))


def tiles(case: Launch) -> int:
    """How many tiles a block goes through, along k."""
    return -(-int(case.args[0].shape[1]) // TILE)


def bytes_needed(case: Launch) -> int:
    """What each block's tiles and C itself hold, where tiles divide them."""
    m, n = case.args[0].shape
    p = case.args[1].shape[1]
    return int(4 * (2 * m * n * p // TILE + m * p))


def cases() -> list[Launch]:
    """One tile, several, and sizes that no tile divides along each of the three axes."""
    sizes = ((32, 32, 32), MEASURED, (33, 40, 20), (20, 70, 50), (1, 33, 1))
    return [launch(*s, grid, BLOCK, measured=s == MEASURED) for s in sizes]


EXERCISE = kernel_exercise(
    name="matmul_tiled",
    notebook="06_matmul_ladder",
    task="Fill two tiles in shared memory, add up what they give, and go on to the next two.",
    reference=matmul_tiled,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        NO_FLOAT64,
        budgets.shared_memory(advice=SHARE),
        budgets.sectors_per_request(4, advice=FETCH),
        WRITTEN_ONCE,
        budgets.bytes_moved(bytes_needed, advice=SHARE),
        budgets.bank_conflicts(0, advice=BANKS),
        budgets.barriers(lambda case: 2 * tiles(case), advice=TWO),
    ),
)
