"""A backward pass, given with three bugs to fix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_residual
from gpulearn_lessons.backprop.results import named, quietly, same

Array = np.ndarray[Any, Any]


def cases() -> list[Case]:
    """Blocks that widen and narrow, square blocks, one example, one unit."""
    rng = np.random.default_rng(15)
    cases = []
    for n, d, m in ((5, 3, 3), (4, 2, 3), (2, 5, 3), (1, 3, 3), (6, 1, 4), (3, 4, 1), (3, 3, 3)):
        sizes = (n, d), (d, m), (m,), (m, d), (n, d)
        label = f"{n} examples of {d} numbers, {m} hidden units"
        cases.append(Case(label, tuple(rng.normal(size=size) for size in sizes)))
    sizes = (4, 3), (3, 2), (2,), (2, 3), (4, 3)
    single = tuple(rng.normal(size=size).astype(np.float32) for size in sizes)
    return [
        *cases,
        Case("float32, 4 examples of 3 numbers, 2 hidden units", single),
        Case("inputs and biases of exactly 0", zeros(rng)),
    ]


def zeros(rng: np.random.Generator) -> tuple[Array, ...]:
    """Hidden units at exactly 0, where ReLU passes nothing back."""
    w = rng.normal(size=(2, 3))
    return np.zeros((2, 3)), rng.normal(size=(3, 2)), np.zeros(2), w, rng.normal(size=(2, 3))


EXERCISE = Exercise(
    task="Fix the backward pass of a residual block, so that all four gradients are right.",
    reference=backward_residual,
    cases=cases,
    run=quietly,
    difference=named("grad_x", "grad_v", "grad_b", "grad_w"),
    kinships=(same,),
)
