"""NumPy functions of a number: those run for which Numba's CUDA target has code."""

import warnings
from typing import Any

import numba.cuda
import numpy as np
import pytest
from numba.cuda import compiler, types

from simt import cuda
from simt.errors import KernelError
from simt.frontend.numba_bridge import any_device
from simt.frontend.numba_errors import no_code

from . import sources
from .harness import launch

UFUNCS = sorted({u.__name__ for u in vars(np).values() if isinstance(u, np.ufunc)})
# what the CUDA target lowers in numba-cuda 0.22 to 0.30; before that, and in numba 0.60, all of
# these but conjugate, divide and isnan
LOWERED = {
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and",
    "bitwise_or", "bitwise_xor", "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide",
    "equal", "fmax", "fmin", "greater", "greater_equal", "hypot", "invert", "isnan", "left_shift",
    "less", "less_equal", "log", "log10", "log2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "not_equal", "rad2deg", "radians", "right_shift", "sin",
    "sinh", "tan", "tanh",
}  # fmt: skip


def source(name: str) -> str:
    call = f"np.{name}({', '.join(['a[i]'] * getattr(np, name).nin)})"
    return f"def kernel(a, out):\n    i = cuda.grid(1)\n    r = {call}\n    out[i] = 1\n"


def numbas_verdict(name: str, kind: Any) -> str:
    """The class of the error with which Numba ends when it makes code; "" if it does."""
    kernel = sources.module(source(name), numba.cuda).kernel
    arguments = types.Array(kind, 1, "C"), types.Array(types.float64, 1, "C")
    with any_device(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiler.compile_cuda(kernel, types.void, arguments, cc=(8, 0))
        except Exception as error:
            return type(error).__name__
    return ""


def ours(name: str, dtype: Any) -> str:
    a = np.ones(4, dtype)
    try:
        launch(sources.module(source(name), cuda).kernel, 1, 4, a, np.zeros(4))
    except KernelError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_runs_where_numba_makes_code_for_it(name: str) -> None:
    """Numba's own lowering is asked, which needs no compiler; so is the list here."""
    if getattr(np, name).signature is not None:
        return
    verdicts = {k: numbas_verdict(name, k) for k in (types.float64, types.int64)}
    assert ("" in verdicts.values()) == (name in LOWERED)
    for kind, dtype in ((types.float64, np.float64), (types.int64, np.int64)):
        verdict, said = verdicts[kind], ours(name, dtype)
        assert bool(verdict) == bool(said)
        if verdict == "KeyError":
            assert no_code(f"np.{name}", True) in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("exp", "Numba's CUDA target has no code for np.exp: write math.exp(x)"),
        ("power", "write x ** y"),
        ("isnan", "numba-cuda before 0.22 has no code for np.isnan: write math.isnan"),
        ("spacing", "compute it from functions of math"),
    ],
)
def test_the_sentence_says_what_to_write(name: str, said: str) -> None:
    assert said in no_code(f"np.{name}", True)


def test_a_device_function_is_judged_with_its_kernel() -> None:
    made = sources.module(
        "@cuda.jit(device=True)\ndef root(x):\n    return np.sqrt(x)\n\n"
        "def kernel(out):\n    out[0] = root(2.0)\n",
        cuda,
    )
    with pytest.raises(KernelError, match=r"line 3: .*no code for np.sqrt"):
        launch(made.kernel, 1, 1, np.zeros(1))
    other = sources.module("def kernel(out):\n    out[0] = root(2.0)\n", cuda, root=made.root)
    with pytest.raises(KernelError, match="np.sqrt, which a device function calls"):
        launch(other.kernel, 1, 1, np.zeros(1))
