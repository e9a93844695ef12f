"""Iteration: how many items a loop over something has, and which of them comes n-th."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY, COMPARE
from simt.core.memory import View
from simt.core.values import Range, Value, normal
from simt.machine.machine import Machine
from simt.machine.per_thread import Choice
from simt.machine.views import elements


@dataclass(frozen=True)
class Pairs:
    """`zip`, and with a number to begin with `enumerate`."""

    things: tuple[Any, ...]
    start: Value | None = None


@dataclass(frozen=True)
class Indices:
    """`np.ndindex`, and with the array itself `np.ndenumerate` or, without indices, `np.nditer`."""

    shape: tuple[Value, ...]
    view: View | None = None
    alone: bool = False


def length(m: Machine, thing: Any) -> Value:
    """`len(thing)`, which may differ from thread to thread."""
    if isinstance(thing, View):
        return thing.shape[0]
    if isinstance(thing, Choice):
        return thing.each(m, lambda view: view.shape[0])
    if isinstance(thing, tuple | str):
        return len(thing)
    if isinstance(thing, Range):
        if thing.uniform:
            return len(range(thing.start, thing.stop, thing.step))
        span = BINARY["Sub"](thing.start, thing.stop)
        return normal(np.maximum(np.negative(BINARY["FloorDiv"](span, thing.step)), 0))
    if isinstance(thing, Pairs):
        lengths = [length(m, t) for t in thing.things]
        if all(type(n) is int for n in lengths):
            return min(lengths, default=0)
        return np.minimum.reduce(np.broadcast_arrays(*lengths))
    if isinstance(thing, Indices):
        return math.prod(thing.shape)
    name = type(thing).__name__
    raise m.stop("not-a-kernel", f"{name} cannot be looped over and has no len() in a kernel")


def item(m: Machine, thing: Any, n: Value) -> Any:
    """The n-th item, for the active threads."""
    if isinstance(thing, Range):
        return BINARY["Add"](thing.start, BINARY["Mult"](n, thing.step))
    if isinstance(thing, Pairs):
        items = tuple(item(m, t, n) for t in thing.things)
        return items if thing.start is None else (BINARY["Add"](n, thing.start), items[0])
    if isinstance(thing, Indices):
        place: tuple[Value, ...] = ()
        for extent in reversed(thing.shape):
            place = (BINARY["Mod"](n, extent), *place)
            n = BINARY["FloorDiv"](n, extent)
        if thing.view is None:
            return place
        value = m.load(thing.view, place)
        return value if thing.alone else (place, value)
    return m.load(thing, n)


def _items(m: Machine, things: Any) -> Iterator[Any]:
    if isinstance(things, View):
        for place in elements(m, things):
            yield m.load(things, place)
    elif isinstance(things, Range) and things.uniform:
        yield from range(things.start, things.stop, things.step)
    elif isinstance(things, tuple):
        yield from things
    else:
        raise m.stop("unsupported", f"`in` does not work on a {type(things).__name__} here")


def contains(m: Machine, things: Any, value: Value) -> Value:
    """`value in things` for a tuple, an array or a range."""
    result: Value = False
    for item in _items(m, things):
        result = m.put(result, normal(np.logical_or(result, COMPARE["Eq"](item, value))))
    return result
