"""The block reversal, in place: the smallest exchange that needs a barrier."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, REVERSE_BLOCK
from gpulearn.kernels.specification import blocks_along
from simt.report.report import Report

CONFLICTS = "Let neighboring threads use neighboring words of a one-dimensional shared array."

WARP = 32
ACCESSES = 4  # of a thread: its element from a to the shared array, another one from there to a

NO_TILE = (
    "Load the stretch into a shared array first and write back from there: the later exercises "
    "build on this."
)
FOR_SHOW = "Store elements of the shared array in a: that is where the elements change places."
SINGLE = "A float64 takes two words of shared memory: make the array np.float32, as the vector is."
ALONE = "Let each thread load one element and store one, so that a warp moves 32 at once."
BARRIERS = (
    "One barrier is enough, after the shared array is filled: no thread writes to it again after "
    "it has been read."
)


def cases() -> list[Launch]:
    """Vectors that fill their last stretch, and vectors that do not."""
    rng = np.random.default_rng(5)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        return Launch.of(REVERSE_BLOCK, f"{n} elements in {label}", a, grid=grid)

    return [
        launch(3 * BLOCK, "3 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(50, "one block"),
        launch(BLOCK + 50, "3 blocks, the last of them with nothing to do", spare=1),
    ]


def never_read(report: Report, launch: Launch) -> str | None:
    return None if report.totals.shared_load_wavefronts else "it never reads from shared memory"


def one_by_one(report: Report, launch: Launch) -> str | None:
    """Whether elements move more than once, or one by one and not 32 by a warp, or two a thread."""
    totals, allowed = report.totals, BLOCK // WARP
    for verb, count in (
        ("load", totals.global_load_requests),
        ("store", totals.global_store_requests),
    ):
        if (requests := count / report.grid[0]) > allowed:
            return f"each block makes {requests:.3g} requests to {verb}, the budget is {allowed}"
    if (most := report.shares.thread.most) > ACCESSES:
        return f"a thread makes {most} accesses to memory, the budget is {ACCESSES}"
    return None


EXERCISE = kernel_exercise(
    REVERSE_BLOCK,
    task="Reverse each block's stretch of the vector, in place, by way of shared memory.",
    cases=cases,
    alone=ALONE,
    budgets=(
        budgets.shared_memory(advice=NO_TILE, read=False),
        budgets.Budget(never_read, FOR_SHOW),
        budgets.Budget(one_by_one, ALONE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.shared_passes(2 * BLOCK // WARP, advice=SINGLE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)
