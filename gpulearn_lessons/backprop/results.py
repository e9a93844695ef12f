"""How answers of notebook 12 are run, and how several results are compared."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Violation
from gpulearn.nn.autograd import Variable
from gpulearn.require import shown


def quietly(answer: Answer, case: Case) -> Any:
    """Call an answer without NumPy's warnings: an overflow shows in its result."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return answer(*case.args)


def named(*names: str) -> Callable[[Any, Any], str | None]:
    """A comparison of several results, which are returned together and known by these names.

    >>> named("loss", "gradient")((1.0, np.zeros(2)), (2.0, np.zeros(2)))
    'loss: it returns 1.0, expected 2.0'
    """
    listing = " and ".join(names)

    def difference(got: Any, expected: tuple[Any, ...]) -> str | None:
        if got is None:
            return compare.NOTHING
        if not isinstance(got, tuple | list):
            return f"it returns one result, {shown(got)}, expected {listing}"
        if len(got) != len(names):
            return f"it returns {len(got)} results, expected {listing}"
        for name, one, other in zip(names, got, expected, strict=True):
            compared = compare.arrays if np.ndim(other) else number
            if sentence := compared(one, other):
                return f"{name}: {sentence}"
        return None

    return difference


def number(got: Any, expected: Any) -> str | None:
    """Compare two floating-point numbers, to some hundred roundings."""
    return compare.numbers_or_none(got, expected, compare.tolerance(np.asarray(expected).dtype))


def same(one: Any, other: Any) -> bool:
    """Whether two results, of an answer and of a known mistake, are the same behavior."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if compare.is_number(one) and compare.is_number(other):
        one, other = np.atleast_1d(one), np.atleast_1d(other)
    return isinstance(other, np.ndarray) and compare.arrays(one, other) is None


def without(name: str) -> AbstractContextManager[Any]:
    """Refuse an answer that calls the method of a Variable which does what is to be written.

    >>> with without("order"):
    ...     (2 * Variable(1.0)).order()
    Traceback (most recent call last):
    ...
    gpulearn.judge.exercise.Violation: it calls .order(), which does just that: write it yourself
    """

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Violation(f"it calls .{name}(), which does just that: write it yourself")

    return patch.object(Variable, name, refuse)
