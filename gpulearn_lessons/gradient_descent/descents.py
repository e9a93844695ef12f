"""Tests of a step function: several steps in a row, so that its memory matters."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Violation
from gpulearn.require import shown

Array = np.ndarray[Any, Any]


def descent(
    label: str,
    shape: tuple[int, ...],
    *,
    seed: int,
    rates: Sequence[float],
    size: float = 1.0,
    dtype: type = np.float64,
    zero: bool = False,
    state: Any = None,
    **options: float,
) -> Case:
    """A starting point, and a gradient of some size for each step, one step per rate.

    With `zero` the slope of the first parameter is always zero; `state` is that of the steps made
    before, in the form that the task specifies; `options` are more arguments of the step function.
    """
    rng = np.random.default_rng(seed)
    theta: Array = rng.uniform(0.5, 2.0, size=shape).astype(dtype, order="F")
    gradients: Array = (size * rng.normal(size=(len(rates), *shape))).astype(dtype)
    if zero:
        gradients[:, 0] = 0.0
    label += ", θ in Fortran order" * (len(shape) > 1)
    return Case(label, (theta, gradients, tuple(rates), options, state))


def run(answer: Callable[..., Any], case: Case) -> list[Any]:
    """The parameters after each step; each step gets the state that the last one returned.

    Between the steps another descent makes a step, as when two models are trained in turn: a step
    function that keeps its memory outside of its state mixes them up.
    """
    theta, gradients, rates, options, state = case.args
    path = []
    with np.errstate(all="ignore"):
        for gradient, lr in zip(gradients, rates, strict=True):
            arguments = {"theta": theta, "gradient": gradient.copy(), "state": state}
            before = copy.deepcopy(arguments)
            result = answer(*arguments.values(), lr=lr, **options)
            if not isinstance(result, tuple | list) or len(result) != 2:
                if result is None:
                    raise Violation(compare.NOTHING)
                what = "an array" if isinstance(result, np.ndarray) else shown(result)
                raise Violation(f"it returns {what}, expected two things: the new theta and state")
            for name, value in arguments.items():
                if not _same(value, before[name]):
                    raise Violation(f"it changes the {name} that it is given")
            theta, state = result
            if not isinstance(theta, np.ndarray):
                kind = type(theta).__name__
                raise Violation(
                    f"its first result is {shown(theta)} ({kind}), expected the new theta, an array"
                )
            path.append(theta)
            answer(1 + np.abs(theta), -gradient, None, lr=lr, **options)
    return path


def hands_back(
    form: str, state_of: Callable[..., Any]
) -> Callable[[Callable[..., Any], Sequence[Any]], str | None]:
    """A demand: the returned state has the form that the task specifies.

    An answer with a form of its own may make the right steps, but other readers of the state, such
    as a checkpoint, cannot use it. `form` describes the right one, such as "the velocity, an
    array"; `state_of` is the solution.
    """

    def demand(answer: Callable[..., Any], outcomes: Sequence[Any]) -> str | None:
        theta, gradient = np.array([[1.0, 2.0, -3.0]]), np.array([[0.5, -4.0, 0.25]])
        _, back = answer(theta, gradient.copy(), None, lr=0.1)
        _, expected = state_of(theta, gradient, None, lr=0.1)
        if _has_form_of(back, expected):
            return None
        return f"the steps are right, but the returned state has the wrong form: it must be {form}."

    return demand


def _has_form_of(state: Any, expected: Any) -> bool:
    """Whether a state has the same parts in the same places, with the same numbers."""
    if isinstance(expected, tuple):
        return (
            isinstance(state, tuple | list)
            and len(state) == len(expected)
            and all(map(_has_form_of, state, expected))
        )
    if isinstance(expected, np.ndarray) and not hasattr(state, "shape"):
        return False  # a tensor may stand in for an array; a number may not
    return np.shape(state) == np.shape(expected) and np.allclose(state, expected, rtol=1e-5)


def _same(one: Any, other: Any) -> bool:
    """Whether two states hold the same numbers, in whatever containers."""
    if isinstance(one, np.ndarray) and one.dtype != object:
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, tuple | list | np.ndarray):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if hasattr(one, "__dict__"):
        return _same(vars(one), vars(other))
    return one is None or bool(one == other) or bool(one != one)  # NaN is not itself


def difference(got: Any, expected: Any) -> str | None:
    """The first step after which the parameters differ, and how."""
    for step, (one, other) in enumerate(zip(got, expected, strict=False), start=1):
        sentence = compare.arrays(one, other)
        if sentence is None and one.dtype != other.dtype:
            sentence = f"it returns {one.dtype} parameters, expected {other.dtype} as theta is"
            if one.dtype == np.float64:
                sentence += (
                    ": a float64 array or NumPy number, such as np.sqrt of a Python number, makes "
                    "all float64"
                )
        if sentence:
            return f"step {step}: {sentence}"
    return None


def quietly(answer: Callable[..., Any], case: Case) -> Any:
    """Call an answer without NumPy's warnings: a division by zero shows in its result."""
    with np.errstate(all="ignore"):
        return answer(*case.args)
