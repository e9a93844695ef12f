"""Views: other shapes and types for the same memory, and the walk over an array's elements."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.masks import EMPTY, split
from simt.core.memory import View
from simt.core.values import Value


def elements(m: Chunk, view: View) -> Iterator[tuple[int, ...]]:
    """The indices of all elements, in C order.

    Where threads have parts of different sizes, those that have an element at an index are
    the active ones while it is the turn of that index.
    """
    if all(type(n) is int for n in view.shape):
        yield from np.ndindex(*view.shape)
        return
    before = m.mask
    extents = [int(m.spread(n).ravel()[m.lanes(before)].max(initial=0)) for n in view.shape]
    try:
        for place in np.ndindex(*extents):
            inside: Value = True
            for i, n in zip(place, view.shape, strict=True):
                inside = np.logical_and(inside, np.less(i, n))
            m.mask, _ = split(before, np.asarray(inside))
            if m.mask is not EMPTY:
                yield place
    finally:
        m.mask = before


def packed(view: View) -> bool:
    """Whether the elements lie one after the other, in C order."""
    step: Value = view.dtype.itemsize
    if any(type(n) is int and n == 0 for n in view.shape):
        return True
    for n, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if not (type(n) is int and n == 1) and not (type(step) is int and stride == step):
            return False
        step = step * n
    return True


def reshaped(m: Chunk, view: View, shape: tuple[Value, ...]) -> View:
    """The same elements in another shape, one of whose numbers may be -1."""
    if not packed(view):
        message = f"{view.name} cannot be reshaped: its elements do not lie one after the other"
        raise m.stop("not-a-kernel", message, array=view.name)
    shape = tuple(int(n) if isinstance(n, np.integer) else n for n in shape)
    if not all(type(n) is int for n in (*shape[1:], *view.shape)):
        if len(shape) == 1 and type(shape[0]) is int and shape[0] == -1:
            shape = (view.size,)
        else:
            message = (
                "a reshape whose sizes differ from thread to thread is not supported by the SIMT "
                "machine: index single elements"
            )
            raise m.stop("unsupported", message, array=view.name)
    elif -1 in shape:
        rest = -math.prod(shape)
        shape = tuple(view.size // rest if n == -1 and rest else n for n in shape)
    if np.any(np.not_equal(math.prod(shape), view.size)):
        message = f"{view.name} has {view.size} elements, and a reshape to {shape} does not"
        raise m.stop("not-a-kernel", message, array=view.name)
    size = view.dtype.itemsize
    strides = tuple(size * math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return View(view.allocation, view.dtype, shape, strides, view.offset, view.name)


def retyped(m: Chunk, view: View, dtype: np.dtype[Any]) -> View:
    """The same bytes as elements of another type, as NumPy's `view` gives them."""
    old, new = view.dtype.itemsize, dtype.itemsize
    shape, strides = view.shape, view.strides
    if new != old:
        last = shape[-1] * old
        if strides[-1] != old or np.any(last % new):
            message = (
                f"{view.name} cannot be viewed as {dtype}: its last dimension is no whole "
                f"number of elements of {new} bytes that lie one after the other"
            )
            raise m.stop("not-a-kernel", message, array=view.name)
        shape, strides = (*shape[:-1], last // new), (*strides[:-1], new)
    return in_place(m, View(view.allocation, dtype, shape, strides, view.offset, view.name))


def in_place(m: Chunk, view: View) -> View:
    """An array whose elements a GPU's code takes to lie at multiples of their size.

    That is so for views, and for arrays within a record; those of a field may lie anywhere.
    """
    size = view.dtype.itemsize // (2 if view.dtype.kind == "c" else 1)
    if view.aligned or view.dtype.kind == "V" or m.mask is EMPTY:
        return view
    misaligned: Value = True if any(s % size for s in view.strides) else view.offset % size != 0
    if np.any(np.logical_and(misaligned, True if m.mask is None else m.mask)):
        message = (
            f"{view.name} lies at no multiple of {size}, the size of its numbers, where a GPU "
            "fails: make the records with np.dtype(..., align=True), or begin a view elsewhere"
        )
        raise m.stop("not-a-kernel", message, array=view.name)
    return view
