"""The matrix product C = A·B: from its definition, what it costs, and what rounding does to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.kernels.specification import Array


@require.shapes(a="m n", b="n p")
def matmul_loops(a: Array, b: Array) -> Array:
    """C = A·B by three loops: C[i, j] = Σ_k A[i, k]·B[k, j], with A (m, n) and B (n, p).

    The product (m, p) has the dtype that NumPy gives to products of the two.

    >>> matmul_loops(np.array([[1, 2]]), np.array([[3], [4]]))
    array([[11]])
    """
    m, n = a.shape
    p = b.shape[1]
    c = np.zeros((m, p), dtype=np.result_type(a, b))
    for i in range(m):
        for j in range(p):
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]
    return c


@require.sizes("m", "n", "p")
def matmul_flops(m: int, n: int, p: int) -> int:
    """Count the floating-point operations of C = A·B with A (m, n) and B (n, p): 2·m·n·p.

    Each of the m·p elements takes n products and n additions (the first is added to zero;
    this is the count that vendors' peak rates assume).

    >>> matmul_flops(2, 3, 4)
    48
    """
    return 2 * m * n * p


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
