"""Initialized memory: reads of unwritten elements of shared, local and device arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from simt.core.chunk import Chunk, Write
from simt.core.findings import Finding
from simt.core.memory import Allocation, View
from simt.core.values import Value
from simt.observers.observer import Index, Lanes, Observer


class UninitializedReads(Observer):
    """Reports reads of unwritten memory; tracks the shared and local arrays of a chunk.

    Of device arrays each allocation keeps that itself, from launch to launch.
    """

    def __init__(self) -> None:
        self._arrays: dict[int, WriteMap] = {}
        self._before: dict[Allocation, WriteMap] = {}  # this launch

    def restart(self) -> None:
        """Undoes the marks of an abandoned attempt."""
        for allocation, written in self._before.items():
            allocation.written = written
        self._before.clear()

    def chunk(self, m: Chunk, last: Chunk | None) -> None:
        """Other blocks make arrays of their own."""
        self._arrays.clear()

    def unset(self, m: Chunk, name: str, finding: Finding) -> None:
        """Reports a read of a variable without a value."""
        key = ("uninitialized-read", name, m.line)
        if not m.findings.again(key, finding.count):
            m.note(key, finding)

    def write(self, m: Chunk, write: Write, index: Index) -> None:
        """Notes a write."""
        written = self._write_map(write.view)
        if written is None:
            return
        if not written.complete:
            written.mark(write)
        for value in write.undefined:
            lanes, slots, _ = write.lanes
            if value.origin is not None:
                written.forget(write.view, slots[m.spread(value.origin).ravel()[lanes] > 0])

    def _write_map(self, view: View) -> WriteMap | None:
        """The write map of an array; None if all of it has been written."""
        allocation = view.allocation
        if view.space not in ("shared", "local"):
            written: WriteMap | None = allocation.written
            if written is not None and allocation not in self._before:
                if written.full():  # since a launch before this one
                    allocation.written = None
                    return None
                self._before[allocation] = copy.deepcopy(written)
            return written
        tracked = self._arrays.get(allocation.number)
        if tracked is None:
            grain = view.dtype.itemsize if view.aligned else 1
            tracked = self._arrays[allocation.number] = WriteMap(len(allocation.data), grain)
        return tracked

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """Reports a read of unwritten memory."""
        written = None if kind == "store" or m.copying else self._write_map(view)
        if written is None or written.full():
            return
        table = m.in_each_block(view, slot, m.mask)
        if table is not None and written.in_blocks(m)[table[1]].all():
            return
        lane, slots = m.active_slots(view, slot, m.mask)
        missing = np.flatnonzero(~written.at(view, slots))
        if not len(missing):
            return
        key = ("uninitialized-read", view.name, m.line)
        if m.findings.again(key, len(missing)):
            return
        first = int(lane[missing[0]])
        where, element = m.element(view, index, first)
        who = m.thread_name(first)
        message = (
            f"{m.text(who)} reads {element} in {view.space} memory, "
            "which nobody has written: it may hold anything"
        )
        finding = Finding(
            "uninitialized-read", m.here(), message, [who], view.name, where, count=len(missing)
        )
        finding.detail = (view.space,)
        m.unwritten(lane[missing], key, finding)


class WriteMap:
    """Which elements of an allocation have been written, of `grain` bytes each."""

    def __init__(self, size: int, grain: int) -> None:
        self.grain = grain
        self.done = np.zeros(size // grain, bool)
        self.complete = False
        self.fresh = False

    def _elements(self, view: View, slots: Lanes) -> tuple[Lanes, int]:
        if view.dtype.itemsize % self.grain or (self.grain > 1 and not view.aligned):
            self.done = np.repeat(self.done, self.grain)
            self.grain = 1
        return view.elements(slots, self.grain)

    def mark(self, write: Write) -> None:
        """Notes a write."""
        if write.in_each_block is not None:
            self.in_blocks(write.m)[write.in_each_block[1]] = True
        else:
            # which may come to count in single bytes
            elements, _ = self._elements(write.view, write.lanes[1])
            self.done[elements] = True
        self.fresh = True

    def forget(self, view: View, slots: Lanes) -> None:
        """What is there now is as good as unwritten."""
        self.done[self._elements(view, slots)[0]] = False
        self.complete, self.fresh = False, True

    def in_blocks(self, m: Chunk) -> Lanes:
        """By element of a block and block, for shared memory that is stored so."""
        return self.done.reshape(-1, m.blocks)

    def full(self) -> bool:
        """Whether every element has been written."""
        if self.fresh:
            self.fresh = False
            self.complete = bool(self.done.all())
        return self.complete

    def at(self, view: View, slots: Lanes) -> Lanes:
        """For each slot, whether it has been written."""
        elements, parts = self._elements(view, slots)
        done: Lanes = self.done[elements]
        if parts == 1:
            return done
        every: Any = done.reshape(-1, parts).all(axis=1)
        return every  # type: ignore[no-any-return]
