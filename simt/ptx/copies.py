"""Copies that go on by themselves: `cp.async`, from global memory to shared memory.

Such a copy may write from its start on and has written when it is waited for, whatever barriers
lie between. Here it writes when it is waited for, and who touches its place before races with it.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from simt.core.chunk import Write
from simt.core.masks import EMPTY, split
from simt.core.memory import View
from simt.ptx.memory import MemoryAccess, joined

Lanes = Any


@dataclass(frozen=True)
class Copy:
    """A copy that goes on by itself: from which line, by whom, to where, and what."""

    number: int  # in the order in which they begin
    line: int
    mask: Any
    to: Lanes
    start: int
    value: Any
    dtype: np.dtype[Any]
    group: int = -1  # by number; -1 until its thread commits one


class AsyncCopies(MemoryAccess):
    """The copies that the threads of a chunk have begun."""

    def __init__(self, *where: Any, **options: Any) -> None:
        super().__init__(*where, **options)
        self.copies: list[Copy] = []  # under way
        self.groups: dict[int, Lanes] = {}  # who made each and has not waited for it
        self.numbers = count()

    def copy_later(
        self, to: Lanes, start: int, of: Lanes, begin: int, size: int, src_size: Any
    ) -> None:  # fmt: skip
        """`cp.async`: reads now, writes when it is waited for; beyond `src_size` zeros."""
        if self.mask is EMPTY:
            return
        word = np.dtype(np.uint32)
        value = self.rely(self.load("global", of, begin, word, size // 4))
        parts = [value] if size == 4 else [value[..., k] for k in range(size // 4)]
        if src_size is not None and bool((src_size != size).any()):
            parts = [np.where(src_size > 4 * k, part, word.type(0)) for k, part in enumerate(parts)]
        many = (parts[0], word) if size == 4 else joined(tuple(parts), word)
        self.copies.append(Copy(next(self.numbers), self.line, self.mask, to, start, *many))
        self._notify(self.copies[-1:])

    def _notify(self, copies: list[Copy]) -> None:
        """Notifies observers of copies in flight."""

        def begin(view: View, slot: Any) -> None:
            write = Write(self, view, slot, copy.value)
            for callback in self.events.begin:
                callback(self, write, (slot,))

        before, line = self.mask, self.line
        for copy in copies if self.events.begin else ():
            self.line, self.mask = copy.line, copy.mask
            self._each("shared", copy.to, copy.start, copy.dtype, begin)
        self.mask, self.line = before, line

    def still_copying(self) -> None:
        """Repeats the notification after a barrier: the copies may still write."""
        self._notify(self.copies)

    def commit_copies(self) -> None:
        """Makes one group of the copies that each active thread has begun since its last."""
        if self.mask is EMPTY:
            return
        mine, number = self.spread(True if self.mask is None else self.mask), next(self.numbers)
        copies = []
        for copy in self.copies:
            ours, others = split(copy.mask, mine) if copy.group < 0 else (EMPTY, copy.mask)
            if ours is not EMPTY:
                copies.append(replace(copy, mask=ours, group=number))
            if others is not EMPTY:
                copies.append(replace(copy, mask=others))
        self.copies, self.groups[number] = copies, mine

    def wait_for_copies(self, pending: int) -> None:
        """Waits until each active thread has at most `pending` groups of copies in flight."""
        if self.mask is EMPTY:
            return
        waiting = self.spread(True if self.mask is None else self.mask)
        newer = np.zeros(waiting.shape, int)
        for number, makers in sorted(self.groups.items(), reverse=True):
            due = waiting & makers & (newer >= pending)
            newer += waiting & makers
            self.groups[number] = makers & ~due
            if not self.groups[number].any():
                del self.groups[number]
            if due.any():
                self.finish_copies(due, [number], "group")

    def finish_copies(self, lanes: Lanes, which: Container[int], field: str) -> None:
        """Writes what these threads copy, as far as the "number" or "group" is one of those."""
        before, line, copies = self.mask, self.line, []
        for copy in self.copies:
            chosen = getattr(copy, field) in which
            now, later = split(copy.mask, lanes) if chosen else (EMPTY, copy.mask)
            if later is not EMPTY:
                copies.append(replace(copy, mask=later))
            if now is not EMPTY:
                self.line, self.mask = copy.line, now
                self.store("shared", copy.to, copy.start, copy.dtype, copy.value)
        self.mask, self.line, self.copies = before, line, copies
