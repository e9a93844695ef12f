"""The exercises of notebook 01: the matrix product, its cost, and how it is timed."""

from __future__ import annotations

from gpulearn.exercise.cpu_vs_gpu import (
    crossover,
    matmul_flops,
    matmul_loops,
    time_correctly,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    matmul_loops.EXERCISE,
    matmul_flops.EXERCISE,
    crossover.EXERCISE,
    time_correctly.EXERCISE,
)
