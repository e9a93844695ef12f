"""Signatures: the types that a kernel or a device function declares, and what comes into them."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.memory import View, at_address
from simt.core.values import cast, settle
from simt.device import numba_cuda
from simt.frontend.kinds import kind_of, number_dtype
from simt.frontend.numba_bridge import device_of
from simt.frontend.numba_errors import in_words
from simt.frontend.typecheck import argument_types, give_up


def signature_types(signature: Any) -> tuple[tuple[Any, ...], Any] | None:
    """The types of the arguments, and of the result if it is said, of a signature.

    None where Numba cannot be asked.
    """
    try:
        numba_cuda.load()
        from numba.core import sigutils
    except ImportError as moved:
        give_up(moved)
        return None
    arguments, result = sigutils.normalize_signature(signature)
    return tuple(arguments), result


def chosen(name: str, declared: Sequence[tuple[Any, ...]], actual: tuple[Any, ...]) -> Any:
    """The declared argument types that Numba chooses for the actual ones."""
    words = ", ".join(in_words(str(kind)) for kind in actual)
    message = f"No matching definition of {name} for arguments such as {words}"
    try:
        signature = _resolved(name, declared, actual, allow_ambiguous=False)
        if signature is not None:
            return tuple(signature.args)
    except TypeError:  # which says so in Numba's way
        message = f"several signatures of {name} fit these arguments equally well: {words}"
    raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))


def _resolved(name: str, declared: Sequence[tuple[Any, ...]], actual: Any, **how: bool) -> Any:
    """The signature of those with declared argument types that Numba chooses, or None."""
    from numba.core import types
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    signatures = [types.void(*arguments) for arguments in declared]
    return context.resolve_overload(name, signatures, actual, {}, **how)


def conversion(kernel: str, name: str, want: Any, actual: Any) -> Callable[[Any], Any]:
    """A function that converts an argument of the type `actual` to the declared `want`."""
    from numba import types

    tuples = isinstance(want, types.BaseTuple) and isinstance(actual, types.BaseTuple)
    if tuples and len(want) == len(actual):
        parts = [conversion(kernel, name, w, g) for w, g in zip(want, actual, strict=True)]
        return lambda value: tuple(part(v) for part, v in zip(parts, value, strict=True))
    dtype, number = number_dtype(want), number_dtype(actual)
    if dtype is not None and (number is not None or isinstance(actual, types.EnumMember)):
        return lambda value: _number(kernel, name, dtype, value)
    if isinstance(want, types.CPointer) and isinstance(actual, types.Integer):
        return lambda value: _view_at(int(value), number_dtype(want.dtype), name)
    same = want == actual
    if isinstance(want, types.Array) and isinstance(actual, types.Array):
        layouts = want.layout in ("A", actual.layout) or (want.ndim == 1 and actual.layout == "C")
        same = layouts and want.ndim == actual.ndim and _same_bits(want.dtype, actual.dtype)
        if same and want.dtype != actual.dtype:
            element: Any = number_dtype(want.dtype)
            return lambda v: View(v.allocation, element, v.shape, v.strides, v.offset, v.name)
    if not same:
        words = in_words(str(want)), in_words(str(actual))
        if words[0] == words[1] and isinstance(want, types.Array):
            words = words[0] + _ORDER[want.layout], words[1] + _ORDER[actual.layout]
        raise _not_declared(kernel, name, *words)
    return lambda value: value


_ORDER = {"C": ", row after row", "F": ", column after column", "A": ", in strides of its own"}


def _same_bits(element: Any, other: Any) -> bool:
    """Whether a launch may take elements for others: nothing looks at them, here nor on a GPU."""
    both = number_dtype(element), number_dtype(other)
    whole = all(dtype is not None and dtype.kind in "iu" for dtype in both)
    return element == other or (whole and element.bitwidth == other.bitwidth)


def _view_at(address: int, dtype: Any, name: str) -> View:
    """A view from an address to the end of its allocation."""
    target = at_address(address)
    if target is None:
        message = f"{name} points to {address:#x}, where no array of the SIMT machine's lies"
        raise Stop(Finding("not-a-kernel", None, message, array=name))
    allocation, offset = target
    count = (allocation.data.size - offset) // dtype.itemsize
    return View(allocation, dtype, (count,), (dtype.itemsize,), offset, name)


def _not_declared(kernel: str, name: str, want: str, actual: str) -> Stop:
    message = (
        f"the signature of {kernel} says that {name} is {want}, "
        f"and it is given {actual}: without a signature it takes what comes"
    )
    return Stop(Finding("not-a-kernel", None, message, array=name, errors=(TypeError,)))


_C_TYPES = {"float32": "c_float", "float64": "c_double", "bool": "c_bool"}


def _number(kernel: str, name: str, dtype: np.dtype[Any], value: Any) -> Any:
    """A number as a launch hands it over: by ctypes, which takes no fraction for a whole one."""
    try:
        if dtype.kind == "c":
            value = complex(value.real, value.imag)
        elif dtype.itemsize > 2 or dtype.kind != "f":
            value = getattr(ctypes, _C_TYPES.get(str(dtype), f"c_{dtype}"))(value).value
        elif isinstance(value, complex | np.complexfloating):
            raise TypeError
        return cast(value, dtype)
    except TypeError:
        want = in_words(str(dtype))
        raise _not_declared(kernel, name, want, f"{value!r}") from None


def device_call(dispatcher: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The types for which the versions are compiled that a call may take, and the arguments.

    They are converted to what a declared signature says. None stands for all versions, where
    there is one, or it is not known which of them a call takes.
    """
    real = device_of(dispatcher)
    compiled = list(real.overloads) if real is not None else []
    if not compiled or (real._can_compile and len(compiled) == 1):
        return None, args
    if real._can_compile:
        actual = argument_types(_one_lane(args)) if all(map(_has_type, args)) else None
        return tuple(version for version in compiled if _plain(version) == actual) or None, args
    kinds = compiled[0] if len(compiled) == 1 else _best_match(dispatcher, compiled, args)
    return (kinds,), tuple(settle(v, kind_of(want)) for v, want in zip(args, kinds, strict=True))


def _plain(kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Types of arguments, where a number that is written out has that of any other."""
    from numba import typeof, types

    return tuple(
        typeof(kind.value) if isinstance(kind, types.Omitted) else types.unliteral(kind)
        for kind in kinds
    )


def _has_type(value: Any) -> bool:
    """Whether Numba's type of an argument can be told: of a number, a plain array, or a tuple."""
    if isinstance(value, tuple):
        return all(map(_has_type, value))
    if isinstance(value, View):
        return all(type(n) is int for n in value.shape)
    return isinstance(value, np.ndarray | np.generic | bool | int | float | complex)


def _one_lane(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What one thread hands over."""
    return tuple(
        _one_lane(v) if type(v) is tuple
        else np.zeros((), v.dtype)[()] if isinstance(v, np.ndarray) else v
        for v in args
    )  # fmt: skip


def _best_match(dispatcher: Any, declared: list[tuple[Any, ...]], args: tuple[Any, ...]) -> Any:
    """The declared types that Numba chooses; the first, where several fit equally well."""
    actual = argument_types(_one_lane(args)) or declared[0]
    signature = _resolved(dispatcher.__name__, declared, actual)
    return tuple(signature.args) if signature else declared[0]
