"""Copies that go on by themselves: `cp.async`, from global memory to shared memory.

Such a copy may write from its start on and has written when it is waited for, whatever barriers
lie between. Here it writes when it is waited for, and who touches its place before races with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simt.core.chunk import Write
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.ptx.memory import MemoryAccess, joined

__all__ = ["AsyncCopies"]

Lanes = Any


class Copy(NamedTuple):
    """A copy that goes on by itself: from which line, by whom, to where, and what."""

    line: int
    mask: Any
    to: Lanes
    start: int
    value: Any
    dtype: np.dtype[Any]


class AsyncCopies(MemoryAccess):
    """The copies that the threads of a chunk have begun."""

    def __init__(self, *where: Any, **options: Any) -> None:
        super().__init__(*where, **options)
        self.copies: list[Copy] = []  # since the last group
        self.groups: list[list[Copy]] = []  # under way

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
        self.copies.append(Copy(self.line, self.mask, to, start, *many))
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
        for copies in (*self.groups, self.copies):
            self._notify(copies)

    def commit_copies(self) -> None:
        """Makes one group of all copies that have begun since the last."""
        if self.mask is not EMPTY:
            self.groups.append(self.copies)
            self.copies = []

    def wait_for_copies(self, pending: int) -> None:
        """Waits until at most `pending` groups of copies are in flight."""
        before, line = self.mask, self.line
        while len(self.groups) > pending and before is not EMPTY:
            for copy in self.groups.pop(0):
                self.line, self.mask = copy.line, copy.mask
                self.store("shared", copy.to, copy.start, copy.dtype, copy.value)
        self.mask, self.line = before, line
