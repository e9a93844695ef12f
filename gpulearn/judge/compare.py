"""How a result differs from the expected one, and what several wrong numbers have in common."""

import math
import numbers
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn.require import shown

NOTHING = "it returns nothing (None): does it end with return?"

EQUAL = 1e-6  # relative; the numbers that are compared come from a few roundings
NEAR = 1e-3


def is_number(value: Any) -> bool:
    """Whether a value is one real number (a truth value is none)."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    real = isinstance(value, numbers.Real | np.integer | np.floating)
    return real and not isinstance(value, bool | np.bool_)


def numbers_or_none(got: Any, expected: Any, relative: float = 1e-9) -> str | None:
    """Compare two numbers, or None with None."""
    if expected is None and got is None:
        return None
    if got is None:
        return NOTHING
    if not is_number(got):
        return odd(got) or f"it returns {_with_type(got)}, expected {shown(expected)}"
    # two answers are compared as well, so that neither need be a number
    if not is_number(expected) or not _close(got, expected, relative):
        return f"it returns {shown(got)}, expected {shown(expected)}"
    return None


def same_numbers(one: Any, other: Any, relative: float = 1e-9) -> bool:
    """Whether two results are the same numbers, however many and in whatever they stand."""
    try:
        return bool(np.allclose(np.asarray(one, float), np.asarray(other, float), rtol=relative))
    except (OverflowError, TypeError, ValueError):
        return False


def odd(got: Any) -> str | None:
    """What is wrong with something that is no result at all, or None."""
    if isinstance(got, types.GeneratorType):
        return "it yields its results one by one: write return, not yield"
    if isinstance(got, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return f"it returns the function {got.__name__} itself: call it, with ()"
    return None


def _with_type(got: Any) -> str:
    text = shown(got)
    return text if text.startswith("an object of") else f"{text} ({type(got).__name__})"


def _close(got: Any, expected: Any, relative: float) -> bool:
    if isinstance(got, int) and isinstance(expected, int):
        return got == expected  # however large
    if isinstance(expected, int) and isinstance(got, np.float16 | np.float32):
        return bool(np.isfinite(got)) and int(got) == expected  # too coarse for a tolerance
    try:
        return _near(float(got), float(expected), relative)
    except OverflowError:  # an integer beyond the largest float
        return False


def tolerance(dtype: np.dtype[Any]) -> float:
    """The relative tolerance for results of a dtype: some hundred roundings."""
    return float(256 * np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def alike(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where two arrays of one shape agree, relative to the largest expected element."""
    finite = np.abs(expected[np.isfinite(expected)])
    allowed = tolerance(expected.dtype) * float(finite.max(initial=0))
    return np.asarray(np.isclose(got, expected, rtol=0, atol=allowed, equal_nan=True))


def arrays(got: Any, expected: np.ndarray) -> str | None:
    """Compare two arrays of numbers: shape first, then the first element that differs."""
    if got is None:
        return NOTHING
    if isinstance(got, tuple) and any(isinstance(item, np.ndarray) for item in got):
        if len(got) == 1:
            return "it returns a tuple with the array in it: take away the comma after the result"
        return f"it returns {len(got)} things, expected one array"
    if isinstance(got, list | tuple):
        return f"it returns a {type(got).__name__}; wrap it in np.array"
    if not isinstance(got, np.ndarray) or isinstance(got, np.ma.MaskedArray | np.matrix):
        return odd(got) or f"it returns {_with_type(got)}, expected a plain NumPy array"
    got = np.asarray(got)
    if got.dtype.kind not in "iuf":
        return f"it returns an array of {got.dtype}, expected numbers"
    if got.shape != expected.shape:
        return f"it returns shape {got.shape}, expected {expected.shape}"
    close = alike(got, expected)
    if close.all():
        return None
    coarser = got.dtype.kind == expected.dtype.kind == "f" and got.itemsize < expected.itemsize
    if coarser and alike(expected, got).all():
        return f"it returns an array of {got.dtype}, which is too coarse for {expected.dtype}"
    where, index = first(~close)
    return (
        f"{(~close).sum()} of {close.size} elements differ, first {index}: "
        f"{shown(got[where])}, expected {shown(expected[where] + 0)}"  # + 0: no −0.0
    )


