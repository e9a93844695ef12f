"""Dynamic shared arrays of a Numba kernel, which all begin at the same byte, used as if apart."""

import numpy as np

from simt.core.chunk import Chunk, Write
from simt.core.findings import Finding
from simt.core.memory import View
from simt.core.source import unit
from simt.core.values import Value
from simt.observers.observer import Index, Lanes, Observer


class Overlaps(Observer):
    """Reports a read through one array of what another has overwritten.

    To use the same bytes again for something else is fine: each array writes before it reads.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        # by byte: which array wrote it, on what line
        self._last = self._place = np.zeros(0, np.int64)
        self._own: list[Lanes] = []  # by array and byte: whether it has written there

    def chunk(self, m: Chunk, last: Chunk | None) -> None:
        """Other blocks have memory of their own."""
        self._names, self._own = [], []

    def _bytes(self, m: Chunk, view: View, slot: Value) -> tuple[Lanes, Lanes, int]:
        """The active lanes, the bytes that each touches, the number of the array."""
        if not self._names:
            self._last, self._place = np.full((2, len(view.allocation.data)), -1, np.int64)
        if view.name not in self._names:
            self._names.append(view.name)
            self._own.append(np.zeros(len(self._last), bool))
        lane, slots = m.active_slots(view, slot, m.mask)
        size = view.dtype.itemsize
        start = slots * size if view.aligned else slots
        return lane, start[:, None] + np.arange(size), self._names.index(view.name)

    def write(self, m: Chunk, write: Write, index: Index) -> None:
        """Notes which array has written where."""
        if write.view.allocation.dynamic:
            _, touched, number = self._bytes(m, write.view, write.slot)
            self._own[number][touched], self._last[touched] = True, number
            self._place[touched] = m.line

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """Reports a read of what another array has overwritten."""
        if kind == "store" or not view.allocation.dynamic:
            return
        lane, touched, number = self._bytes(m, view, slot)
        lost = self._own[number][touched] & (self._last[touched] != number)
        if not lost.any():
            return
        first, byte = (int(n[0]) for n in np.nonzero(lost))
        place = int(self._place[touched[first, byte]])
        key = ("overlap", view.name, m.line, place)
        if m.findings.again(key, len(lost)):
            return
        other, line = self._names[self._last[touched[first, byte]]], unit(place)[1]
        where, element = m.element(view, index, int(lane[first]))
        who = m.thread_name(int(lane[first]))
        message = (
            f"{m.text(who)} reads {element} in shared memory, which line {line} has overwritten "
            f"as {other}: all dynamic shared arrays begin at the same byte; make one, and take "
            "parts of it"
        )
        finding = Finding("overlap", m.here(), message, [who], view.name, where, line)
        m.note(key, finding)
