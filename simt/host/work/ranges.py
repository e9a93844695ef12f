"""Byte ranges: which memory an operation reads and writes, for a kernel by what it touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.memory import Allocation, View
from simt.core.values import Value
from simt.observers.observer import Index, Observer

Array = np.ndarray[Any, Any]
Ranges = Array  # (n, 2) int64: first byte and the one after the last, ascending and apart


@dataclass
class Access:
    """Memory that an operation reads, writes or changes by atomics, at addresses of this process.

    `kind` is "load", "poll" (loads that go beside atomics), "store" or "atomic"; `memory` keeps
    anybody else from getting the memory.
    """

    name: str
    kind: str
    ranges: Ranges
    memory: object

    def __post_init__(self) -> None:
        self.span = (
            (int(self.ranges[0, 0]), int(self.ranges[-1, 1])) if len(self.ranges) else (0, 0)
        )

    def meets(self, other: Access) -> bool:
        """Whether both touch a byte."""
        (low, high), (start, end) = self.span, other.span
        return low < end and start < high and overlap(self.ranges, other.ranges)

    @property
    def verb(self) -> str:
        """What it does, for a sentence."""
        return "reads" if self.kind in ("load", "poll") else "writes"


def overlap(a: Ranges, b: Ranges) -> bool:
    """Whether two sets of ranges have a byte in common."""
    if len(a) > len(b):
        a, b = b, a
    if not len(a):
        return False
    following = np.searchsorted(b[:, 1], a[:, 0], side="right")
    inside = following < len(b)
    return bool((b[following[inside], 0] < a[inside, 1]).any())


def conflict(accesses: Sequence[Access], others: Sequence[Access]) -> tuple[Access, Access] | None:
    """Two accesses to one byte of which the order matters: one writes, and not both by atomics."""
    for first in accesses:
        for second in others:
            kinds = {first.kind, second.kind}
            harmless = "store" not in kinds and ("poll" in kinds or len(kinds) == 1)
            if not harmless and first.meets(second):
                return first, second
    return None


def _merge_ranges(starts: Array, size: int) -> Ranges:
    """Ranges of `size` bytes each, with adjacent ones merged."""
    starts = np.unique(starts)
    ends = starts + size
    last = np.append(starts[1:] > ends[:-1], True)
    first = np.append(True, last[:-1])
    return np.stack([starts[first], ends[last]], axis=1)


def of_array(array: Array) -> Ranges:
    """The bytes of an array's elements."""
    if not array.size:
        return np.zeros((0, 2), np.int64)
    start = array.__array_interface__["data"][0]
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return np.array([[start, start + array.nbytes]])
    starts = np.array(start)
    for length, step in zip(array.shape, array.strides, strict=True):
        starts = np.add.outer(starts, np.arange(length) * step)
    return _merge_ranges(starts.ravel(), array.itemsize)


def of_view(view: View) -> Ranges:
    """From the first to the last byte of what a kernel is given."""
    low = view.allocation.device_pointer + view.offset
    if 0 in view.shape:
        return np.zeros((0, 2), np.int64)
    steps = [step * (n - 1) for n, step in zip(view.shape, view.strides, strict=True)]
    high = low + sum(s for s in steps if s > 0) + view.dtype.itemsize
    return np.array([[low + sum(s for s in steps if s < 0), high]], np.int64)


class AccessRanges(Observer):
    """The global and constant memory that a launch touches, by allocation and kind of access."""

    def __init__(self) -> None:
        self._tables: dict[tuple[Allocation, str], tuple[str, int, Array]] = {}

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """Notes the elements of an access."""
        if view.space not in ("global", "const"):
            return
        if m.strong == 2 and kind != "atomic":
            kind = "poll" if kind == "load" else "atomic"
        key = view.allocation, kind
        name, grain, table = self._tables.get(key) or (view.name, 0, np.zeros(0, bool))
        size = view.dtype.itemsize if view.aligned else 1
        if not grain:
            grain, table = size, np.zeros(-(-len(view.allocation.data) // size), bool)
        elif view.dtype.itemsize % grain or (grain > 1 and not view.aligned):
            grain, table = 1, np.repeat(table, grain)
        elements, _ = view.elements(m.active_slots(view, slot, m.mask)[1], grain)
        table[elements] = True
        self._tables[key] = name, grain, table

    def accesses(self) -> list[Access]:
        """The accesses of the launch."""
        touched = []
        for (allocation, kind), (name, grain, table) in self._tables.items():
            edges = np.flatnonzero(np.diff(table, prepend=False, append=False))
            ranges = allocation.device_pointer + grain * edges.reshape(-1, 2)
            touched.append(Access(name, kind, ranges, allocation))
        return touched
