"""All right kernels: what the machine, the reference and Numba's simulator are held to."""

from __future__ import annotations

from . import (
    right_arrays,
    right_basic,
    right_exchange,
    right_language,
    right_shared,
    right_values,
    right_warp,
)
from .cases import Case

CASES: list[Case] = [
    *right_basic.CASES,
    *right_arrays.CASES,
    *right_values.CASES,
    *right_language.CASES,
    *right_shared.CASES,
    *right_exchange.CASES,
    *right_warp.CASES,
]
