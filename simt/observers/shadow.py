"""Shadows: which thread last touched each element of an allocation, and its old value."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from simt.core.chunk import Chunk
from simt.core.masks import Mask
from simt.core.memory import Allocation, View
from simt.core.values import Value
from simt.observers.happens_before import warp_numbers
from simt.observers.observer import Lanes

SNAPSHOT_BYTES = 32  # a thread, up to which an allocation is copied whole before an interval
Table = tuple[Lanes, Lanes]  # a thread for each element, and when it touched it
TABLES = ("atomics", "readers", "strong", "polls", "scoped")


def _for_all(m: Chunk, who: Lanes, when: Lanes) -> Table:
    """Tables of the first block for all blocks, whose threads have done the same."""
    further = m.thread_numbers[:, 0] - m.thread_numbers[0, 0]
    return np.where(who[:, None] < 0, -1, who[:, None] + further).ravel(), when.repeat(m.blocks)


@dataclass
class Read:
    """A read that was noted down: where, by whom, when."""

    view: View
    slot: Value
    mask: Mask
    time: int
    strong: int = 0  # an atomic may go beside it (1), a volatile write too (2)


class AccessTable:
    """The last two threads that touched each element, of two warps if possible, and when."""

    def __init__(self, count: int) -> None:
        self.tables = tuple(
            (np.full(count, -1, np.int64), np.zeros(count, np.int32)) for _ in range(2)
        )

    def enter(self, elements: Lanes, me: Lanes, time: int, floor: int, block: int) -> None:
        """Enters an access by threads `me`; `block` is the number of threads of a block."""
        (reader, read_at), (second, second_at) = self.tables
        fresh = read_at[elements] > floor
        if fresh.any():
            others = np.flatnonzero(fresh & (reader[elements] != me))
            place = elements[others]
            far = warp_numbers(reader[place], block) != warp_numbers(me[others], block)
            place = place[far | (second_at[place] <= floor)]
            second[place] = reader[place]
            second_at[place] = read_at[place]
        reader[elements] = me
        read_at[elements] = time
        last = reader[elements]
        beaten = last != me  # several threads touch one element in this very statement
        if beaten.any():
            far = warp_numbers(last, block) != warp_numbers(me, block)
            for chosen in (beaten & ~far & (second_at[elements] <= floor), beaten & far):
                second[elements[chosen]] = me[chosen]
                second_at[elements[chosen]] = time

    def repeated(self, times: int) -> AccessTable:
        """The same with `times` elements for each."""
        result = AccessTable(0)
        result.tables = tuple((np.repeat(a, times), np.repeat(b, times)) for a, b in self.tables)
        return result


class Shadow:
    """The threads that touched each element of an allocation; times are 0 where none did."""

    def __init__(self, allocation: Allocation, grain: int) -> None:
        self.allocation = allocation
        self.grain = grain  # bytes per element
        # the tables are those of the first block of the chunk, and the others have done the same
        self.alike = allocation.space == "shared" and allocation.columns
        count = (allocation.pitch if self.alike else len(allocation.data)) // grain
        self.writer = np.full(count, -1, np.int64)
        self.wrote = np.zeros(count, np.int32)
        self.atomics: AccessTable | None = None
        self.counted: Lanes | None = None  # whose atomic was the last, if it goes by what it found
        self.readers: AccessTable | None = None
        self.strong: AccessTable | None = None  # reads that an atomic may go beside
        self.polls: AccessTable | None = None  # reads that a volatile write may go beside too
        self.scoped: AccessTable | None = None  # atomics that are some for their block only
        self.flagged: Lanes | None = None  # when each element was last written as volatile
        self.rivals: Lanes | None = None  # threads that wrote where another thread did too
        self.before: Lanes | None = None  # bytes from before the interval
        self.whole = False  # all of them, also of what has not been written since
        self.last_write = 0
        self.last_entered = 0
        self.noted: list[Read] = []
        self.entered: list[Read] = []

    def by_bytes(self) -> Shadow:
        """The same shadow with one element for each byte."""
        shadow = copy(self)
        shadow.grain = 1
        for name in TABLES:
            tables = getattr(self, name)
            setattr(shadow, name, tables and tables.repeated(self.grain))
        for name in ("writer", "wrote", "counted", "flagged"):
            each = getattr(self, name)
            setattr(shadow, name, None if each is None else each.repeat(self.grain))
        return shadow

    def of_each_block(self, m: Chunk) -> None:
        """From now on every block has tables of its own."""
        if self.alike:
            self.alike = False
            self.writer, self.wrote = _for_all(m, self.writer, self.wrote)
            for tables in (getattr(self, name) for name in TABLES):
                if tables is not None:
                    tables.tables = tuple(_for_all(m, *table) for table in tables.tables)

    def written(self, floor: int, *, strong: int = 0) -> list[Table]:
        """Who has written what since `floor`, if anything, of which a read may be torn."""
        if self.last_write <= floor:
            return []
        atomics = self.atomics.tables if self.atomics and not strong else ()
        wrote = self.wrote
        if strong == 2 and self.flagged is not None:
            wrote = np.where(self.flagged == wrote, 0, wrote)
        return [(self.writer, wrote), *atomics]

    def read(self, floor: int, *, strong: int = 0) -> tuple[Table, ...]:
        """Who has read since `floor` what a write must not go beside: an atomic (2), volatile (1).

        Nothing, if nothing was entered since.
        """
        if self.last_entered <= floor:
            return ()
        kinds = (self.readers, self.strong, self.polls)[: 3 - strong]
        return tuple(table for kind in kinds if kind for table in kind.tables)

    def enter(
        self, elements: Lanes, me: Lanes, time: int, floor: int, block: int, *, strong: int = 0
    ) -> None:
        """Enters a read by threads `me`; `block` is the number of threads of a block."""
        name = ("readers", "strong", "polls")[strong]
        if getattr(self, name) is None:
            setattr(self, name, AccessTable(len(self.writer)))
        getattr(self, name).enter(elements, me, time, floor, block)
        self.last_entered = max(self.last_entered, time)

    def enter_atomic(
        self, elements: Lanes, me: Lanes, time: int, floor: int, block: int, *, used: bool,
        block_only: bool,
    ) -> None:  # fmt: skip
        """Enters an atomic by threads `me`, which go by what they have found if it is `used`."""
        if block_only:
            self.scoped = self.scoped or AccessTable(len(self.writer))
            self.scoped.enter(elements, me, time, floor, block)
        if self.atomics is None or self.counted is None:
            self.atomics = AccessTable(len(self.writer))
            self.counted = np.full(len(self.writer), -1, np.int64)
        self.atomics.enter(elements, me, time, floor, block)
        self.counted[elements] = me if used else -1

    def rival(self, elements: Lanes, me: Lanes, threads: int) -> None:
        """Notes threads that write where others wrote, and those others, of so many threads."""
        self.rivals = np.zeros(threads, bool) if self.rivals is None else self.rivals
        both = np.concatenate((me, self.writer[elements]))
        self.rivals[both[both >= 0]] = True

    def keep_whole(self, m: Chunk, floor: int) -> bool:
        """Whether all that stood here before the interval is kept, which a write begins or goes on.

        If that is much, what each element held is kept when it is first written.
        """
        data = self.allocation.data
        if self.before is None:
            self.before, self.whole = data.copy(), True
        elif self.last_write <= floor:
            self.whole = len(data) <= SNAPSHOT_BYTES * m.blocks * m.threads
            if self.whole:
                self.before[:] = data
        return self.whole

    def kept(self, view: View) -> Lanes:
        """The values of an array before the interval, where they are kept."""
        assert self.before is not None
        size = view.dtype.itemsize
        return self.before[: len(self.before) // size * size].view(view.dtype)
