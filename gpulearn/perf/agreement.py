"""A result held against its oracle's, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput, GpulearnError

__all__ = ["WrongResultError", "agree"]

Array = np.ndarray[Any, Any]


class WrongResultError(GpulearnError):
    """A kernel or a library computed something else than its oracle."""


def agree(
    what: str, got: Any, wanted: Any, tolerance: float = 0.0, says: str = "NumPy says"
) -> None:
    """Hold an array against what it must be.

    Args:
        what: what was computed, for the message.
        got: the array, on the device or the host. Where it holds words of several numbers,
            `wanted` has the numbers, and is as many times longer.
        wanted: the array that it must be; a masked element may be anything, and NaN must be NaN.
        tolerance: of each element, relative to the largest finite one; 0 for exact.
        says: by whom, for the message.

    Raises:
        WrongResultError: an element is further off than `tolerance`.
        BadInput: the arrays have different shapes.
    """
    got = np.asarray(got.copy_to_host() if hasattr(got, "copy_to_host") else got)
    free = np.ma.getmaskarray(wanted) if np.ma.isMaskedArray(wanted) else np.False_
    wanted = np.asarray(np.ma.getdata(wanted))
    if got.shape != wanted.shape and got.itemsize > wanted.itemsize:
        got = got.view(wanted.dtype)
    if got.shape != wanted.shape:
        raise BadInput(f"{what} has shape {got.shape} where {says} {wanted.shape}.")
    wrong = ~(_near(got, wanted, tolerance) | free)
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise WrongResultError(
            f"{what} is wrong in {int(wrong.sum()):,} of {wrong.size:,} elements, first in "
            f"{first}: {require.shown(got[first])} where {says} {require.shown(wanted[first])}."
        )


def _near(got: Array, wanted: Array, tolerance: float) -> Array:
    """Where two arrays agree; NaN agrees with NaN alone."""
    equal: Array = (got == wanted) | ((got != got) & (wanted != wanted))
    if tolerance:
        finite = wanted[np.isfinite(wanted)]
        bound = tolerance * float(np.abs(finite).max(initial=0))
        with np.errstate(invalid="ignore"):  # infinity less infinity
            equal |= np.abs(got.astype(np.float64) - wanted) <= bound
    return equal
