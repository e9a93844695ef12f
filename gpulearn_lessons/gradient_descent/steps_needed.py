"""The number of steps that gradient descent needs, predicted from its curvatures and its rate."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.numerical import steps_needed
from gpulearn_lessons.gradient_descent import descents


def cases() -> list[Case]:
    """The flattest or the steepest direction is slowest; one step, many, or no number is enough."""
    tries = (
        ("curvatures 1 and 25, a small rate", [1.0, 25.0], 0.01, 0.01),
        ("curvatures 1 and 25, just below the limit", [1.0, 25.0], 0.0799, 0.01),
        ("curvatures 25, 1 and 4, the best single rate", [25.0, 1.0, 4.0], 2 / 26, 1e-3),
        ("curvatures 4, 25, 1 and 9, near the limit", [4.0, 25.0, 1.0, 9.0], 0.0795, 0.1),
        ("curvatures 9, 1, 25 and 4, a small rate", [9.0, 1.0, 25.0, 4.0], 0.02, 0.1),
        ("a single direction", [3.0], 0.1, 0.3),
        ("a single direction, half the limit", [4.0], 0.25, 0.3),
        ("a round bowl, crossed in each step", [2.0, 2.0], 0.9, 0.05),
        ("curvatures 1 and 25, exactly at the limit", [1.0, 25.0], 0.08, 0.5),
        ("curvatures 1 and 25, above the limit", [1.0, 25.0], 0.1, 0.5),
        ("a flat direction", [0.0, 2.0], 0.1, 0.5),
        ("a direction that curves downward", [-1.0, 2.0], 0.1, 0.5),
        ("a ravine of κ = 10,000", [1e-3, 10.0], 0.1, 0.01),
        ("a share of 0.9", [1.0, 25.0], 0.04, 0.9),
        ("a share of a quarter, by halving", [1.0], 0.5, 0.25),
        ("a nearly flat direction", [1e-6, 1.0], 1.0, 0.86),
    )
    return [Case(label, (np.array(c), lr, share)) for label, c, lr, share in tries]


EXERCISE = Exercise(
    task="Predict after how many steps at most `share` of the distance is left in every direction.",
    reference=steps_needed,
    cases=cases,
    run=descents.quietly,
    difference=compare.whole,
)
