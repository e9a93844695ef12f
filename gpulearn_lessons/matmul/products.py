"""Products to launch in the exercises, and the budgets that they share."""

import math
from collections.abc import Callable

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch
from gpulearn.kernels.specification import Shape, Specification
from simt.report.report import Report

FLOAT64 = "A sum that begins with a plain 0 or 0.0 is a float64: begin with np.float32(0)."
NO_FLOAT64 = budgets.float64_sums(advice=FLOAT64)
ONE_WRITE = (
    "Add up in variables of the thread, and write each element of c once: at the end, by one "
    "thread."
)
OWN_ELEMENT = "Each element of C has a thread of its own: no thread computes two of them."
# a quarter more than C holds: for the sectors at the ends of rows
WRITTEN_ONCE = budgets.bytes_moved(
    lambda case: case.args[2].nbytes * 5 // 4, advice=ONE_WRITE, of=2
)


def _uneven(report: Report, case: Launch) -> str | None:
    most, mean = report.shares.thread
    full = math.prod((*report.grid, *report.block)) == case.args[2].size
    if not full or most <= 1.5 * mean:
        return None
    return f"one thread makes {most:,} accesses to memory, where {mean:,.1f} is the mean of all"


# of a launch that has as many threads as C has elements
EVEN = budgets.Budget(_uneven, OWN_ELEMENT)


def launch(
    specification: Specification,
    m: int,
    n: int,
    p: int,
    grid: Shape | None = None,
    block: Shape | None = None,
    measured: bool = False,
) -> Launch:
    """A launch on random matrices of shapes (m, n) and (n, p)."""
    rng = np.random.default_rng(100 * m + 10 * n + p)
    a = rng.standard_normal((m, n), dtype=np.float32)
    b = rng.standard_normal((n, p), dtype=np.float32)
    args = (a, b, np.empty((m, p), np.float32))
    usual, block = specification.shape(*args, block=block)
    grid = usual if grid is None else grid
    label = f"A of shape ({m}, {n}) and B of shape ({n}, {p}) in {grid} blocks of {block}"
    return Launch.of(specification, label, *args, grid=grid, block=block, measured=measured)


def loads_per_product(limit: float) -> Callable[[Report, Launch], str | None]:
    """At most so many passes of loads over shared memory for each product that a warp computes."""

    def excess(report: Report, case: Launch) -> str | None:
        loads = report.totals.shared_load_wavefronts / (report.totals.flops32 / (2 * 32))
        if loads <= limit:
            return None
        return (
            f"it loads {loads:.3g} times from shared memory per product, the budget is {limit:.4g}"
        )

    return excess


READ_ONCE = "Load each element from global memory into its tile once, and read it from there."


def tiles_once(rows: int, columns: int, *, advice: str) -> budgets.Budget:
    """No byte beyond what each block's tiles and C itself hold, where the tiles divide them."""

    def max_bytes(case: Launch) -> int:
        m, n = case.args[0].shape
        p = case.args[1].shape[1]
        return int(4 * (m * n * p // rows + m * n * p // columns + m * p))

    return budgets.bytes_moved(max_bytes, advice=advice)


def barriers_of(depth: int) -> Callable[[Launch], int]:
    """Two barriers for each tile along k, which is so deep."""
    return lambda case: 2 * -(-int(case.args[0].shape[1]) // depth)
