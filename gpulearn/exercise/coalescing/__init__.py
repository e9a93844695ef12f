"""The exercises of notebook 04."""

from gpulearn.exercise.coalescing import (
    column_sums,
    copy_coalesced,
    soa_norms,
    transpose_naive,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    copy_coalesced.EXERCISE,
    column_sums.EXERCISE,
    soa_norms.EXERCISE,
    transpose_naive.EXERCISE,
)
