"""The largest stable learning rate of gradient descent, 2/λmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.landscapes import surface
from gpulearn.optim.numerical import largest_stable_step
from gpulearn_lessons.gradient_descent import descents

answers = Answers(largest_stable_step)

ALL = "np.linalg.eigvalsh(hessian)"
STEEPEST = f"{ALL}.max()"
LIMIT = "2 / steepest if steepest > 0 else np.inf"


def turned(*eigenvalues: float, seed: int) -> Any:
    """A symmetric matrix with these eigenvalues, whose axes do not lie along the parameters."""
    axes, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))
    return axes @ np.diag(eigenvalues) @ axes.T


def cases() -> list[Case]:
    """Curvatures along the axes and askew, of both signs, and none that is above zero."""
    matrices = (
        ("one parameter of curvature 4", np.array([[4.0]])),
        ("curvatures 1 and 25 along the axes", np.diag([1.0, 25.0])),
        ("curvatures 9, 2 and 5 along the axes", np.diag([9.0, 2.0, 5.0])),
        ("a matrix that is not diagonal", np.array([[2.0, 1.5], [1.5, 3.0]])),
        ("the Rosenbrock valley's minimum", surface("Rosenbrock").hessian_at_minimum),
        ("four parameters, not along the axes", turned(0.3, 7.0, 1.0, 2.0, seed=1)),
        ("a saddle that falls faster than it rises", turned(-10.0, 2.0, 1.0, seed=2)),
        ("curvatures below zero only", turned(-1.0, -4.0, seed=3)),
        ("a plane without any curvature", np.zeros((2, 2))),
        ("a flat bowl, of curvatures 0.02 and 0.05", turned(0.02, 0.05, seed=4)),
        ("a matrix of whole numbers", np.array([[6, 2], [2, 3]])),
        ("whole numbers whose curvatures are none", np.array([[1, 1], [1, 2]])),
        ("a wall, of curvatures up to 4e6", turned(3.0, 4e6, seed=5)),
        ("a nearly level bowl, of curvature 2e-7", np.array([[2e-7]])),
        ("a bowl of curvatures 1e-9 and 3e-10", np.diag([1e-9, 3e-10])),
    )
    return [Case(label, (matrix,)) for label, matrix in matrices]


def difference(got: Any, expected: Any) -> str | None:
    """Compare two numbers, either of which may be infinite or none at all."""
    if compare.is_number(got) and compare.is_number(expected):
        one, other = float(got), float(expected)
        if one == other or (math.isnan(one) and math.isnan(other)):
            return None
        if not math.isfinite(other):
            return f"it returns {one:.6g}, expected {other}"
    return compare.results(got, expected)  # a known wrong answer returns an array


answers.edit(
    {"2 / steepest": "1 / steepest"},
    "that is 1/λmax, with which the steepest direction arrives in one step; it may overshoot "
    "to the other side, up to 2/λmax.",
)
answers.edit(
    {"max()": "min()"}, "that takes the smallest eigenvalue: the largest is the first to overshoot."
)
answers.edit(
    {"max()": "min()", LIMIT: "2 / steepest"},
    "that takes the smallest eigenvalue, and below zero too: the largest is the first to "
    "overshoot, and where none is above zero the limit is np.inf.",
)
answers.edit(
    {STEEPEST: ALL, LIMIT: "(2 / steepest).min()"},
    "that takes the smallest of all 2/λ, and where λ is below zero that is below zero as well: "
    "only the eigenvalues above zero set a limit.",
)
answers.edit(
    {STEEPEST: ALL, LIMIT: "min(2 / one for one in steepest if one > 0)"},
    "where no eigenvalue is above zero, none is left to take the smallest limit of: return np.inf "
    "there.",
)
answers.edit(
    {STEEPEST: "np.trace(hessian)"},
    "that takes the trace, which is the sum of the eigenvalues: take the largest.",
)
answers.edit(
    {"max()": "mean()"},
    "that takes the mean of the eigenvalues: the largest is the first to overshoot.",
)
answers.edit(
    {STEEPEST: "np.linalg.det(hessian)"},
    "that takes the determinant, the product of the eigenvalues: take the largest.",
)
answers.edit(
    {ALL: "np.diag(hessian)"},
    "that takes the largest entry of the diagonal, and the eigenvalues stand there only where the "
    "matrix is diagonal: use np.linalg.eigvalsh.",
)
answers.edit(
    {ALL: "hessian"}, "that takes the largest entry of the matrix: use np.linalg.eigvalsh."
)
answers.edit(
    {ALL: f"np.abs({ALL})"},
    "that takes the eigenvalue of largest size, and one below zero has no say: downhill of it "
    "nothing is overshot.",
)
answers.edit(
    {STEEPEST: "np.linalg.norm(hessian)"},
    "that takes the root of the sum of all squares, which np.linalg.norm gives: take the largest "
    "eigenvalue.",
)
answers.edit(
    {ALL: "np.abs(hessian).sum(axis=1)"},
    "that takes the largest sum of a row, which is only a bound of the eigenvalues.",
)
answers.edit(
    {STEEPEST: "np.linalg.eigvals(hessian)[0]"},
    "that takes the first eigenvalue as np.linalg.eigvals gives them, in no order: take the "
    "largest.",
)
answers.edit(
    {STEEPEST: "np.linalg.eigvals(hessian)[-1]"},
    "that takes the last eigenvalue as np.linalg.eigvals gives them, in no order: take the "
    "largest.",
)
answers.edit({LIMIT: "steepest"}, "that is λmax itself: the largest step is 2 divided by it.")
answers.edit({LIMIT: "steepest / 2"}, "the fraction is upside down: 2/λmax.")
answers.edit(
    {STEEPEST: f"{ALL}.min() + {STEEPEST}"},
    "that is 2/(λmin + λmax), the step with which the slowest direction is fastest; stable are "
    "steps up to 2/λmax.",
)
answers.edit(
    {"2 / steepest": "2 / steepest**2"}, "that divides by the square of λmax: divide by λmax."
)
answers.edit(
    {STEEPEST: ALL, LIMIT: "2 / steepest"},
    "that returns one limit for each direction: the smallest of them holds for all.",
)
answers.edit(
    {LIMIT: "2 / steepest"},
    "where no eigenvalue is above zero, nothing is overshot, and 2/λmax is below zero or has "
    "zero below the line: return np.inf there.",
)
answers.edit(
    {LIMIT: "min(2 / steepest, 1.0) if steepest > 0 else np.inf"},
    "that is never above 1: a flat bowl bears larger rates.",
)
answers.edit(
    {"np.inf": "1e9"},
    "where no eigenvalue is above zero, return np.inf: whatever large number stands there, a "
    "larger rate overshoots nothing either.",
)
answers.edit(
    {"np.inf": "0.0"},
    "where no eigenvalue is above zero, no step overshoots: that is no limit, np.inf, and not 0.",
)
answers.edit(
    {"np.inf": "None"}, "where no eigenvalue is above zero, return np.inf, a number, and not None."
)
answers.edit(
    {STEEPEST: f"{ALL}.astype(hessian.dtype).max()"},
    "the eigenvalues are cut to whole numbers where the entries are whole: keep them as "
    "np.linalg.eigvalsh gives them, in floating point.",
)
answers.edit(
    {"if steepest > 0": "if steepest > 1e-6"},
    "a curvature that is small is taken for none: however small, if it is above zero it sets a "
    "limit, a large one.",
)


@answers.right
def by_loop(hessian: Any) -> Any:
    limit = float("inf")
    for eigenvalue in np.linalg.eigh(hessian).eigenvalues:
        if eigenvalue > 0:
            limit = min(limit, 2 / eigenvalue)
    return limit


answers.variant({STEEPEST: "max(np.linalg.eigvals(hessian).real)"})


EXERCISE = Exercise(
    task="Find the largest stable learning rate, 2/λmax, of a Hessian; np.inf where λmax ≤ 0.",
    reference=largest_stable_step,
    cases=cases,
    run=descents.quietly,
    difference=difference,
    answers=answers,
)
