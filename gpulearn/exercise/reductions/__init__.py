"""The exercises of notebook 07: counts, sums, running sums, and a softmax."""

from __future__ import annotations

from gpulearn.exercise.reductions import (
    exclusive_scan,
    histogram_shared,
    softmax_rows,
    sum_blocks,
    warp_sum,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    histogram_shared.EXERCISE,
    sum_blocks.EXERCISE,
    warp_sum.EXERCISE,
    exclusive_scan.EXERCISE,
    softmax_rows.EXERCISE,
)
