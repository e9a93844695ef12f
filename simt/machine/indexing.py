"""Indexing: from the index of every active thread to a place in memory, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.findings import Finding, Stop
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.core.undefined import Doubtful
from simt.core.values import INT64, Value, normal

if TYPE_CHECKING:
    from simt.machine.machine import Machine


class BadIndex(Stop):
    """An index is out of bounds for the threads in a mask."""

    def __init__(self, finding: Finding, mask: Any, view: View, index: tuple[Any, ...]) -> None:
        super().__init__(finding)
        self.mask = mask
        parts = [i for i in index if isinstance(i, slice) or i is Ellipsis]
        # of a part, or of a record, there are accesses to come
        self.element = len(index) == view.ndim and not parts and view.dtype.kind != "V"


def locate(m: Machine, view: View, index: Any) -> tuple[tuple[Value, ...], Value] | View:
    """The checked index and slot of an element, or the sub-array that an index selects."""
    if type(index) is not tuple:
        index = (index,)
    whole = len(index) == len(view.shape)
    places: list[Value] = []
    for axis, i in enumerate(index):
        kind = type(i)
        if kind is Doubtful:
            i, kind = m.rely(i), np.ndarray
        if axis >= len(view.shape) and i is not Ellipsis and i is not None:
            message = f"{view.name} has {view.ndim} dimensions, {len(index)} indices given"
            raise m.stop("not-a-kernel", message, array=view.name)
        if kind is int:
            limit = view.shape[axis]
            if type(limit) is not int or not 0 <= i < limit:
                i = _repair(m, view, axis, i, index)
        elif kind is np.ndarray:
            if i.dtype is not INT64:
                i = whole_number(m, view.name, i)
            limit = view.shape[axis]
            if type(limit) is not int or not m.indices.within(i, limit):
                i = _repair(m, view, axis, i, index)
        elif kind is slice or i is Ellipsis or i is None:
            return part(m, view, index)
        elif kind is View and i.ndim == 0:
            return locate(m, view, _with_elements(m, index))
        else:
            i = whole_number(m, view.name, i)
            i = _repair(m, view, axis, int(i), index)
        places.append(i)
    if not whole:
        return part(m, view, tuple(places))
    place = tuple(places)
    return place, _slots(m, view, place)


def _with_elements(m: Machine, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same index with the elements of arrays that have no dimensions."""
    return tuple(m.load(i, ()) if type(i) is View and i.ndim == 0 else i for i in index)


def _slots(m: Chunk, view: View, place: tuple[Value, ...]) -> Value:
    """Where an element lies, counted in elements (in bytes if not aligned)."""
    slot = view.base
    for i, step in zip(place, view.steps, strict=True):
        if step != 1:
            i = m.indices.times(i, step) if type(i) is np.ndarray else i * step
        slot = i if type(slot) is int and slot == 0 else slot + i
    return slot


def whole_number(m: Chunk, name: str, i: Any) -> Any:
    """An index as int64."""
    dtype = getattr(i, "dtype", None)
    if type(i) in (bool, int) or (dtype is not None and dtype.kind in "biu"):
        return i.astype(INT64) if isinstance(i, np.ndarray) else int(i)
    number = "number of type " if dtype or type(i) is float else ""
    what = f"a {number}{dtype or type(i).__name__}"
    message = f"{name} is indexed with {what}; an index must be an integer"
    raise m.stop("not-a-kernel", message, array=name)


def _repair(m: Chunk, view: View, axis: int, i: Value, index: tuple[Value, ...]) -> Value:
    """Wraps negative indices, stops at those out of bounds, hides inactive threads'."""
    if m.mask is EMPTY:
        return 0
    limit = view.shape[axis]
    mask = True if m.mask is None else m.mask
    outside = np.less(i, 0) | np.greater_equal(i, limit)
    fixed = np.where(outside, 0, i)
    wrong = outside & mask
    if np.any(wrong):
        beyond = wrong & (np.greater_equal(i, limit) | np.less(i, np.negative(limit)))
        if np.any(beyond):
            lane = int(np.flatnonzero(m.spread(beyond))[0])
            raise BadIndex(_out_of_bounds(m, view, axis, index, lane, beyond), beyond, view, index)
        lane = int(np.flatnonzero(m.spread(wrong))[0])
        _negative(m, view, axis, index, lane, int(np.count_nonzero(wrong)))
        fixed = np.where(wrong, i + limit, fixed)
    return normal(fixed[()]) if fixed.ndim == 0 else fixed


