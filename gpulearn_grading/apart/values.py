"""Plain data as text: what may pass between a judge and the code of a student.

A pickle runs code where it is read. Here nothing is read but numbers, texts, arrays and what
holds them; an instance of one of this package's own dataclasses is made from its fields, without
a call. Whatever else an answer returns arrives as an empty object of that class name.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import dataclasses
import importlib
import itertools
import json
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case

SAFE_INTEGER = 1 << 62  # larger ones are written in hexadecimal, which Python reads at any length
OURS = ("gpulearn.", "gpulearn_lessons.", "simt.")
MAX_DEPTH = 200


class NotData(Exception):  # noqa: N818 - a plain statement about a value
    """A value cannot be sent as data; the message names its class."""


def encoded(value: Any, *, strict: bool = True) -> bytes:
    """A value as text.

    Args:
        value: numbers, texts, arrays, tensors, dataclasses of this package, and lists, tuples,
            sets and dictionaries of them.
        strict: whether anything else raises; otherwise only the name of its class is sent.

    >>> decoded(encoded((1, [2.5, None], {"a": np.arange(2)})))
    (1, [2.5, None], {'a': array([0, 1])})
    """
    return json.dumps(_out(value, strict, 0)).encode()


def decoded(text: bytes) -> Any:
    """The value that `encoded` wrote."""
    try:
        return _in(json.loads(text))
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None
    except (KeyError, TypeError, AttributeError, IndexError, ImportError) as error:
        raise ValueError(f"no value was written here: {error}") from None


def sent(outcome: Any, case: Case, *, strict: bool) -> dict[str, Any]:
    """An outcome as data; what it repeats of its case is only named."""
    repeated = {}
    if dataclasses.is_dataclass(outcome) and not isinstance(outcome, type):
        for item in dataclasses.fields(outcome):
            for number, given in enumerate(case.args):
                value = getattr(outcome, item.name)
                if dataclasses.is_dataclass(given) and value is not given:
                    with contextlib.suppress(Exception):  # arrays are not simply equal
                        if type(value) is type(given) and value == given:
                            repeated[item.name] = number
        outcome = copy.copy(outcome)
        for name in repeated:
            object.__setattr__(outcome, name, None)
    return {"result": encoded(outcome, strict=strict).decode(), "repeated": repeated}


def received(reply: Mapping[str, Any], case: Case) -> Any:
    """The outcome that was sent; of its case it has the judge's own."""
    outcome = decoded(str(reply.get("result")).encode())
    for name, number in dict(reply.get("repeated", {})).items():
        if dataclasses.is_dataclass(outcome) and name in vars(outcome):
            object.__setattr__(outcome, name, case.args[int(number)])
    return outcome


def identities(result: Any, given: Sequence[Any]) -> Any:
    """Which arguments a result, or each element of it if it is a tuple, is; None for others."""
    if type(result) is tuple:
        return [identities(item, given) for item in result if type(item) is not tuple]
    kinds = list, dict, set, np.ndarray
    mutable = isinstance(result, kinds) or hasattr(result, "copy_")
    return next((n for n, one in enumerate(given) if mutable and one is result), None)


def identified(result: Any, same: Any, args: Sequence[Any]) -> Any:
    """A result that came as data, with the judge's own arguments where it is one of them."""
    if isinstance(same, int):
        return args[same]
    if isinstance(same, list) and type(result) is tuple and len(same) == len(result):
        return tuple(map(identified, result, same, itertools.repeat(args)))
    return result


def _out(value: Any, strict: bool, depth: int) -> Any:
    kind = type(value)
    if depth > MAX_DEPTH:
        if strict:
            raise NotData("it is nested too deeply")
        return {"t": "foreign", "v": f"{kind.__name__}, nested too deeply"}
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        return value if abs(value) < SAFE_INTEGER else {"t": "int", "v": hex(value)}
    inner: Callable[[Any], Any] = lambda item: _out(item, strict, depth + 1)  # noqa: E731
    if kind in (list, tuple, set, frozenset):
        return {"t": kind.__name__, "v": [inner(item) for item in value]}
    if kind is dict:
        return {"t": "dict", "v": [[inner(key), inner(item)] for key, item in value.items()]}
    if kind is complex:
        return {"t": "complex", "v": [value.real, value.imag]}
    if kind in (bytes, bytearray):
        return {"t": kind.__name__, "v": base64.b64encode(value).decode()}
    if kind in (range, slice):
        return {"t": kind.__name__, "v": [inner(i) for i in (value.start, value.stop, value.step)]}
    if value is ...:
        return {"t": "ellipsis"}
    if kind is np.ndarray or isinstance(value, np.generic):
        return _array_out(value, strict)
    if kind.__module__.startswith("torch") and kind.__name__ in ("Tensor", "Parameter"):
        return _tensor_out(value, strict)
    if isinstance(value, np.dtype):
        return {"t": "dtype", "v": np.lib.format.dtype_to_descr(value)}
    if kind.__module__.startswith(OURS) and (names := _fields(kind)) is not None:
        fields = {name: inner(getattr(value, name)) for name in names}
        return {"t": "object", "c": [kind.__module__, kind.__qualname__], "v": fields}
    if isinstance(value, tuple) and not kind.__module__.startswith(OURS):  # a named one
        return {"t": "tuple", "v": [inner(item) for item in value]}
    if strict:
        raise NotData(f"{kind.__module__}.{kind.__qualname__}")
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return {"t": "function", "v": str(value.__name__)}
    return {"t": "foreign", "v": str(kind.__name__)}


