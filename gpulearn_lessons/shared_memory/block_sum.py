"""The block sum: a tree of additions with every barrier that is needed and no more."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM
from simt.report.report import Report

ROUNDS = 7  # log₂ of BLOCK
BUDGET = 64  # requests and additions of a block, one after the other; one thread alone makes 128

TREE = (
    "The additions happen one after the other while most threads wait: let each round add the "
    "upper half of the values to the lower half, a thread for each pair."
)
BARRIERS = (
    "You need a barrier before each round, since its values come from other threads, and none "
    "after the last round: thread 0 reads what it wrote itself."
)
SINGLE = "Values of a float32 vector are added in float32: make the shared array float32 too."
NEIGHBORS = (
    "In each round, let the first `half` threads add, so that whole warps add or rest: not every "
    "second thread, then every fourth, and so on."
)
CONFLICTS = (
    "Lanes that read words 2, 4, 8 … apart share banks: let neighboring threads add neighboring "
    "words."
)


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, and one block too many for the values."""
    rng = np.random.default_rng(8)

    def launch(n: int, label: str) -> Launch:
        a = rng.uniform(-1, 2, size=n).astype(np.float32)
        out = np.empty(-(-n // BLOCK), np.float32)
        return Launch.of(BLOCK_SUM, f"{n} elements in {label}", a, out)

    return [
        launch(3 * BLOCK, "3 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(BLOCK - 1, "one block"),
    ]


def one_after_the_other(report: Report, launch: Launch) -> str | None:
    """Whether a block does its additions one after the other, not many at once."""
    totals, blocks = report.totals, report.grid[0]
    passes = totals.shared_load_wavefronts - totals.shared_load_conflicts
    steps = max(passes, totals.global_load_requests, totals.atomics) / blocks
    if steps <= BUDGET:
        return None
    return f"each block takes {steps:.3g} steps to read and add its values, the budget is {BUDGET}"


EXERCISE = kernel_exercise(
    BLOCK_SUM,
    task="Sum each block's stretch, with every barrier that is needed and no more.",
    cases=cases,
    alone=TREE,
    budgets=(
        budgets.Budget(one_after_the_other, TREE),
        budgets.float64(advice=SINGLE),
        # the last five rounds, the store, and the guard of a last stretch
        budgets.divergence(lambda launch: 8 * launch.args[1].size, advice=NEIGHBORS),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(ROUNDS, advice=BARRIERS),
    ),
)
