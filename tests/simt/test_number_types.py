"""Every operator, math function and built-in on every pair of number types.

The type of the result is the one that Numba's own inference gives; the value is what plain
Python or NumPy computes in the types to which Numba converts the operands.
"""

import builtins
import functools
import itertools
import math
import operator
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.cuda import types
from numba.cuda.descriptor import cuda_target
from numba.np.numpy_support import from_dtype

from simt import intrinsics
from simt.core.arithmetic import BINARY, COMPARE, UNARY
from simt.core.registry import callee
from simt.core.values import dtype_of, normal
from simt.device import numba_cuda

from . import reference

assert intrinsics.__path__  # importing them has registered what follows
WHOLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
KINDS = [*WHOLE, "float16", "float32", "float64", "complex64", "complex128"]
OPERATORS = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor, "Eq": operator.eq, "NotEq": operator.ne,
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert, "Not": operator.not_,
}  # fmt: skip
VALUES = ["max", "min", "pow", "divmod"]
BUILTINS = ["abs", "round", "int", "float", "bool", "complex", "max", "min", "pow", "divmod"]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    **{f"math.{n}": f for n, f in vars(math).items() if callable(f) and n[0] != "_"},
    **{name: getattr(builtins, name) for name in BUILTINS},
}
TABLES = {**BINARY, **COMPARE, **UNARY}


def ours(name: str) -> Callable[..., Any] | None:
    """How the machine computes a function."""
    if name in TABLES:
        return TABLES[name]
    run = getattr(callee(FUNCTIONS[name]), "run", None)
    return None if run is None else lambda *values: run(None, *values)


def signature(function: Callable[..., Any], kinds: tuple[str, ...]) -> Any:
    """Numba's signature for a call; None if it has none."""
    numba_cuda.load()
    cuda_target.typing_context.refresh()
    given = tuple(from_dtype(np.dtype(kind)) for kind in kinds)
    try:
        return cuda_target.typing_context.resolve_function_type(function, given, {})
    except Exception:
        return None


def result_type(ty: Any) -> Any:
    if hasattr(ty, "types"):
        return tuple(map(result_type, ty.types))
    return np.dtype(str(getattr(ty, "literal_type", ty)))


def type_of(value: Any) -> Any:
    return tuple(map(type_of, value)) if isinstance(value, tuple) else dtype_of(value)


def converted(value: Any, ty: Any) -> Any:
    """A number, or a tuple of them, in a type of Numba's."""
    if isinstance(value, tuple):
        return tuple(converted(*pair) for pair in zip(value, ty.types, strict=True))
    return reference.cast(value, from_dtype(result_type(ty)))


def edges(kind: str) -> np.ndarray:
    dtype = np.dtype(kind)
    if kind == "bool":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, info.max // 3, info.max, info.min]
        return np.array(values if dtype.kind == "u" else [*values, -1], kind)
    if dtype.kind == "c":
        return np.array([0, 1, -1j, 2.5 - 1j, -2 + 3j], kind)
    top = np.finfo(dtype).max
    return np.array([0, -0.0, 1, -1, 2.5, -0.5, 3, top, -top, np.inf, -np.inf, np.nan], kind)


@functools.cache
def signatures(name: str, count: int) -> list[tuple[tuple[str, ...], Any]]:
    known = (
        (kinds, signature(FUNCTIONS[name], kinds))
        for kinds in itertools.product(KINDS, repeat=count)
    )
    return [
        (kinds, found)
        for kinds, found in known
        # complex() of a real and a complex part has a type and no code
        if found is not None and not (name == "complex" and count == 2 and "complex" in str(kinds))
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_has_the_type_that_numba_infers(name: str) -> None:
    run, wrong = ours(name), []
    for kinds, numbas in signatures(name, 1) + signatures(name, 2):
        want = result_type(numbas.return_type)
        lanes = [edges(kind)[None, :2] for kind in kinds]
        for given in (lanes, [normal(lane[0, 1]) for lane in lanes]):
            with np.errstate(all="ignore"):
                got = type_of(run(*given)) if run else None
            if got != want:
                wrong.append(f"{name}{kinds}: {got}, Numba infers {want}")
    assert wrong == []


def python(name: str, values: list[Any]) -> Any:
    """The value by plain Python or NumPy; None where there is none to compare with."""
    function, whole = FUNCTIONS[name], all(isinstance(v, int | np.integer) for v in values)
    if name in ("LShift", "RShift") and not 0 <= values[1] < 64:
        return None
    if name in ("Pow", "pow"):
        if np.iscomplexobj(values) or not 0 <= values[1] <= 3 or values[1] % 1:
            return None
        return function(int(values[0]) if whole else values[0], int(values[1]))
    if name in ("FloorDiv", "Mod", "divmod"):
        if whole and (not values[1] or values == [np.iinfo(np.int64).min, -1]):
            return (0, 0) if name == "divmod" else 0  # what Numba leaves out
        return np.divmod(*values) if name == "divmod" else function(*values)
    if name in ("max", "min"):
        floats = all(isinstance(v, np.float32 | np.float64) for v in values)
        return {"max": np.fmax, "min": np.fmin}[name](*values) if floats else function(values)
    if name not in OPERATORS or name == "Div":
        return np.true_divide(*values) if name == "Div" else None
    if isinstance(values[0], int | np.integer) and isinstance(values[1], int | np.integer):
        return function(*map(int, values))  # exact, however large
    return function(*values)


@pytest.mark.parametrize("name", [*BINARY, *COMPARE, *VALUES])
def test_a_value_is_that_of_the_types_numba_converts_to(name: str) -> None:
    run, wrong = ours(name), []
    close = (
        functools.partial(math.isclose, rel_tol=1e-6) if name in ("Pow", "pow") else operator.is_
    )  # NumPy has two powf
    known = signatures(name, 2)
    for kinds, numbas in random.Random(name).sample(known, min(len(known), 40)):
        if name in ("FloorDiv", "Mod") and numbas.return_type in types.integer_domain:
            operands = (numbas.return_type,) * 2
        elif len(numbas.args) == 1:  # max and min of such types as of a tuple
            operands = numbas.args[0].types
        else:
            operands = numbas.args
        pairs = list(itertools.product(*map(edges, kinds)))
        lanes = [
            np.array(side).astype(k)[None]
            for side, k in zip(zip(*pairs, strict=True), kinds, strict=True)
        ]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = run(*lanes)
            for n, pair in enumerate(pairs):
                want = python(name, [converted(v, t) for v, t in zip(pair, operands, strict=True)])
                if want is None:
                    continue
                want = converted(want, numbas.return_type)
                mine = [tuple(g[0, n] for g in got) if isinstance(got, tuple) else got[0, n]]
                if name in COMPARE:  # of numbers that are the same for all threads
                    mine.append(run(*(normal(side[0, n]) for side in lanes)))
                for value in mine:
                    if not (np.array_equal(value, want, equal_nan=True) or close(value, want)):
                        wrong.append(f"{name}{pair} of {kinds}: {value}, should be {want}")
    assert wrong == []
