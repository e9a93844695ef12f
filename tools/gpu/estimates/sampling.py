"""What the SIMT machine counts in a launch that is too large for it: from some of its blocks.

A block's counts do not depend on when other blocks run, so that some blocks stand for all. Two
samples are taken; where they count the same, so do all blocks as far as can be seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from simt.core.limits import check_shape
from simt.core.registry import python_function
from simt.host.dispatcher import Kernel
from simt.host.work.launches import PreparedLaunch
from simt.observers.counters import Counts
from simt.report.report import Report
from tools.gpu.case import Case

__all__ = ["Sampled", "sampled_report"]

THREADS = 2**11  # of each sample, about
FEWEST = 8  # blocks of each sample


@dataclass(frozen=True)
class Sampled:
    """A report whose totals are those of the whole launch, as far as a sample tells.

    Attributes:
        report: with `totals` for all blocks.
        blocks: of the launch.
        counted: how many of them ran.
        spread: how far the two samples' counts are apart: the largest difference of a counter
            relative to their mean; 0 where they are equal, or all blocks ran.
    """

    report: Report
    blocks: int
    counted: int
    spread: float


def sampled_report(case: Case, size: str = "large", threads: int = THREADS) -> Sampled:
    """Count a case's launch, whole or by two random samples of its blocks.

    Args:
        case: what to launch.
        size: of the launch.
        threads: of each sample, about.

    Raises:
        BadInput: the launch was stopped, or synchronises the whole grid and is too large.
    """
    shot = case.shot(size)
    grid, block = check_shape(shot.grid, shot.block, 0)
    blocks, per_block = math.prod(grid), math.prod(block)
    function: Any = python_function(case.kernel) or case.kernel
    kernel = Kernel(function)
    each = max(FEWEST, threads // per_block)
    together = "sync" in function.__code__.co_names  # this_grid().sync()

    def counted(only: np.ndarray[Any, Any] | None = None) -> Report:
        launch = PreparedLaunch(kernel, shot.grid, shot.block, shot.args, 0, xray=True, only=only)
        report, stopped = launch.carry_out()
        if stopped is not None:
            raise BadInput(f"{case.name} was stopped: {stopped.message}")
        return report

    if blocks <= 2 * each or together:
        return Sampled(counted(), blocks, blocks, 0.0)
    chosen = np.random.default_rng(0).choice(blocks, 2 * each, replace=False)
    reports = [counted(np.sort(some)) for some in (chosen[:each], chosen[each:])]
    one, other = (report.totals for report in reports)
    spread = _spread(one, other)
    one.add(other)
    _scale(one, blocks / (2 * each))
    return Sampled(reports[0], blocks, 2 * each, spread)


def _spread(one: Counts, other: Counts) -> float:
    """The largest difference of what the estimate uses, relative to the mean."""
    pairs = [
        (getattr(one, name), getattr(other, name)) for name in ("bytes_moved", "flops32", "flops64")
    ]
    return max((abs(a - b) / ((a + b) / 2) for a, b in pairs if a + b), default=0.0)


def _scale(counts: Counts, times: float) -> None:
    for field in fields(counts):
        if field.name != "atomic_contention":  # a worst case, not a sum
            setattr(counts, field.name, round(getattr(counts, field.name) * times))
    counts.distinct_sectors = 0  # a sample does not tell what blocks have in common
