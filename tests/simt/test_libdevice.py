"""libdevice's functions, and the other parts of `numba.cuda` by their names."""

import math
from typing import Any

import numba.cuda.libdevicefuncs
import numpy as np
import pytest
from numba.cuda import libdevice

from simt.core.registry import callee
from simt.core.values import dtype_of
from simt.errors import KernelError

from .sources import computed

TABLE = {name[5:]: types for name, types in numba.cuda.libdevicefuncs.functions.items()}
HALF, SINGLE = np.float16, np.float32


def call(name: str, *values: Any) -> Any:
    with np.errstate(all="ignore"):
        return callee(getattr(libdevice, name)).run(None, *values)


NOT_HERE = ("rd", "ru", "rz")  # roundings in a direction, but for conversions to whole numbers
MISSING = {"erfcx", "j0", "j1", "jn", "y0", "y1", "yn", "remquo"}


@pytest.mark.parametrize("name", TABLE)
def test_a_function_of_libdevice_has_numba_s_types_or_is_named_as_missing(name: str) -> None:
    result, arguments = TABLE[name]
    given = [np.dtype(str(a.ty)) for a in arguments if not a.is_ptr]
    if name.removesuffix("f") in MISSING or (
        name.endswith(NOT_HERE) and (given[0].kind == "i" or "2" not in name or "2f" in name)
    ):
        text = ", ".join(f"np.{dtype}(1)" for dtype in given)
        with pytest.raises(KernelError, match=f"libdevice.{name} is not supported"):
            computed(f"cuda.libdevice.{name}({text})" + "[0]" * ("remquo" in name))
        return
    wanted = [np.dtype(str(a.ty)) for a in arguments if a.is_ptr]
    wanted = wanted if str(result) == "none" else [np.dtype(str(result)), *wanted]
    for values in ([1] * len(given), [np.ones((1, 3), d) for d in given]):
        got = call(name, *values)
        parts = got if isinstance(got, tuple) else (got,)
        assert [dtype_of(p) for p in parts] == wanted


VALUES: dict[str, Any] = {
    "mulhi(1 << 30, 16)": 4, "mulhi(-1, 16)": -1, "umulhi(-1, 16)": 15, "mul24(-3, 4)": -12,
    "umul24(0x1000002, 4)": 8, "mul64hi(1 << 62, 16)": 4, "umul64hi(-1, 2)": 1,
    "sad(1, 5, 3)": 7, "usad(-1, 0, 0)": -1, "hadd(3, 6)": 4, "rhadd(3, 6)": 5,
    "uhadd(-1, -1)": -1, "max(-3, 6)": 6, "umax(-3, 6)": -3, "min(-3, 6)": -3, "ullmin(-3, 6)": 6,
    "abs(-3)": 3, "llabs(-3)": 3, "popc(-1)": 32, "popcll(-1)": 64, "clz(1)": 31, "clzll(1)": 63,
    "ffs(8)": 4, "ffsll(0)": 0, "brev(1)": -(2**31), "brevll(1)": -(2**63),
    "byte_perm(0x03020100, 0x07060504, 0x7410)": 0x07040100,
    "round(2.5)": 3, "round(-2.5)": -3, "round(0.49999999999999994)": 0, "rint(2.5)": 2,
    "llround(-0.5)": -1, "llrint(3.5)": 4, "float2int_rz(np.float32(-2.7))": -2,
    "double2int_rn(3e9)": 2**31 - 1, "double2int_rd(-3e9)": -(2**31), "double2ll_ru(1e30)": 2.0**63,
    "float2int_rn(np.float32(math.nan))": 0, "double2int_rn(math.nan)": -(2**31),
    "double2uint_rn(4e9)": 4_000_000_000 - 2**32, "uint2double_rn(-1)": 2**32 - 1,
    "powi(2.0, -3)": 0.125, "scalbn(1.5, 3)": 12, "logb(10.0)": 3, "ilogb(0.3)": -2,
    "normcdf(0.0)": 0.5, "erfinv(0.0)": 0, "erfcinv(1.0)": 0, "normcdfinv(1.0)": math.inf,
    "tgamma(5.0)": 24, "exp10(2.0)": 100, "fdim(1.0, 3.0)": 0, "saturatef(np.float32(7))": 1,
    "isnand(math.nan)": 1, "isinff(np.float32(1))": 0, "signbitd(-0.0)": 1,
    "hiloint2double(0x3FF80000, 0)": 1.5, "double2hiint(1.5)": 0x3FF80000, "double2loint(1.5)": 0,
    "half2float(0x3C00)": 1, "float2half_rn(np.float32(1))": 0x3C00, "fma(2.0, 3.0, 4.0)": 10,
    "int_as_float(0x3F800000)": 1, "float_as_int(np.float32(-1.5))": 0x3FC00000 - 2**31,
    "double_as_longlong(1.5)": 0x3FF8 << 48, "longlong_as_double(0x3FF8 << 48)": 1.5,
    "sincos(0.5)[1]": math.cos(0.5), "modf(8.5)[0]": 0.5,
    "frexp(8.0)[1]": 4, "remainder(3.5, 2.0)": -0.5, "sincospi(0.5)[0]": 1,
}  # fmt: skip


def test_values_of_libdevice() -> None:
    names = {"libdevice": libdevice, "np": np, "math": math}
    for expression, want in VALUES.items():
        function, _, rest = expression.partition("(")
        arguments = eval(f"({rest.partition('[')[0][:-1]},)", names)
        got = call(function, *arguments)
        got = got[int(rest[-2])] if rest[-1] == "]" else got
        assert float(got) == pytest.approx(want, rel=1e-15), expression


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("cuda.uint8(300) + cuda.int32(7.9)", 51),
        ("cuda.float32(0.1)", float(np.float32(0.1))),
        ("cuda.libdevice.int_as_float(0x3F80000040000000 + i)", 2),
        ("cuda.clz(i < 9) + 10 * cuda.clz(i > 9)", 87),  # a bool has eight bits
        ("cuda.types.int16(70000)", 4464),
        ("cuda.shared.array(3, cuda.float32).size", 3),
        ("(7).bit_count() + np.int32(-1).bit_count()", 35),
        ("cuda.fp16.htanh(np.float16(1))", float(np.tanh(HALF(1)))),
        ("cuda.selp(i >= 0, 5, 6) + cuda.cbrt(27.0)", 8),
        ("float('inf')", math.inf),
        ("cuda.float32x4(cuda.float32x2(1, 2), 3, 4).y", 2),
        ("cuda.uchar4(300, 1, 2, 3).x", 44),
    ],
)
def test_what_numba_cuda_names(expression: str, want: float) -> None:
    assert computed(expression) == want
