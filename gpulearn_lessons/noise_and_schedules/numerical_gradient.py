"""The numerical gradient by central differences, from only the values of a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.optim.numerical import numerical_gradient

Array = np.ndarray[Any, Any]

# What is forgiven, relative to the largest slope: h may be chosen in more than one way.
TOLERANCES = {"float64": 1e-7, "float32": 1e-3}
# Below these h, for an x of about one, rounding makes a larger error than that.
MIN_H = {"float64": 1e-3 * float(np.cbrt(np.finfo(np.float64).eps)), "float32": 5e-5}
# From these h on, for an x of about one, functions that bend as usual are no longer straight.
MAX_H = {"float64": 3e-4, "float32": 0.5}


@dataclass(frozen=True)
class GradientOutcome:
    gradient: Array  # what was returned
    sides: str  # "ahead" or "behind" of x, "both" or "none": where values were asked for
    # whether h does for x: "fit", "narrow", "wide"; "uneven", narrow for some entries only; or
    # "still", where an entry that is zero is never moved
    width: str
    near: bool  # whether x is a place where the usual widths do
    close: bool  # whether the result is within a third of the slope
    alone: bool  # whether each entry was moved while all others were at their place


def bent(x: Array) -> Any:
    """Bent in each entry, and in each another way."""
    weights = np.arange(1, x.size + 1, dtype=x.dtype).reshape(x.shape)
    return (weights * np.sin(x + weights) + weights * x**3).sum()


def curved(x: Array) -> Any:
    """A steep parabola, for which central differences are exact at any h."""
    return 0.5e6 * (np.arange(1, x.size + 1) * x**2).sum()


def far(x: Array) -> Any:
    """Bent so little that only steps of hundreds are felt, and steps of millions go wrong."""
    return (np.arange(1, x.size + 1) * ((x / 1e8) ** 2 + (x / 1e8) ** 3)).sum()


def far_and_near(x: Array) -> Any:
    """As flat as that in the first entry, and bent in the others."""
    return (x[0] / 1e8) ** 2 + np.sin(x[1:]).sum()


def together(x: Array) -> Any:
    """Steep along each entry, by as much as the others are large."""
    return np.exp(x.sum())


def cases() -> list[Case]:
    """Shapes and places in which each way to choose h, and each mixed-up index, shows."""
    rng = np.random.default_rng(1)

    def place(*shape: int) -> Array:
        return rng.uniform(0.5, 1.5, size=shape)

    tries = (
        ("a vector of three", bent, place(3)),
        ("a matrix of shape (2, 3)", bent, place(2, 3)),
        ("a steep parabola", curved, np.array([1e-2, -2e-2, 5e-3])),
        ("entries that are zero", bent, np.array([0.0, 1.5, 0.0])),
        ("entries near 1e8", far, np.array([1e8, -3e8])),
        ("one entry near 1e8 and two near 1", far_and_near, np.array([1e8, 1.5, 0.7])),
        ("a float32 vector", bent, place(3).astype(np.float32)),
        ("an array of three axes", bent, place(2, 1, 2)),
        ("a transposed matrix", bent, place(2, 3).T),
        ("entries that interact", together, place(3)),
    )
    return [Case(label, (function, x)) for label, function, x in tries]


def run(answer: Callable[..., Any], case: Case) -> GradientOutcome:
    function, x = case.args
    start, points = x.copy(), []

    def watched(point: Any) -> Any:
        point = np.array(point)
        if point.dtype.kind == "c":
            raise Violation("it calls function with complex numbers, but x is real")
        if point.shape != start.shape:
            raise Violation(
                f"it calls function with an array of shape {point.shape}, but x has {start.shape}"
            )
        points.append(point - start)
        return function(point)

    with np.errstate(all="ignore"):
        gradient = answer(watched, x)
    if isinstance(gradient, np.generic | float):
        raise Violation("it returns one number, expected one for each entry of x")
    if not isinstance(gradient, np.ndarray):
        raise Violation(compare.arrays(gradient, start))
    return GradientOutcome(gradient, *_manner(np.asarray(gradient), function, start, points))


def _manner(
    gradient: Array, function: Any, x: Array, points: list[Array]
) -> tuple[str, str, bool, bool, bool]:
    """Sides, width, near, close and alone of a `GradientOutcome`."""
    moves = np.array(points) if points else np.zeros((1, *x.shape))
    ahead, behind = bool((moves > 0).any()), bool((moves < 0).any())
    sides = {(True, True): "both", (True, False): "ahead", (False, True): "behind"}
    near = x.dtype == np.float64 and bool(np.abs(x).max() < 1e3)
    truth = numerical_gradient(function, x)
    close = gradient.shape == truth.shape and bool(hardly(gradient, truth, 0.3).all())
    alone = bool(((moves != 0).reshape(len(moves), -1).sum(axis=1) <= 1).all())
    return sides.get((ahead, behind), "none"), _width(moves, x), near, close, alone


def _width(moves: Array, x: Array) -> str:
    """How far the entries of x were moved, beside what does for their size and dtype."""
    farthest = np.abs(moves).max(axis=0) / np.maximum(1.0, np.abs(x))
    narrow = farthest < MIN_H[str(x.dtype)]
    if ((farthest == 0) & (x == 0)).any():  # elsewhere rounding may have swallowed the move
        return "still"
    if narrow.any():
        return "narrow" if narrow.all() else "uneven"
    return "wide" if (farthest > MAX_H[str(x.dtype)]).any() else "fit"


def hardly(got: Array, expected: Array, allowed: float | None = None) -> Array:
    """Where two gradients hardly differ, relative to the largest expected slope."""
    finite = np.abs(expected[np.isfinite(expected)])
    allowed = TOLERANCES[str(expected.dtype)] if allowed is None else allowed
    nearest = allowed * float(finite.max(initial=0))
    return np.asarray(np.isclose(got, expected, rtol=0, atol=nearest, equal_nan=True))


def difference(got: GradientOutcome, expected: GradientOutcome) -> str | None:
    """Shape, then values as close as central differences come, then dtype."""
    one, other = got.gradient, expected.gradient
    if one.shape == other.shape and one.dtype.kind in "iuf":
        one = np.where(hardly(one, other), other, one)  # what hardly differs counts as equal
    sentence = compare.arrays(one, other)
    if sentence is None and got.gradient.dtype != other.dtype:
        return f"it returns {got.gradient.dtype}, expected {other.dtype} as x is"
    return sentence


def same_manner(got: GradientOutcome, known: GradientOutcome) -> bool:
    """Whether a result is about as good as a known one, and off for the same reason.

    From one side only, the width does not matter. A result that is far from the slope although
    its width fits is off for another reason than its manner.
    """
    if got.gradient.shape != known.gradient.shape or got.gradient.dtype != known.gradient.dtype:
        return False
    if got.alone != known.alone:
        return False
    one_sided = known.sides in ("ahead", "behind")
    lost = "none" in (got.sides, known.sides) and not got.near  # moves that rounding has swallowed
    if got.sides != known.sides and not lost:
        return False
    if got.near and (one_sided or known.width == "fit") and not (got.close and known.close):
        return False
    return one_sided or got.width == known.width


EXERCISE = Exercise(
    task="Compute the gradient of a function at x by central differences, entry by entry.",
    reference=numerical_gradient,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(lambda got, known: difference(got, known) is None, same_manner),
)
