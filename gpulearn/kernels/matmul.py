"""The matrix product C = A·B, from its definition, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require

__all__ = ["matmul_flops", "matmul_loops"]

Matrix = np.ndarray[tuple[int, int], Any]


@require.shapes(a="m n", b="n p")
def matmul_loops(a: Matrix, b: Matrix) -> Matrix:
    """C = A·B by three loops: C[i, j] = Σ_k A[i, k]·B[k, j].

    Args:
        a: matrix of shape (m, n).
        b: matrix of shape (n, p).

    Returns:
        The product, of shape (m, p) and of the dtype that NumPy gives to products of the two.

    Raises:
        BadInput: an argument is no matrix, or the inner sizes differ.

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

    Raises:
        BadInput: a size is not a whole number above zero.

    >>> matmul_flops(2, 3, 4)
    48
    """
    return 2 * m * n * p
