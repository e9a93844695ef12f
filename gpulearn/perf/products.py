"""The matrix product that is timed: random factors, and torch's call with or without copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpulearn import require

__all__ = ["COPIES", "float32_products", "prepared_product", "random_matrix"]

COPIES = ("none", "pageable", "pinned")


def prepared_product(
    a: np.ndarray, b: np.ndarray, dtype: str, copies: str, on: str
) -> Callable[[], Any]:
    """The call that multiplies two float32 matrices of the host; it returns torch's result.

    The factors are rounded to `dtype` and put where `copies` says before; for TF32 call it
    within `float32_products`.
    """
    torch = require.package("torch", "Timing matrix products")
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    host = [torch.from_numpy(m).to(kind) for m in (a, b)]
    if copies == "none":
        x, y = (m.to(on) for m in host)
        return lambda: x @ y
    x, y = (m.pin_memory() for m in host) if copies == "pinned" else host
    z = torch.empty_like(x)
    if copies == "pinned":
        z = z.pin_memory()
    return lambda: z.copy_(x.to(on) @ y.to(on))


@contextmanager
def float32_products(torch: Any, tf32: bool) -> Iterator[None]:
    """Let torch multiply float32 matrices in TF32, or keep it from doing so."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def random_matrix(n: int, seed: int) -> np.ndarray:
    """A float32 matrix (n, n) of normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal((n, n), dtype=np.float32)
