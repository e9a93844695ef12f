"""Extensions: what `numba.cuda.extending` says functions, attributes and methods do in a kernel.

The body that Numba would compile for the types of the arguments is carried out as a device
function. What is given to Numba in LLVM's instructions (`intrinsic`, `lower_builtin`) has no
such body; the translator refuses it.
"""

import types
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import simt
import simt.intrinsics
from simt.core import registry
from simt.core.memory import View
from simt.device import numba_cuda
from simt.frontend.numba_extending import Chooser, has_type, member_bodies, overload_bodies
from simt.frontend.typecheck import numba_type
from simt.intrinsics.sync import GridGroup
from simt.machine.machine import Machine

NO_PYTHON_CODE = (
    "has no Python code for a kernel: Numba is given it as LLVM instructions, by @intrinsic or "
    "lower_builtin, and the SIMT machine carries out Python. Make it {}, or let "
    "xray(kernel, compiled=True) carry out what Numba compiles"
)
_LIBRARIES = ("builtins", "math", "cmath", "operator", "numpy", "numba", "numba_cuda")

_bodies: dict[tuple[Any, ...], registry.DeviceFunction] = {}


@registry.converter
def _overloaded_function(thing: Any) -> registry.Intrinsic | None:
    """A plain Python function for which overloads have been registered."""
    if type(thing) is not types.FunctionType or not numba_cuda.installed():
        return None  # without Numba nobody can have registered any
    bodies = overload_bodies(thing)
    return _extension(thing.__name__, bodies) if bodies else None


@registry.members
def _added_member(thing: Any, name: str) -> registry.Intrinsic | None:
    """An attribute or method that has been added to arrays or numbers."""
    number = isinstance(thing, np.ndarray | np.generic | bool | int | float | complex)
    if not (number or isinstance(thing, View)) or not numba_cuda.installed():
        return None
    bodies = member_bodies(_kind(thing), name)
    return _extension(name, bodies) if bodies else None


def is_lowered(thing: Any) -> bool:
    """Whether a program has registered an object with Numba that the machine cannot call."""
    home = getattr(thing, "_defn", thing)  # of an @intrinsic
    package = str(getattr(home, "__module__", "numba")).partition(".")[0]
    own = package not in (*_LIBRARIES, *simt.internal)
    return own and numba_cuda.installed() and has_type(thing)


_own_len = registry.callee(len).run


@registry.function(len)
def _len(m: Machine, thing: Any) -> Any:
    """`len(thing)`: what it is of a grid group, only an overload can say."""
    if isinstance(thing, GridGroup):
        return _extension("len", overload_bodies(len)).run(m, thing)
    return _own_len(m, thing)


def _extension(name: str, choosers: Sequence[Chooser]) -> registry.Intrinsic:
    def run(m: Machine, *args: Any, **kwargs: Any) -> Any:
        body = _body(m, name, choosers, args, kwargs)
        plain = {name: _value(value) for name, value in kwargs.items()}
        return m.call(body, *map(_value, args), **plain)

    return registry.Intrinsic(name, run, literals=True)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, registry.Literal) else value


def _body(
    m: Machine, name: str, choosers: Sequence[Chooser], args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> registry.DeviceFunction:  # fmt: skip
    kinds = [_kind(a) for a in args]
    named_kinds = {name: _kind(value) for name, value in keywords.items()}
    key = (*choosers, *kinds, *named_kinds.items())
    if key not in _bodies:
        bodies = (_choose_body(chooser, kinds, named_kinds) for chooser in choosers)
        body = next((b for b in bodies if b is not None), None)
        if body is None:
            types_given = ", ".join(map(str, kinds))
            raise m.stop("not-a-kernel", f"no overload of {name} takes ({types_given})")
        _bodies[key] = registry.DeviceFunction(body)
    return _bodies[key]


def _choose_body(chooser: Chooser, kinds: list[Any], keywords: dict[str, Any]) -> Any:
    """The body for types: as Numba does, literal ones are tried before plain ones or after."""
    from numba.core.errors import NumbaError
    from numba.types import unliteral

    choose, literal_first = chooser
    plain = [unliteral(k) for k in kinds], {name: unliteral(k) for name, k in keywords.items()}
    for some, others in ((kinds, keywords), plain) if literal_first else (plain, (kinds, keywords)):
        with suppress(NumbaError):
            body = choose(*some, **others)
            if body is not None:
                return body
    return None


def _kind(value: Any) -> Any:
    """The Numba type of a value; a number for each thread has that of its element."""
    if isinstance(value, str):
        value = registry.Literal(value)  # no kernel has another
    from numba import types as numba_types

    if isinstance(value, registry.Literal):
        return numba_types.literal(value.value)
    if isinstance(value, registry.DeviceFunction | registry.LocalFunction | registry.Intrinsic):
        return numba_types.undefined  # a function's type decides nothing here
    if isinstance(value, GridGroup):
        from numba.cuda.types import grid_group

        return grid_group
    return numba_type(value.dtype.type(0) if isinstance(value, np.ndarray) else value)
