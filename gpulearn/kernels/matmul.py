"""The matrix product C = A·B, from its definition, and what it costs."""

from __future__ import annotations

import numpy as np

from gpulearn import require
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
