"""What Numba makes of a function: its instructions, and the type of every variable."""

from __future__ import annotations

import math
import sys
import types as python_types
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numba import cuda, types
from numba.core.typing.typeof import Purpose, typeof
from numba.cuda import compiler as numba_compiler
from numba.cuda import dispatcher as numba_dispatcher
from numba.np.numpy_support import as_dtype

CC = (7, 5)


def bound_to_numba(fn: Any) -> Any:
    """The plain function behind `fn`, with `numba.cuda` wherever it names a look-alike."""
    fn = getattr(fn, "py_func", fn)
    names = {*fn.__code__.co_names, *fn.__code__.co_freevars}
    inner = [c for c in fn.__code__.co_consts if isinstance(c, python_types.CodeType)]
    for code in inner:
        names.update(code.co_names)
    scope = {n: _to_numba(v) for n, v in fn.__globals__.items() if n in names}
    cells = [python_types.CellType(_to_numba(c.cell_contents)) for c in fn.__closure__ or ()]
    scope["__builtins__"] = __builtins__
    twin = python_types.FunctionType(
        fn.__code__, scope, fn.__name__, fn.__defaults__, tuple(cells) or None
    )
    twin.__module__ = fn.__module__
    return twin


_twins: dict[int, tuple[Any, Any]] = {}


def _to_numba(value: Any) -> Any:
    if value is not None and value is sys.modules.get("gpulearn.cuda"):
        return cuda
    module = str(getattr(type(value), "__module__", ""))
    if hasattr(value, "py_func") and module.startswith("gpulearn"):
        # kept by identity, so that a function that calls itself finds its own twin
        if id(value) not in _twins:
            _twins[id(value)] = (value, cuda.jit(device=True)(bound_to_numba(value)))
        return _twins[id(value)][1]
    home = str(getattr(value, "__module__", ""))
    if home.startswith("gpulearn"):
        raise TypeError(f"the reference does not know {value!r}: name it through `cuda`")
    return value


@dataclass
class Code:
    """A function as Numba typed it for one list of argument types."""

    blocks: dict[int, list[Any]]
    first: int
    typemap: dict[str, Any]
    calltypes: dict[Any, Any]


_codes: dict[tuple[Any, tuple[Any, ...]], Code] = {}


def forget() -> None:
    """Drops what is known about functions: two thousand of them fill a gigabyte."""
    _codes.clear()
    _twins.clear()


def typed(fn: Any, argtypes: tuple[Any, ...], *, kernel: bool = False) -> Code:
    """Numba's own reading of `fn`; raises what Numba raises when it refuses."""
    key = (fn, argtypes)
    if key not in _codes:
        device = python_types.SimpleNamespace(compute_capability=CC)
        with mock.patch.object(numba_dispatcher, "get_current_device", return_value=device):
            note = _annotate(fn, types.void if kernel else None, argtypes)
        blocks = {
            label: [s for s in block.body if type(s).__name__ != "Del"]
            for label, block in note.blocks.items()
        }
        _codes[key] = Code(blocks, min(blocks), note.typemap, note.calltypes)
    return _codes[key]


class _Typed(Exception):
    """Ends Numba's compilation of one function once its types are known."""


def _annotate(fn: Any, result: Any, argtypes: tuple[Any, ...]) -> Any:
    """Numba's type annotation of `fn`; only the functions that it calls become code."""
    home = next(c for c in numba_compiler.NativeLowering.__mro__ if "run_pass" in vars(c))
    lower = home.run_pass

    def stop(self: Any, state: Any) -> Any:
        if state.func_id.func is fn:
            raise _Typed(state.type_annotation)
        return lower(self, state)

    with mock.patch.object(home, "run_pass", stop):
        try:
            numba_compiler.compile_cuda(fn, result, argtypes, cc=CC)
        except _Typed as typed:
            return typed.args[0]
    raise AssertionError("Numba compiled without lowering: its pipeline has changed")


def whole(value: float, wide: bool, kind: np.dtype[Any]) -> int:
    """A float as an integer: what PTX says of `cvt.rzi`, and Numba's code of 8 bits.

    These are cut from 16. `wide` is whether the float has 64 bits.
    """
    bits = 8 * max(2, kind.itemsize)
    low, high = (0, 2**bits - 1) if kind.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if math.isnan(value):
        number = 2 ** (bits - 1) if wide or bits == 64 else 0
    else:
        number = int(max(low, min(high, math.trunc(value) if math.isfinite(value) else value)))
    number %= 2 ** (8 * kind.itemsize)
    return number - 2 ** (8 * kind.itemsize) * (number > np.iinfo(kind).max)


def in_type(value: Any, kind: np.dtype[Any]) -> Any:
    """A number, or several, converted to a dtype."""
    if isinstance(value, float | np.float32) and kind.kind in "iu":
        return kind.type(whole(float(value), not isinstance(value, np.float32), kind))
    return np.asarray(value).astype(kind)[()]


_kinds: dict[Any, np.dtype[Any] | None] = {}


def kind_of(ty: Any) -> np.dtype[Any] | None:
    """The dtype of a number's type, None for anything else."""
    if ty not in _kinds:
        plain = types.unliteral(ty)
        number = isinstance(plain, (types.Number, types.Boolean))
        _kinds[ty] = as_dtype(plain) if number else None
    return _kinds[ty]


def cast(value: Any, ty: Any) -> Any:
    """`value` as Numba holds it in a variable of type `ty`."""
    kind = kind_of(ty)
    if kind is not None:
        if type(value) is kind.type:
            return value
        if isinstance(value, (int, np.integer)) and kind.kind in "iu":
            bits = 8 * kind.itemsize  # two's complement, whatever the size of the int
            wrapped = int(value) & ((1 << bits) - 1)
            if kind.kind == "i" and wrapped >> (bits - 1):
                wrapped -= 1 << bits
            return kind.type(wrapped)
        return in_type(value, kind)
    if isinstance(ty, types.Optional):
        return value if value is None else cast(value, ty.type)
    if isinstance(ty, types.BaseTuple) and isinstance(value, tuple):
        parts = ty.types if hasattr(ty, "types") else [ty.dtype] * len(value)
        new = [cast(v, t) for v, t in zip(value, parts, strict=True)]
        return type(value)(*new) if hasattr(value, "_fields") else tuple(new)
    return value


def typeof_argument(value: Any) -> Any:
    """The type that Numba gives to a kernel argument."""
    return typeof(value, Purpose.argument)
