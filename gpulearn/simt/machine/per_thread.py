"""Per-thread views: an array variable that stands for different arrays in different threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpulearn.simt.core.chunk import Chunk
from gpulearn.simt.core.masks import EMPTY, Mask
from gpulearn.simt.core.memory import View
from gpulearn.simt.core.values import Value, where

__all__ = ["Choice", "choose_view"]


class Choice:
    """Views, each with the threads for which the variable stands for it."""

    def __init__(self, parts: list[tuple[Any, View]]) -> None:
        self.parts = parts  # masks are arrays, disjoint, and cover all threads

    def active(self, m: Chunk) -> Iterator[tuple[Mask, View]]:
        """The views that active threads mean, with those threads."""
        for mask, view in self.parts:
            here = mask if m.mask is None else mask & m.mask
            if m.mask is not EMPTY and here.any():
                yield here, view

    def each(self, m: Chunk, work: Callable[[View], Value]) -> Value:
        """Does something with each view for its own threads; what comes out, merged."""
        before, result = m.mask, None
        try:
            for mask, view in list(self.active(m)):
                m.mask = None if mask.all() else mask
                value = work(view)
                if result is None or m.mask is None:
                    result = value
                elif isinstance(value, View | Choice):
                    result = choose_view(result, value, mask)
                elif value is not None:
                    result = where(mask, value, result)
        finally:
            m.mask = before
        return result


def _parts(thing: View | Choice) -> list[tuple[Any, View]]:
    return thing.parts if isinstance(thing, Choice) else [(np.ones((1, 1), bool), thing)]


def choose_view(old: View | Choice, new: View | Choice, mask: Any) -> View | Choice:
    """`new` for the threads in the mask, `old` for the others."""
    found: list[tuple[Any, View]] = []
    for own, things in ((mask, _parts(new)), (~mask, _parts(old))):
        for part, view in things:
            here = own & part
            for n, (other, known) in enumerate(found):
                if known is view:
                    found[n] = (other | here, view)
                    break
            else:
                if here.any():
                    found.append((here, view))
    return found[0][1] if len(found) == 1 else Choice(found)
