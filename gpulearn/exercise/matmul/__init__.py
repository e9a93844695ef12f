"""The exercises of notebook 06: four rungs of the ladder of matrix products."""

from __future__ import annotations

from gpulearn.exercise.matmul import (
    matmul_coalesced,
    matmul_naive,
    matmul_register_tiled,
    matmul_tiled,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    matmul_naive.EXERCISE,
    matmul_coalesced.EXERCISE,
    matmul_tiled.EXERCISE,
    matmul_register_tiled.EXERCISE,
)
