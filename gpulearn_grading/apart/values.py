"""Plain data as text: what may pass between a judge and the code of a student.

A pickle runs code where it is read. Here nothing is read but numbers, texts, arrays and what
holds them; an instance of one of this package's own dataclasses is made from its fields, without
a call. Whatever else an answer returns arrives as an empty object of that class name.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import importlib
import json
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SAFE_INTEGER = 1 << 62  # larger ones are written in hexadecimal, which Python reads at any length
OURS = ("gpulearn.", "gpulearn_lessons.", "simt.")
MAX_DEPTH = 200


class NotData(Exception):  # noqa: N818 - a plain statement about a value
    """A value cannot be sent as data; the message names its class."""


def encoded(value: Any, given: Sequence[Any] = (), *, strict: bool = True) -> str:
    """A value as text.

    Args:
        value: numbers, texts, arrays, tensors, dataclasses of this package, and lists, tuples,
            sets and dictionaries of them.
        given: what the other side has; where the value holds one of these, it is only named.
        strict: whether anything else raises; otherwise only the name of its class is sent.

    >>> decoded(encoded((1, [2.5, None], {"a": np.arange(2)})))
    (1, [2.5, None], {'a': array([0, 1])})
    """
    return json.dumps(_out(value, given, strict, 0))


def decoded(text: Any, given: Sequence[Any] = ()) -> Any:
    """The value that `encoded` wrote, with these in place of what was given there."""
    try:
        return _in(json.loads(text), given)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None
    except (KeyError, TypeError, AttributeError, IndexError, ImportError) as error:
        raise ValueError(f"no value was written here: {error}") from None


def _out(value: Any, given: Sequence[Any], strict: bool, depth: int) -> Any:
    """A value as JSON: itself, or a kind and the parts from which its reader makes it."""
    kind, name = type(value), type(value).__name__
    ours = kind.__module__.startswith(OURS)

    def made(word: str, *parts: Any) -> dict[str, Any]:
        return {"t": word, "v": [_out(part, given, strict, depth + 1) for part in parts]}

    def foreign(why: str, shown: str = name, word: str = "foreign") -> dict[str, Any]:
        if strict:
            raise NotData(why)
        return made(word, shown)

    if value is None or kind in (bool, float, str) or (kind is int and abs(value) < SAFE_INTEGER):
        return value
    for number, one in enumerate(given):
        if one is value or (ours and _equal(one, value)):  # a trial has a copy
            return made("given", number)
    if depth > MAX_DEPTH:
        return foreign("it is nested too deeply", f"{name}, nested too deeply")
    if kind is int:
        return made("int", hex(value))
    if kind in (list, tuple, set, frozenset):
        return made(name, *value)
    if kind is dict:
        return made("dict", *value.items())
    if kind is complex:
        return made("complex", value.real, value.imag)
    if kind in (bytes, bytearray):
        return made(name, base64.b64encode(value).decode())
    if kind in (range, slice):
        return made(name, value.start, value.stop, value.step)
    if value is ...:
        return made("ellipsis")
    if isinstance(value, np.dtype):
        return made("dtype", np.lib.format.dtype_to_descr(value))
    if kind is np.ndarray or isinstance(value, np.generic):
        if value.dtype.hasobject:
            return foreign("an array of objects", "ndarray of objects")
        word = "array" if isinstance(value, np.ndarray) else "scalar"
        return made(word, value.dtype, value.shape, value.tobytes())
    if kind.__module__.startswith("torch") and name in ("Tensor", "Parameter"):
        plain = value.detach().cpu()
        if str(plain.dtype) == "torch.bfloat16" or str(plain.layout) != "torch.strided":
            return foreign(f"a tensor of {plain.dtype}", "Tensor")
        if strict and value.requires_grad:
            raise NotData("a tensor with a gradient")
        return made("tensor", plain.contiguous().numpy())
    if ours and (names := _fields(kind)) is not None:
        fields = {name: getattr(value, name) for name in names}
        return made("object", kind.__module__, kind.__qualname__, fields)
    if isinstance(value, tuple) and not ours:  # a named one
        return made("tuple", *value)
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return foreign(f"{kind.__module__}.{name}", str(value.__name__), "function")
    return foreign(f"{kind.__module__}.{kind.__qualname__}")


def _equal(one: Any, other: Any) -> bool:
    with contextlib.suppress(Exception):  # arrays are not simply equal
        return type(one) is type(other) and bool(one == other)
    return False


def _fields(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a named tuple; None for any other class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "_fields", None) if issubclass(kind, tuple) else None


def _in(text: Any, given: Sequence[Any]) -> Any:
    if isinstance(text, list):
        raise ValueError("a list has no name")
    if not isinstance(text, dict):
        return text
    parts = [_in(part, given) for part in text["v"]]
    return given[parts[0]] if text["t"] == "given" else READERS[text["t"]](*parts)


def _dtype(descr: Any) -> np.dtype[Any]:
    dtype = np.lib.format.descr_to_dtype(descr)
    if dtype.hasobject:
        raise ValueError("an array of objects")
    return dtype


def _array(dtype: Any, shape: Any, data: bytes) -> Any:
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)


def _object(module: str, qualname: str, values: Any) -> Any:
    """An instance of one of our dataclasses, from its fields; nothing of it is called."""
    if not module.startswith(OURS) or not qualname.replace(".", "").isidentifier():
        raise ValueError(f"{module} is not ours")
    kind: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in qualname.split("."):
        kind = getattr(kind, part)
    names = _fields(kind) if isinstance(kind, type) and kind.__module__ == module else None
    if names is None:
        raise ValueError(f"{qualname} is no dataclass")
    fields = {name: values[name] for name in names}
    if issubclass(kind, tuple):
        return tuple.__new__(kind, fields.values())
    instance = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
    return instance


def _function(name: str) -> Any:
    def foreign(*args: Any, **options: Any) -> None:
        """What stands for a function that an answer returned."""

    foreign.__name__ = str(name)[:100]
    return foreign


READERS: dict[str, Callable[..., Any]] = {
    "int": lambda text: int(text, 16),
    "list": lambda *items: list(items),
    "tuple": lambda *items: items,
    "set": lambda *items: set(items),
    "frozenset": lambda *items: frozenset(items),
    "dict": lambda *items: dict(items),
    "complex": complex,
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "range": range,
    "slice": slice,
    "ellipsis": lambda: ...,
    "dtype": _dtype,
    "array": _array,
    "scalar": lambda *parts: _array(*parts)[()],
    "tensor": _tensor,
    "object": _object,
    "function": _function,
    "foreign": lambda name: type(str(name)[:100], (), {})(),
}
