"""What is remembered about each element of an allocation: who touched it, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.simt.core.masks import Mask
from gpulearn.simt.core.memory import Allocation, View
from gpulearn.simt.core.values import Value

__all__ = ["Read", "Shadow", "typed"]

Lanes = np.ndarray[Any, Any]


def typed(data: Lanes, dtype: np.dtype[Any]) -> Lanes:
    """Bytes as words of a type; what is left over at the end is left out."""
    return data[: len(data) // dtype.itemsize * dtype.itemsize].view(dtype)


@dataclass
class Read:
    """A read that was noted down: where, by whom, when."""

    view: View
    slot: Value
    mask: Mask
    time: int


class Touched:
    """Two threads that touched each element, of two warps if there are such, and when."""

    def __init__(self, count: int) -> None:
        self.tables = tuple(
            (np.full(count, -1, np.int64), np.zeros(count, np.int32)) for _ in range(2)
        )

    def enter(self, elements: Lanes, me: Lanes, time: int, floor: int, block: int) -> None:
        """Enters an access by threads `me`; `block` is the number of threads of a block."""
        (reader, read_at), (second, second_at) = self.tables
        warp = _warps(me, block)
        old, old_at = reader[elements], read_at[elements]
        fresh = old_at > floor
        if fresh.any():
            far = fresh & (_warps(old, block) != warp)
            near = fresh & (old != me) & ~far & (second_at[elements] <= floor)
            move = far | near
            second[elements[move]] = old[move]
            second_at[elements[move]] = old_at[move]
        reader[elements] = me
        read_at[elements] = time
        last = reader[elements]
        beaten = last != me  # several threads touch one element in this very statement
        if beaten.any():
            far = _warps(last, block) != warp
            for chosen in (beaten & ~far & (second_at[elements] <= floor), beaten & far):
                second[elements[chosen]] = me[chosen]
                second_at[elements[chosen]] = time

    def repeated(self, times: int) -> Touched:
        """The same with `times` elements for each."""
        made = Touched(0)
        made.tables = tuple((np.repeat(a, times), np.repeat(b, times)) for a, b in self.tables)
        return made


class Shadow:
    """Who touched each element of an allocation; times are 0 where nobody did."""

    def __init__(self, allocation: Allocation, grain: int) -> None:
        self.allocation = allocation
        self.grain = grain  # bytes per element
        count = len(allocation.data) // grain
        self.writer = np.full(count, -1, np.int64)
        self.wrote = np.zeros(count, np.int32)
        self.atomics: Touched | None = None
        self.readers: Touched | None = None
        self.before: Lanes | None = None  # bytes from before the interval
        self.last_write = 0
        self.last_entered = 0
        self.noted: list[Read] = []
        self.entered: list[Read] = []

    def elements(self, view: View, slots: Lanes) -> tuple[Lanes, int]:
        """The elements that an access at flat `slots` touches, and how many each."""
        size = view.dtype.itemsize
        if view.aligned and size == self.grain:
            return slots, 1
        start = slots * size if view.aligned else slots
        parts = size // self.grain
        return ((start // self.grain)[:, None] + np.arange(parts)).ravel(), parts

    def by_bytes(self) -> Shadow:
        """The same shadow with one element for each byte."""
        made = Shadow(self.allocation, 1)
        made.writer = np.repeat(self.writer, self.grain)
        made.wrote = np.repeat(self.wrote, self.grain)
        made.readers = self.readers and self.readers.repeated(self.grain)
        made.atomics = self.atomics and self.atomics.repeated(self.grain)
        made.last_write, made.last_entered = self.last_write, self.last_entered
        made.noted, made.entered, made.before = self.noted, self.entered, self.before
        return made

    def enter(self, elements: Lanes, me: Lanes, time: int, floor: int, block: int) -> None:
        """Enters a read by threads `me`; `block` is the number of threads of a block."""
        if self.readers is None:
            self.readers = Touched(len(self.writer))
        self.readers.enter(elements, me, time, floor, block)
        self.last_entered = max(self.last_entered, time)

    def enter_atomic(self, elements: Lanes, me: Lanes, time: int, floor: int, block: int) -> None:
        """Enters an atomic by threads `me`."""
        if self.atomics is None:
            self.atomics = Touched(len(self.writer))
        self.atomics.enter(elements, me, time, floor, block)


def _warps(threads: Lanes, block: int) -> Lanes:
    """A number for the warp of each thread."""
    numbers: Lanes = threads // block * block + threads % block // 32
    return numbers
