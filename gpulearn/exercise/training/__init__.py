"""The exercises of notebook 12: a training step, its gradients, its memory, its restart."""

from __future__ import annotations

from gpulearn.exercise.training import (
    accumulate_gradients,
    clip_by_global_norm,
    memory_budget,
    save_and_resume,
    train_step,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    train_step.EXERCISE,
    accumulate_gradients.EXERCISE,
    clip_by_global_norm.EXERCISE,
    memory_budget.EXERCISE,
    save_and_resume.EXERCISE,
)
