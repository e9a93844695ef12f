"""All right kernels: what the machine is held to."""

from importlib.util import find_spec

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

KNOWN: list[Case] = [
    *right_basic.CASES,
    *right_arrays.CASES,
    *right_values.CASES,
    *right_language.CASES,
    *right_shared.CASES,
    *right_exchange.CASES,
    *right_warp.CASES,
]
CASES = [case for case in KNOWN if case.alone or find_spec("numba_cuda")]
