"""The number of steps that a descent takes, foreseen from its curvatures and its rate."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.numerical import steps_needed
from gpulearn_lessons.gradient_descent import descents


def cases() -> list[Case]:
    """The flattest or the steepest direction last; one step, many, or none that is enough."""
    tries = (
        ("curvatures 1 and 25, a small rate", [1.0, 25.0], 0.01, 0.01),
        ("curvatures 1 and 25, just below the limit", [1.0, 25.0], 0.0799, 0.01),
        ("curvatures 25, 1 and 4, the best single rate", [25.0, 1.0, 4.0], 2 / 26, 1e-3),
        ("curvatures 4, 25, 1 and 9, near the limit", [4.0, 25.0, 1.0, 9.0], 0.0795, 0.1),
        ("curvatures 9, 1, 25 and 4, a small rate", [9.0, 1.0, 25.0, 4.0], 0.02, 0.1),
        ("a single direction", [3.0], 0.1, 0.3),
        ("a single direction, half of the limit", [4.0], 0.25, 0.3),
        ("a round bowl, crossed in each step", [2.0, 2.0], 0.9, 0.05),
        ("curvatures 1 and 25, exactly at the limit", [1.0, 25.0], 0.08, 0.5),
        ("curvatures 1 and 25, above the limit", [1.0, 25.0], 0.1, 0.5),
        ("a direction that is level", [0.0, 2.0], 0.1, 0.5),
        ("a direction that falls away", [-1.0, 2.0], 0.1, 0.5),
        ("a ravine of κ = 10,000", [1e-3, 10.0], 0.1, 0.01),
        ("a share of 0.9", [1.0, 25.0], 0.04, 0.9),
        ("a quarter, by halves", [1.0], 0.5, 0.25),
        ("a direction that is nearly level", [1e-6, 1.0], 1.0, 0.9999),
    )
    return [Case(label, (np.array(c), lr, share)) for label, c, lr, share in tries]


EXERCISE = Exercise(
    task="Foresee how many steps it takes until each direction has a share of its distance left.",
    reference=steps_needed,
    cases=cases,
    run=descents.quietly,
)
