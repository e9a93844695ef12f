"""Variables that hold different arrays, or other objects, in different threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.core.values import Value, settle, where


class Choice:
    """A variable that is a different view in different threads."""

    def __init__(self, parts: list[tuple[Any, View]]) -> None:
        self.parts = parts  # masks are arrays, disjoint, and cover all threads

    def each(self, m: Chunk, work: Callable[[View], Value]) -> Value:
        """Calls `work` with each view for its own threads; the results, merged."""
        before, result = m.mask, None
        try:
            for mask, view in self.parts if before is not EMPTY else ():
                here = mask if before is None else mask & before
                if not here.any():
                    continue
                m.mask = None if here.all() else here
                value = work(view)
                if result is None or m.mask is None:
                    result = value
                elif isinstance(value, View | Choice):
                    result = several(result, value, here, Choice)
                elif value is not None:
                    result = where(here, value, result)
        finally:
            m.mask = before
        return result


class DivergentValue:
    """A variable that holds different objects in different threads: functions, strings, None."""

    def __init__(self, parts: list[tuple[Any, Any]]) -> None:
        self.parts = parts

    def settled(self, kind: Any) -> DivergentValue:
        """The same with its numbers in one type."""
        return DivergentValue([(mask, settle(thing, kind)) for mask, thing in self.parts])

    def are(self, test: Callable[[Any], Value]) -> Value:
        """Whether a test holds, in each thread for what it has."""
        return functools.reduce(
            np.logical_or, (np.logical_and(mask, test(thing)) for mask, thing in self.parts)
        )

    def of(self, m: Chunk, name: str) -> Any:
        """What the variable `name` stands for in all active threads."""
        here = [(mask if m.mask is None else mask & m.mask, thing) for mask, thing in self.parts]
        active = [(mask, thing) for mask, thing in here if m.mask is not EMPTY and mask.any()]
        if len(active) == 1:
            return active[0][1]
        values = " and ".join(f"{_text(thing)} in {m.text(m.who(own)[0])}" for own, thing in active)
        kinds = {"number" if isinstance(item, _NUMBERS) else type(item) for _, item in active}
        same = len(kinds) == 1  # as Numba sees it
        why = "the SIMT machine needs one for all here; use two variables"
        if type(None) in kinds:
            why = (
                "a function ends without a return there, or nothing else was assigned. Give it a "
                "value on each path, or ask first whether it is None"
            )
        who = [m.who(mask)[0] for mask, _ in active]
        raise m.stop("unsupported" if same else "not-a-kernel", f"{name} is {values}: {why}", *who)


def _text(thing: Any) -> str:
    if thing is None or isinstance(thing, str):
        return repr(thing)
    if isinstance(thing, _NUMBERS):
        return "a number"
    kind = {"View": "array"}.get(type(thing).__name__, type(thing).__name__.lower())
    return getattr(thing, "__name__", f"{'an' if kind == 'array' else 'a'} {kind}")


_NUMBERS = (int, float, complex, np.ndarray, np.generic)


def _parts(thing: Any) -> list[tuple[Any, Any]]:
    divergent = isinstance(thing, Choice | DivergentValue)
    return thing.parts if divergent else [(np.ones((1, 1), bool), thing)]


def _join(old: Any, new: Any) -> bool:
    """Whether two values can be merged: numbers, or tuples of equal length."""
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        return all(map(_join, old, new))
    return isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS)


def _split(old: Any, new: Any, mask: Any) -> list[tuple[Any, Any]]:
    """`new` for the threads in the mask, `old` for the others, each object once."""
    parts: list[tuple[Any, Any]] = []
    for own, things in ((mask, _parts(new)), (~mask, _parts(old))):
        for part, thing in things:
            here = own & part
            for n, (other, previous) in enumerate(parts):
                if previous is thing:
                    parts[n] = (other | here, thing)
                    break
                if _join(previous, thing):
                    parts[n] = (other | here, where(here, thing, previous))
                    break
            else:
                if here.any():
                    parts.append((here, thing))
    return parts


def several(old: Any, new: Any, mask: Any, kind: Any = DivergentValue) -> Any:
    """`new` for the threads in the mask, `old` for the others; `Choice` is the kind of views."""
    if mask is EMPTY:
        return old
    parts = _split(old, new, mask)
    return parts[0][1] if len(parts) == 1 else kind(parts)
