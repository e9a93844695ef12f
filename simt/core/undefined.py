"""Values that are undefined in some threads, and what is computed from them.

A load of memory that nobody has written, or a shuffle from a lane that takes no part, gives no
value; nor does arithmetic with it. That harms nobody until a store, a branch or an address depends
on it (`Chunk.rely`): compilers load early what may not be needed, and in a tree of shuffles the
upper lanes compute what nobody asks for.
"""

from contextlib import suppress
from typing import Any

import numpy as np

Array = Any  # of NumPy
THROUGH = (np.where, np.clip, np.broadcast_to, np.ascontiguousarray)


class Doubtful(np.ndarray):
    """Numbers with an `origin` each: 0 for one that is defined, else what made it undefined."""

    origin: Array = None

    def __array_finalize__(self, made_from: Any) -> None:
        origin = getattr(made_from, "origin", None)
        if origin is not None and origin.shape == self.shape:
            self.origin = origin

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        if isinstance(item, Doubtful) and self.origin is not None:
            # a transposed array keeps the origins as they were
            item.origin = self.origin[key] if self.origin.shape == self.shape else None
        return item

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        if method != "__call__":
            return result
        origin = _of_all(inputs)
        if ufunc in (np.bitwise_and, np.bitwise_or, np.logical_and, np.logical_or):
            decides = "or" in ufunc.__name__  # which operand does, whatever the other is
            for operand in inputs:
                defined = operand.origin == 0 if _has_origin(operand) else True
                sure = _plain(operand) == (-1 if decides and result.dtype != bool else decides)
                origin = np.where(defined & sure, 0, origin)
        if isinstance(result, tuple):
            return tuple(doubtful(part, origin) for part in result)
        return doubtful(result, origin)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        result = function(*map(_plain, args), **options)
        if function not in THROUGH:
            return result
        if function is np.where:
            condition, *both = args
            first, second = (part.origin if _has_origin(part) else 0 for part in both)
            origin = np.where(_plain(condition), first, second)
            return doubtful(result, np.maximum(origin, _of_all([condition])))
        return doubtful(result, _of_all(args))


def doubtful(value: Array, origin: Array) -> Array:
    """A value with the origins of what is undefined in it; the value itself, if nothing is."""
    if np.any(origin):
        with suppress(ValueError):
            shape = np.shape(value)
            origin = np.broadcast_to(np.maximum(origin, _of_all([value])), shape)
            result = np.asarray(value).view(Doubtful)
            result.origin = origin
            return result
    return value


def _has_origin(value: Any) -> bool:
    return isinstance(value, Doubtful) and value.origin is not None


def _plain(value: Any) -> Any:
    if isinstance(value, Doubtful):
        return value.view(np.ndarray)
    return list(map(_plain, value)) if isinstance(value, list) else value


def _of_all(values: Any) -> Array:
    """Where what is computed from several values is undefined, and why."""
    origin: Array = 0
    for value in values:
        if _has_origin(value):
            origin = np.maximum(origin, value.origin)
    return origin
