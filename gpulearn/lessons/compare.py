"""How a result differs from the expected one: a sentence, or None where it does not."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

__all__ = ["arrays", "numbers_or_none", "show", "tolerance"]


def show(value: Any) -> str:
    """A value as it can stand in a sentence: short, whatever it is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def is_number(value: Any) -> bool:
    """Whether a value is one real number (a truth value is none)."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, numbers.Real | np.number) and not isinstance(value, bool | np.bool_)


def numbers_or_none(got: Any, expected: Any, relative: float = 1e-9) -> str | None:
    """Compare two numbers, or None with None."""
    if expected is None and got is None:
        return None
    if got is None:
        return f"it returns nothing (None), expected {show(expected)}"
    if not is_number(got):
        kind = type(got).__name__
        return f"it returns {show(got)}, a {kind}; expected {show(expected)}"
    if expected is None or not abs(float(got) - expected) <= relative * abs(expected):
        return f"it returns {show(got)}, expected {show(expected)}"
    return None


def tolerance(dtype: np.dtype[Any]) -> float:
    """The relative tolerance for results of a dtype: some hundred roundings."""
    return float(256 * np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def arrays(got: Any, expected: np.ndarray) -> str | None:
    """Compare two arrays of numbers: shape first, then the first element that differs."""
    if got is None:
        return f"it returns nothing (None), expected an array of shape {expected.shape}"
    if not isinstance(got, np.ndarray) or got.dtype.kind not in "iuf":
        kind = got.dtype if isinstance(got, np.ndarray) else type(got).__name__
        return f"it returns a {kind}, expected a NumPy array of numbers"
    if got.shape != expected.shape:
        return f"it returns shape {got.shape}, expected {expected.shape}"
    scale = np.abs(expected).max(initial=0)
    close = np.isclose(
        got, expected, rtol=0, atol=tolerance(expected.dtype) * scale, equal_nan=True
    )
    if close.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~close)[0])
    count = int((~close).sum())
    return (
        f"{count} of {close.size} elements differ, first [{', '.join(map(str, where))}]: "
        f"{show(got[where])}, expected {show(expected[where])}"
    )
