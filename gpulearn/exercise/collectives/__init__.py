"""The exercises of notebook 13: two all-reduces, what a ring sends, and what a link costs."""

from __future__ import annotations

from gpulearn.exercise.collectives import (
    all_reduce_via_root,
    fit_alpha_beta,
    ring_all_reduce,
    ring_bytes_per_rank,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    all_reduce_via_root.EXERCISE,
    ring_all_reduce.EXERCISE,
    ring_bytes_per_rank.EXERCISE,
    fit_alpha_beta.EXERCISE,
)
