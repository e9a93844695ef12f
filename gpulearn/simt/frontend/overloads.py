"""Overloads: what `numba.cuda.extending.overload` says a function does in a kernel.

The body that Numba would compile for the types of the arguments is carried out as a device
function.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

import gpulearn.simt.intrinsics  # noqa: F401 - what the machine has itself is asked for first
from gpulearn.simt.core.registry import DeviceFunction, Intrinsic, LocalFunction, converter
from gpulearn.simt.frontend.numba_bridge import overload_bodies
from gpulearn.simt.frontend.typecheck import numba_type
from gpulearn.simt.machine.machine import Machine

__all__: list[str] = []

_bodies: dict[tuple[Any, ...], DeviceFunction] = {}


@converter
def _overloaded(thing: Any) -> Intrinsic | None:
    """A plain Python function for which overloads have been registered."""
    if type(thing) is not types.FunctionType or not overload_bodies(thing):
        return None

    def run(m: Machine, *args: Any, **named: Any) -> Any:
        return m.call(_body(m, thing, args, named), *args, **named)

    return Intrinsic(thing.__name__, run)


def _body(
    m: Machine, function: types.FunctionType, args: tuple[Any, ...], named: dict[str, Any]
) -> DeviceFunction:
    kinds = [_kind(a) for a in args]
    named_kinds = {name: _kind(value) for name, value in named.items()}
    key = (function, *kinds, *named_kinds.items())
    if key not in _bodies:
        bodies = (choose(*kinds, **named_kinds) for choose in overload_bodies(function))
        body = next((b for b in bodies if b is not None), None)
        if body is None:
            types_given = ", ".join(map(str, kinds))
            message = f"no overload of {function.__name__} takes ({types_given})"
            raise m.stop("not-a-kernel", message)
        _bodies[key] = DeviceFunction(body)
    return _bodies[key]


def _kind(value: Any) -> Any:
    """The Numba type of a value; a number for each thread has that of its element."""
    if isinstance(value, DeviceFunction | LocalFunction | Intrinsic):
        from numba import types as numba_types

        return numba_types.undefined  # a function's type decides nothing here
    return numba_type(value.dtype.type(0) if isinstance(value, np.ndarray) else value)