def _out_of_bounds(
    m: Chunk, view: View, axis: int, index: tuple[Value, ...], lane: int, beyond: Any
) -> Finding:
    where, element = m.element(view, index, lane)
    who = m.thread_name(lane)
    shape = tuple(
        int(n) if not isinstance(n, np.ndarray) else m.lane_index((n,), lane)[0] for n in view.shape
    )
    lanes = np.flatnonzero(m.spread(beyond))
    count = len(lanes)
    size = f"length {shape[0]}" if len(shape) == 1 else f"shape {shape}"
    dimension = f" in dimension {axis}" if len(shape) > 1 else ""
    message = (
        f"{m.text(who)} accesses {element}, out of bounds{dimension}: {view.name} has {size}"
        f"{m.further(count)}"
    )
    if view.space == "shared" and shape == (0,):
        message += "; give its bytes as the fourth launch value, kernel[grid, block, stream, bytes]"
    threads = [m.thread_name(int(n)) for n in lanes[:2]]
    return Finding("out-of-bounds", m.here(), message, threads, view.name, where, count=count)


def _negative(
    m: Chunk, view: View, axis: int, index: tuple[Value, ...], lane: int, count: int
) -> None:
    key = ("negative-index", view.name, m.line, axis)
    if m.findings.again(key, count):
        return
    where, element = m.element(view, index, lane)
    who = m.thread_name(lane)
    message = (
        f"{m.text(who)} accesses {element}: a negative index counts from the end, "
        "as in Python; C would read outside the array"
    )
    m.note(key, Finding("negative-index", m.here(), message, [who], view.name, where, count=count))


def part(m: Machine, view: View, index: tuple[Any, ...]) -> View:
    """The array that slices, or fewer indices than dimensions, select."""
    index = _with_elements(m, index)
    indexed = sum(i is not None and i is not Ellipsis for i in index)
    rest = [slice(None)] * (view.ndim - indexed)
    at = next((n for n, i in enumerate(index) if i is Ellipsis), len(index))
    index = (*index[:at], *rest, *index[at + 1 :])
    shape: list[Value] = []
    strides: list[int] = []
    offset = view.offset
    axis = 0
    for i in index:
        if i is None:
            shape.append(1)
            strides.append(0)
            continue
        stride, extent = view.strides[axis], view.shape[axis]
        if isinstance(i, slice):
            first, count, step = _span(m, view, i, extent)
            shape.append(count)
            strides.append(stride * step)
            offset = offset + first * stride
        else:
            i = i if type(i) is int else whole_number(m, view.name, i)
            offset = offset + _repair(m, view, axis, i, index) * stride
        axis += 1
    return View(view.allocation, view.dtype, tuple(shape), tuple(strides), offset, view.name)


def _span(m: Chunk, view: View, i: slice, extent: Value) -> tuple[Value, Value, int]:
    """Where a slice begins, how many elements it has, and its step."""
    bounds = [None if b is None else whole_number(m, view.name, b) for b in (i.start, i.stop)]
    step = 1 if i.step is None else whole_number(m, view.name, i.step)
    if type(step) is not int:
        message = (
            "a slice whose step differs from thread to thread is not supported by the SIMT "
            "machine: index single elements"
        )
        raise m.stop("unsupported", message, array=view.name)
    if step == 0:
        raise m.stop("not-a-kernel", "a slice with a step of 0", array=view.name)
    if type(extent) is int and not any(isinstance(b, np.ndarray) for b in bounds):
        selected = range(*slice(bounds[0], bounds[1], step).indices(extent))
        # an empty part begins nowhere, as below
        return selected.start if selected else 0, len(selected), step
    low, high = (0, extent) if step > 0 else (-1, np.subtract(extent, 1))
    ends = (low, high) if step > 0 else (high, low)
    first, last = (
        end if b is None else np.clip(np.where(np.less(b, 0), b + extent, b), low, high)
        for b, end in zip(bounds, ends, strict=True)
    )
    count = np.maximum(-((first - last) // step), 0)
    # where no thread touches an empty part, its first address is still formed
    return np.where(np.greater(count, 0), first, 0), count, step
