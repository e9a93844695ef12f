"""Numbers with fewer bits: what rounding to them does to a matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput


def round_mantissa(x: np.ndarray, bits: int) -> np.ndarray:
    """Round float32 values to `bits` stored bits of significand, from 1 to 23, ties to even.

    With 7 bits these are bfloat16's numbers and with 10 TF32's, since both keep float32's
    exponent. Infinities and NaN stay what they are.

    >>> round_mantissa(np.array([3.14159265], dtype=np.float32), 7)
    array([3.140625], dtype=float32)
    """
    if getattr(x, "dtype", None) != np.float32:
        raise BadInput(f"x is {getattr(x, 'dtype', type(x).__name__)}: give a float32 array.")
    bits = require.whole("bits", bits)
    if bits > 23:
        raise BadInput(f"bits is {bits}: float32 stores 23 bits of significand, give 1 to 23.")
    drop = np.uint32(23 - bits)
    pattern = np.ascontiguousarray(x).view(np.uint32)
    if drop == 0:
        return x.copy()
    # Adding just under a half, plus the lowest kept bit, rounds ties to even; a carry out of
    # the significand lands in the exponent, which is what rounding up to a power of two is.
    half = (np.uint32(1) << (drop - np.uint32(1))) - np.uint32(1)
    lowest = (pattern >> drop) & np.uint32(1)
    rounded = (pattern + half + lowest) >> drop << drop
    result: np.ndarray = np.where(np.isfinite(x), rounded.view(np.float32), x)
    return result


def relative_error(c: Any, exact: np.ndarray) -> float:
    """The error of a matrix against the exact one: ‖C − exact‖ / ‖exact‖ (Frobenius norm)."""
    if np.asarray(c).dtype.kind not in "iuf" or np.asarray(exact).dtype.kind not in "iuf":
        raise BadInput(f"c is {require.shown(c)}: give two arrays of numbers.")
    if np.shape(c) != np.shape(exact):
        raise BadInput(
            f"c has shape {np.shape(c)} and exact {np.shape(exact)}: they must be equal."
        )
    if not np.any(exact):
        raise BadInput("exact is all zeros: a relative error needs something to relate to.")
    difference = np.asarray(c, dtype=np.float64) - exact
    return float(np.linalg.norm(difference) / np.linalg.norm(exact))