def _fields(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a named tuple; None for any other class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "_fields", None) if issubclass(kind, tuple) else None


def _array_out(value: Any, strict: bool) -> Any:
    if value.dtype.hasobject:
        if strict:
            raise NotData("an array of objects")
        return {"t": "foreign", "v": "ndarray of objects"}
    word = "array" if isinstance(value, np.ndarray) else "scalar"
    data = base64.b64encode(value.tobytes()).decode()
    shape = list(value.shape)
    return {"t": word, "d": np.lib.format.dtype_to_descr(value.dtype), "s": shape, "v": data}


def _tensor_out(tensor: Any, strict: bool) -> Any:
    import torch

    plain = tensor.detach().cpu()
    if plain.dtype is torch.bfloat16 or plain.layout is not torch.strided:
        if strict:
            raise NotData(f"a tensor of {plain.dtype}")
        return {"t": "foreign", "v": "Tensor"}
    if strict and tensor.requires_grad:
        raise NotData("a tensor with a gradient")
    return {"t": "tensor", "v": _array_out(plain.contiguous().numpy(), strict)}


def _in(text: Any) -> Any:
    if isinstance(text, list):
        raise ValueError("a list has no name")
    return READERS[text["t"]](text) if isinstance(text, dict) else text


def _all(text: Any) -> list[Any]:
    return [_in(item) for item in text["v"]]


def _dtype(descr: Any) -> np.dtype[Any]:
    if not isinstance(descr, str):  # JSON has no tuples
        descr = [tuple(tuple(p) if isinstance(p, list) else p for p in field) for field in descr]
    dtype = np.lib.format.descr_to_dtype(descr)
    if dtype.hasobject:
        raise ValueError("an array of objects")
    return dtype


def _array(text: Any) -> Any:
    dtype, shape = _dtype(text["d"]), [int(n) for n in text["s"]]
    return np.frombuffer(base64.b64decode(text["v"]), dtype).reshape(shape).copy()


def _tensor(text: Any) -> Any:
    import torch

    return torch.from_numpy(_array(text["v"]))


def _object(text: Any) -> Any:
    """An instance of one of our dataclasses, from its fields; nothing of it is called."""
    module, qualname = text["c"]
    if not module.startswith(OURS) or not qualname.replace(".", "").isidentifier():
        raise ValueError(f"{module} is not ours")
    kind: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in qualname.split("."):
        kind = getattr(kind, part)
    names = _fields(kind) if isinstance(kind, type) and kind.__module__ == module else None
    if names is None:
        raise ValueError(f"{qualname} is no dataclass")
    fields = {name: _in(text["v"][name]) for name in names}
    if issubclass(kind, tuple):
        return tuple.__new__(kind, fields.values())
    instance = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
    return instance


def _function(text: Any) -> Any:
    def foreign(*args: Any, **options: Any) -> None:
        """What stands for a function that an answer returned."""

    foreign.__name__ = str(text["v"])[:100]
    return foreign


READERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda text: int(text["v"], 16),
    "list": _all,
    "tuple": lambda text: tuple(_all(text)),
    "set": lambda text: set(_all(text)),
    "frozenset": lambda text: frozenset(_all(text)),
    "dict": lambda text: {_in(key): _in(value) for key, value in text["v"]},
    "complex": lambda text: complex(*map(float, text["v"])),
    "bytes": lambda text: base64.b64decode(text["v"]),
    "bytearray": lambda text: bytearray(base64.b64decode(text["v"])),
    "range": lambda text: range(*_all(text)),
    "slice": lambda text: slice(*_all(text)),
    "ellipsis": lambda text: ...,
    "array": _array,
    "scalar": lambda text: _array(text)[()],
    "tensor": _tensor,
    "dtype": lambda text: _dtype(text["v"]),
    "object": _object,
    "function": _function,
    "foreign": lambda text: type(str(text["v"])[:100], (), {})(),
}
