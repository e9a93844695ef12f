"""Notebook 01: square products by size, arithmetic and way of copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.kernels.precision import MANTISSA_BITS
from gpulearn.perf.matmul_times import (
    COPIES,
    float32_products,
    prepared_product,
    random_matrix,
    runs_here,
)
from gpulearn.perf.recorders.measuring import WrongResultError, agree, host_seconds, timed
from gpulearn.perf.recordings import Recording, recorded_here

__all__ = ["record_matmul"]

REHEARSAL = {"sizes": (16, 64), "dtypes": ("float32", "bfloat16"), "on": "cpu"}

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
DTYPES = ("float64", "float32", "tf32", "bfloat16", "float16")
LONGEST = 0.5  # seconds of one product; larger ones that would take longer are left out
CHECKED = 16  # rows of each product


def record_matmul(
    sizes: Sequence[int] = SIZES, dtypes: Sequence[str] = DTYPES, on: str = "cuda"
) -> Recording:
    """Time n × n products by arithmetic, without copies and with copies of both kinds.

    Args:
        sizes: the n, ascending.
        dtypes: arithmetics; those that the GPU has no units for are left out.
        on: "cuda", or "cpu" to rehearse, without copies.

    Returns:
        Rows with `n`, `dtype`, `copies` ("none", "pageable", "pinned") and `seconds`.
    """
    require.package("torch", "Recording")
    return recorded_here("matmul", _rows(sizes, dtypes, on), on)


def _rows(sizes: Sequence[int], dtypes: Sequence[str], on: str) -> Iterator[dict[str, Any]]:
    ways = COPIES if on == "cuda" else ("none",)
    kinds = [(d, way) for d in dtypes if on == "cpu" or runs_here(d) for way in ways]
    too_long: set[tuple[str, str]] = set()
    for n in require.ascending("sizes", sizes):
        a, b = (random_matrix(n, seed) for seed in (1, 2))
        wanted = a[:CHECKED].astype(np.float64) @ b
        for dtype, way in kinds:
            if (dtype, way) in too_long:
                continue
            fields = {"n": n, "dtype": dtype, "copies": way}
            with float32_products(require.package("torch", "Recording"), dtype == "tf32"):
                row = timed(fields, _product(a, b, dtype, way, on, wanted), host_seconds)
            yield row
            refused = "error" in row and WrongResultError.__name__ not in row["error"]
            if refused or row.get("seconds", 0) > LONGEST / 8:
                too_long.add((dtype, way))


def _product(
    a: np.ndarray, b: np.ndarray, dtype: str, way: str, on: str, wanted: np.ndarray
) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        multiply = prepared_product(a, b, dtype, way, on)
        got = multiply()[:CHECKED].double().cpu().numpy()
        # factors and result are rounded, and so are the sums, which float32 or float64 holds
        sums = 2.0 ** -min(max(MANTISSA_BITS[dtype], 23), 52)
        agree(f"{dtype} product, n = {len(a)}", got, wanted, _bound(dtype, len(a), sums))
        return multiply

    return prepare


def _bound(dtype: str, n: int, sums: float) -> float:
    """Well above rounding, well below a wrong result; relative to the largest element."""
    return float(4 * 2.0 ** -MANTISSA_BITS[dtype] + 4 * np.sqrt(n) * sums)
