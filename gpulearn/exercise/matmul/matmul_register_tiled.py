"""Write C = A·B with a tile of sums in each thread's registers."""

from __future__ import annotations

from gpulearn.checker import budgets
from gpulearn.checker.budgets import Budget
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.exercise.matmul.products import WRITTEN_ONCE, launch
from gpulearn.exercise.matmul.products import product as expect
from gpulearn.exercise.matmul.register_answers import (
    COMB,
    KEEP,
    SHARE,
    SINGLE,
    TEETH,
    TWO,
    answers,
)
from gpulearn.kernels.matmul_registers import (
    ALONG,
    COLUMNS,
    DEPTH,
    DOWN,
    ROWS,
    matmul_register_tiled,
)
from gpulearn.simt.report.report import Report

__all__ = ["EXERCISE"]

BLOCK = (ALONG, DOWN)
WARP = 32
MEASURED = (64, 24, 128)
LOADS = 0.5  # from shared memory for each product; HIGH + WIDE for HIGH · WIDE is half of it


def grid(m: int, p: int) -> tuple[int, int]:
    """Blocks that cover p columns along x and m rows along y."""
    return (-(-p // COLUMNS), -(-m // ROWS))


def cases() -> list[Launch]:
    """Sizes that no tile divides along each of the three axes first: they tell most apart."""
    sizes = ((33, 9, 70), MEASURED, (65, 8, 20), (64, 16, 64), (1, 8, 1))
    return [launch(*s, grid, BLOCK, measured=s == MEASURED) for s in sizes]


def too_many_loads(report: Report, case: Launch) -> str | None:
    """Loads from shared memory, as passes over it, for each product that a warp computes."""
    products = report.totals.flops32 / (2 * WARP)
    loads = report.totals.shared_load_wavefronts / products
    if loads <= LOADS:
        return None
    return (
        f"it loads {loads:.3g} times from shared memory for each product, the budget is {LOADS:g}"
    )


def barriers_needed(case: Launch) -> int:
    """Two for each tile along k."""
    return 2 * -(-int(case.args[0].shape[1]) // DEPTH)


EXERCISE = kernel_exercise(
    name="matmul_register_tiled",
    notebook="06_matmul_ladder",
    task="Let each thread keep HIGH × WIDE sums, and use each element it loads for a row of them.",
    reference=matmul_register_tiled,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.shared_memory(advice=SHARE),
        budgets.sectors_per_request(4, advice=COMB),
        WRITTEN_ONCE,
        budgets.bank_conflicts(0, advice=TEETH),
        Budget(too_many_loads, KEEP),
        budgets.barriers(barriers_needed, advice=TWO),
    ),
)
