"""The exercises of notebook 10: steps downhill, slopes from values, and the limit of a step."""

from __future__ import annotations

from gpulearn.exercise.gradient_descent import (
    adam_step,
    adamw_step,
    gradient_step,
    largest_stable_step,
    momentum_step,
    numerical_gradient,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    gradient_step.EXERCISE,
    momentum_step.EXERCISE,
    adam_step.EXERCISE,
    adamw_step.EXERCISE,
    numerical_gradient.EXERCISE,
    largest_stable_step.EXERCISE,
)
