"""The exercises of notebook 02: the roofline's three formulas, and choosing a GPU by it."""

from __future__ import annotations

from gpulearn.exercise.roofline import (
    arithmetic_intensity,
    attainable,
    cheapest_gpu_that_fits,
    ridge_point,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    arithmetic_intensity.EXERCISE,
    ridge_point.EXERCISE,
    attainable.EXERCISE,
    cheapest_gpu_that_fits.EXERCISE,
)
