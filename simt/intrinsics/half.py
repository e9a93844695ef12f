"""Half precision: the functions of `cuda.fp16`."""

from typing import Any

import numpy as np

from simt.core.arithmetic import COMPARE
from simt.core.registry import intrinsic
from simt.core.values import Value, cast, cast_up, normal
from simt.intrinsics.math import larger, smaller
from simt.machine.machine import Machine

HALF = np.dtype(np.float16)


def _half(name: str, compute: Any, *, compare: bool = False) -> None:
    @intrinsic(f"fp16.{name}")
    def operate(m: Machine, *values: Value) -> Value:
        result = compute(*(cast_up(v, HALF) for v in values))
        return normal(result) if compare else cast(result, HALF)

    operate.__doc__ = f"`cuda.fp16.{name}`, computed in float16."


for _name, _ufunc in {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.true_divide,
    "hneg": np.negative, "habs": np.abs, "hsin": np.sin, "hcos": np.cos, "hlog": np.log,
    "hlog2": np.log2, "hlog10": np.log10, "hexp": np.exp, "hexp2": np.exp2,
    "hfloor": np.floor, "hceil": np.ceil, "hsqrt": np.sqrt, "hrint": np.rint,
    "htrunc": np.trunc, "htanh": np.tanh,
    "htanh_approx": np.tanh, "hrcp": np.reciprocal, "hmax": larger, "hmin": smaller,
}.items():  # fmt: skip
    _half(_name, _ufunc)
_half("hexp10", lambda v: np.power(HALF.type(10), v))
_half("hrsqrt", lambda v: HALF.type(1) / np.sqrt(v))
_half("hfma", lambda a, b, c: np.float64(a) * b + c)
for _name in ("eq", "ne", "ge", "gt", "le", "lt"):
    _word = {"eq": "Eq", "ne": "NotEq", "ge": "GtE", "gt": "Gt", "le": "LtE", "lt": "Lt"}[_name]
    _half(f"h{_name}", COMPARE[_word], compare=True)
