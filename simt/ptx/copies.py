"""Copies that go on by themselves: `cp.async`, from global memory to shared memory.

Such a copy may write from its start on and has written when it is waited for, whatever barriers
lie between. Here it writes when it is waited for, and who touches its place before races with it.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from simt.core.chunk import Write
from simt.core.masks import EMPTY, split
from simt.core.memory import View
from simt.ptx.memory import WORDS, MemoryAccess, joined

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
        self, to: Lanes, start: int, of: Lanes, begin: int, size: int, many: Any
    ) -> None:  # fmt: skip
        """`cp.async`: reads so `many` bytes now, writes them when waited for, zeros behind."""
        if self.mask is EMPTY:
            return
        word, byte = np.dtype(WORDS[size]), np.dtype(np.uint8)

        def read(dtype: np.dtype[Any], behind: int = 0) -> Lanes:
            return self.rely(self.load("global", of, begin + behind, dtype, 1))

        def fewer() -> Lanes:
            zero = np.zeros((1, 1), byte)
            choices = [((many <= k, lambda: zero), (many > k, partial(read, byte, k)))
                       for k in range(size)]  # fmt: skip
            return joined(tuple(map(self._merged_parts, choices)), byte)[0]

        value = self._merged_parts([(many >= size, partial(read, word)), (many < size, fewer)])
        self.copies.append(Copy(next(self.numbers), self.line, self.mask, to, start, value, word))
        self.notify(self.copies[-1:])

    def notify(self, copies: list[Copy]) -> None:
        """Tells observers of copies in flight; after a barrier again, for they may still write."""

        def begin(view: View, slot: Any) -> None:
            for callback in self.events.begin:
                callback(self, Write(self, view, slot, copy.value), (slot,))

        before, line = self.mask, self.line
        for copy in copies if self.events.begin else ():
            self.line, self.mask = copy.line, copy.mask
            self._each("shared", copy.to, copy.start, copy.dtype, begin)
        self.mask, self.line = before, line

    def commit_copies(self) -> None:
        """Makes one group of the copies that each active thread has begun since its last."""
        if self.mask is EMPTY:
            return
        mine, number = self.spread(True if self.mask is None else self.mask), next(self.numbers)
        copies = []
        for copy in self.copies:
            ours, others = split(copy.mask, copy.group < 0 and mine)
            for mask, group in (ours, number), (others, copy.group):
                if mask is not EMPTY:
                    copies.append(replace(copy, mask=mask, group=group))
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
            now, later = split(copy.mask, getattr(copy, field) in which and lanes)
            if later is not EMPTY:
                copies.append(replace(copy, mask=later))
            if now is not EMPTY:
                self.line, self.mask = copy.line, now
                self.store("shared", copy.to, copy.start, copy.dtype, copy.value)
        self.mask, self.line, self.copies = before, line, copies