def first(places: np.ndarray) -> tuple[tuple[int, ...], str]:
    """The first place of an array that is true, and how it is written: [2, 3]."""
    where = tuple(int(i) for i in np.argwhere(places)[0])
    return where, f"[{', '.join(map(str, where))}]"


def results(got: Any, expected: Any) -> str | None:
    """Compare two results as what is expected asks for: arrays, numbers, or None with None."""
    if isinstance(expected, np.ndarray) and expected.ndim:
        return arrays(got, expected)
    return numbers_or_none(got, expected)


def whole(got: Any, expected: Any) -> str | None:
    """Compare two numbers as `results` does; a whole one by its type too."""
    sentence = results(got, expected)
    if not sentence and isinstance(expected, int) and np.asarray(got).dtype.kind == "f":
        return f"it returns {shown(got)}: an integer is asked for"
    return sentence


def told_apart(wrong: float, right: float) -> str:
    """Both numbers with six digits, or as many more as it takes to see that they differ.

    >>> told_apart(0.25, 0.5)
    '0.25, expected 0.5'
    >>> told_apart(0.1, 0.1 + 1e-9)
    '0.1, expected 0.100000001'
    """
    for digits in range(6, 18):
        one, other = f"{wrong:.{digits}g}", f"{right:.{digits}g}"
        if one != other:
            break
    return f"{one}, expected {other}"


def wrong_numbers(got: np.ndarray, expected: np.ndarray, allowed: float) -> str | None:
    """How many numbers are further off than allowed, and the first of them, or None.

    >>> wrong_numbers(np.array([1.0, 5.0]), np.array([1.0, 2.0]), allowed=0.1)
    '1 of 2 numbers wrong, first [1]: 5, expected 2'
    """
    wrong = np.asarray(~(np.abs(got - expected) <= allowed))  # NaN is wrong
    if not wrong.any():
        return None
    where, index = first(wrong)
    which = f", first {index}" if where else ""
    numbers = told_apart(got[where], expected[where])
    return f"{wrong.sum()} of {expected.size} numbers wrong{which}: {numbers}"


def relation(got: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """One sentence on how all results of an answer lie to the expected ones, or None.

    >>> relation([2, 4, 10], [1, 2, 5])
    'in every case it is 2 times what it should be'
    """
    if len(got) < 2 or not all(map(is_number, [*got, *expected])):
        return None
    try:
        pairs = [(float(g), float(e)) for g, e in zip(got, expected, strict=True)]
    except OverflowError:
        return None
    if all(g == e for g, e in pairs):
        return None  # it is no number that is wrong
    known = [(g, e) for g, e in pairs if e != 0]
    if len(known) > 1 and all(g == 0 for g, e in pairs if e == 0):
        factor = known[0][0] / known[0][1]
        if all(_near(g, e, NEAR) for g, e in known):
            return (
                "in every case it is nearly right: a number of fewer digits, such as a float32, or "
                "rounding, has lost the rest"
            )
        if factor and math.isfinite(factor) and all(_near(g, factor * e, EQUAL) for g, e in known):
            return f"in every case it is {factor:.4g} times what it should be"
        if all(_near(g * e, 1.0, EQUAL) for g, e in known):
            return "in every case it is upside down, 1 divided by what it should be"
    more = pairs[0][0] - pairs[0][1]
    if not more or not math.isfinite(more) or not all(_near(g, e + more, EQUAL) for g, e in pairs):
        return None
    return f"in every case it is too {'large' if more > 0 else 'small'} by {abs(more):.4g}"


def _near(one: float, other: float, relative: float) -> bool:
    if one == other or not math.isfinite(other):
        return one == other  # what is finite is not near infinity
    return abs(one - other) <= relative * abs(other)
