"""The number of steps that a descent waits on a saddle, predicted from its start."""

from __future__ import annotations

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.numerical import escape_saddle
from gpulearn_lessons.gradient_descent import descents


def cases() -> list[Case]:
    """Near and far, gentle and steep, short and long steps; and starts that never leave."""
    tries = (
        ("one millionth from the ridge", 1e-6, -1.0, 0.1, 0.5),
        ("one ten-thousandth from the ridge", 1e-4, -1.0, 0.1, 0.5),
        ("a ridge of curvature −4", 1e-6, -4.0, 0.1, 0.3),
        ("a ridge of curvature −0.02", 0.01, -0.02, 0.5, 2.0),
        ("a rate of 3", 1e-3, -1.0, 3.0, 100.0),
        ("four times as far, by doubling", 0.25, -1.0, 1.0, 1.0),
        ("a trillionth from the ridge", 1e-12, -1.0, 0.1, 0.5),
        ("a nearly flat ridge", 1e-6, -0.05, 0.1, 0.5),
        ("a ridge of curvature −10⁻⁶, and nearly far", 0.4999, -1e-6, 0.5, 0.5),
        ("a ridge of curvature −0.001", 1e-6, -0.001, 0.1, 0.5),
        ("a start on the ridge itself", 0.0, -1.0, 0.1, 0.5),
        ("a direction that curves upward", 0.1, 2.0, 0.1, 0.5),
        ("a flat direction", 0.1, 0.0, 0.1, 0.5),
        ("a start that is far away already", 0.7, -1.0, 0.1, 0.5),
        ("a start that is exactly far enough", 0.5, -1.0, 0.1, 0.5),
        ("a start far away in a direction that curves upward", 0.7, 2.0, 0.1, 0.5),
    )
    return [Case(label, tuple(rest)) for label, *rest in tries]


EXERCISE = Exercise(
    task="Predict after how many steps a descent that starts near a ridge is far from it.",
    reference=escape_saddle,
    cases=cases,
    run=descents.quietly,
    difference=compare.whole,
)
