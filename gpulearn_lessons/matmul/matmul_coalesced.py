"""The coalesced matrix product: one thread for each element, x as the column."""

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_COALESCED
from gpulearn_lessons.matmul.products import EVEN, NO_FLOAT64, WRITTEN_ONCE, launch

BLOCKS = ((32, 4), (32, 8), (64, 2))  # each in turn
NEIGHBORS = "The lanes of a warp differ in x: let x be the column, the last index of B and of C."
ONE_EACH = "Let each thread compute one element of C, that of its own row and column."


def cases() -> list[Launch]:
    """Odd sizes for the results; rows that begin with a sector for the budget."""
    measured = (64, 24, 64)
    launches = []
    sizes = ((35, 20, 35), (33, 5, 20), (10, 40, 61), (1, 9, 30), measured)
    for number, (m, n, p) in enumerate(sizes, start=2):
        block = BLOCKS[number % len(BLOCKS)]
        # blocks enough for either axis to count rows: the mapping must not fail for want of them
        grid = blocks_along((max(m, p), max(m, p)), block)
        chosen = (m, n, p) == measured
        launches.append(launch(MATMUL_COALESCED, m, n, p, grid, block, measured=chosen))
    return launches


def bytes_needed(case: Launch) -> int:
    """What one read of each factor by each warp and one write of C move, and a quarter more."""
    m, n = case.args[0].shape
    p = case.args[1].shape[1]
    return int(m * p // 32 * (n * 5 + 4) * 32 * 5 // 4)


EXERCISE = kernel_exercise(
    MATMUL_COALESCED,
    task="Let neighboring lanes read neighboring elements of B and write neighbors of C.",
    cases=cases,
    budgets=(
        *NO_FLOAT64,
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        WRITTEN_ONCE,
        EVEN,
        budgets.bytes_moved(bytes_needed, advice=ONE_EACH),
    ),
)
