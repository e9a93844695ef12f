"""A sum in one launch by the block that comes last, given with two mistakes to fix."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.grid_sum import GRID_SUM_LAST
from simt.report.report import Report

FLOAT32 = "A plain 0 or 0.0 makes a sum a float64: start sums with np.float32(0)."
ONCE = (
    "Each value is needed by one thread, once: let a thread read those one grid apart, from "
    "cuda.grid(1) on."
)
ONE_TICKET = (
    "Thread 0 of each block draws one ticket and waits for no other block: the block with the last "
    "ticket adds up the sums, and only that one resets the ticket."
)
ALONE = "Let each block store its sum, pass a fence, and draw its ticket; the last one adds up."


def cases() -> list[Launch]:
    """Many blocks and one, more values than threads, fewer, none; sums that are exact."""
    rng = np.random.default_rng(7)
    shapes = ((1_000, 6), (64, 2), (20, 1), (70, 5), (0, 3))
    return [
        Launch.of(
            GRID_SUM_LAST,
            f"{n:,} values in {grid} block{'s' * (grid > 1)} of 32",
            (rng.integers(-200, 200, n) / 4).astype(np.float32),
            np.empty(grid, np.float32),
            np.zeros(1, np.int32),
            np.empty(1, np.float32),
            measured=n == 1_000,
        )
        for n, grid in shapes
    ]


def undrawn(report: Report, launch: Launch) -> str | None:
    """Whether there are blocks that draw no ticket."""
    drawn = report.arrays[launch.names(report)[2]].atomics
    if drawn >= launch.args[1].size:
        return None
    return f"{drawn} tickets are drawn by {launch.args[1].size} blocks, the budget is one for each"


EXERCISE = kernel_exercise(
    GRID_SUM_LAST,
    task="Fix the kernel, so that the block that comes last adds up all sums, in every launch.",
    cases=cases,
    alone=ALONE,
    budgets=(
        *budgets.float64_sums(advice=FLOAT32),
        Budget(undrawn, ALONE),
        budgets.atomics(lambda launch: int(launch.grid) + 1, of=2, advice=ONE_TICKET),  # type: ignore[arg-type]
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.bytes_moved(lambda launch: 2 * launch.args[0].nbytes, of=0, advice=ONCE),
    ),
)
