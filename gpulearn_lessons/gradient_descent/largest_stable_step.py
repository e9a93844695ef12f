"""The largest stable learning rate of gradient descent, 2/λmax."""

import math
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.landscapes import surface
from gpulearn.optim.numerical import largest_stable_step
from gpulearn_lessons.gradient_descent import descents


def turned(*eigenvalues: float, seed: int) -> Any:
    """A symmetric matrix with these eigenvalues and eigenvectors off the axes."""
    axes, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))
    return axes @ np.diag(eigenvalues) @ axes.T


def cases() -> list[Case]:
    """Curvatures along the axes and not, of both signs, and none that is positive."""
    matrices = (
        ("one parameter of curvature 4", np.array([[4.0]])),
        ("curvatures 1 and 25 along the axes", np.diag([1.0, 25.0])),
        ("curvatures 9, 2 and 5 along the axes", np.diag([9.0, 2.0, 5.0])),
        ("a matrix that is not diagonal", np.array([[2.0, 1.5], [1.5, 3.0]])),
        ("the Rosenbrock valley's minimum", surface("Rosenbrock").hessian_at_minimum),
        ("four parameters, not along the axes", turned(0.3, 7.0, 1.0, 2.0, seed=1)),
        ("a saddle that falls faster than it rises", turned(-10.0, 2.0, 1.0, seed=2)),
        ("only negative curvatures", turned(-1.0, -4.0, seed=3)),
        ("a plane, without curvature", np.zeros((2, 2))),
        ("a flat bowl, of curvatures 0.02 and 0.05", turned(0.02, 0.05, seed=4)),
        ("a matrix of integers", np.array([[6, 2], [2, 3]])),
        ("integers with fractional eigenvalues", np.array([[1, 1], [1, 2]])),
        ("a steep valley, of curvatures up to 4e6", turned(3.0, 4e6, seed=5)),
        ("a nearly flat bowl, of curvature 2e-7", np.array([[2e-7]])),
        ("a bowl of curvatures 1e-9 and 3e-10", np.diag([1e-9, 3e-10])),
    )
    return [Case(label, (matrix,)) for label, matrix in matrices]


def difference(got: Any, expected: Any) -> str | None:
    """Compare two numbers, either of which may be infinite or NaN."""
    if isinstance(got, float | np.floating) and isinstance(expected, float | np.floating):
        one, other = float(got), float(expected)
        if one == other or (math.isnan(one) and math.isnan(other)):
            return None
        if not math.isfinite(other):
            return f"it returns {one:.6g}, expected {other}"
    return compare.results(got, expected)  # a known wrong answer returns an array


EXERCISE = Exercise(
    task="Return the largest stable learning rate for a Hessian, 2/λmax, or np.inf if λmax ≤ 0.",
    reference=largest_stable_step,
    cases=cases,
    run=descents.quietly,
    difference=difference,
)
