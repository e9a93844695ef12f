"""Races, and what they do to the values.

Every access of a launch has a *time*, a running number. Two accesses to one place by two
threads race if one of them writes, not both are atomic, and nothing orders them:

- a barrier orders the threads of a block, `syncwarp` those of a warp,
- a whole-grid sync orders all,
- a fence followed by an atomic publishes what a block wrote to the blocks whose own
  atomic comes later.

A `Shadow` remembers, for each element of an allocation, who wrote it last and up to two
threads (of two warps, if there are such) that read it. Reads are only noted down, and
entered into the shadow when a write to the same allocation comes in the same interval: in
a right kernel that hardly ever happens.

Carrying out a statement for all threads at once would hide most races. So a reader that
races with a write of another warp gets the value from before, and where the write came
second the launch is run again with what the reader could have seen (`patches`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.findings import Finding
from gpulearn.simt.masks import Mask
from gpulearn.simt.memory import Allocation, View, scatter
from gpulearn.simt.source import unit
from gpulearn.simt.values import Value

if TYPE_CHECKING:
    from gpulearn.simt.access import Access

__all__ = ["Hazards", "Shadow"]

REMEMBERED = 256  # reads noted down before they are entered all the same
Lanes = np.ndarray[Any, Any]


def _typed(data: Lanes, dtype: np.dtype[Any]) -> Lanes:
    """Bytes as words of a type; what is left over at the end is left out."""
    return data[: len(data) // dtype.itemsize * dtype.itemsize].view(dtype)


@dataclass
class Read:
    """A read that was noted down: where, by whom, when."""

    view: View
    slot: Value
    mask: Mask
    time: int


class Shadow:
    """Who touched each element of an allocation; times are 0 where nobody did."""

    def __init__(self, allocation: Allocation, grain: int) -> None:
        self.allocation = allocation
        self.grain = grain  # bytes per element
        count = len(allocation.data) // grain
        self.writer = np.full(count, -1, np.int64)
        self.wrote = np.zeros(count, np.int32)
        self.atomic: Lanes | None = None
        self.atomic_time: Lanes | None = None
        self.readers: tuple[Lanes, Lanes, Lanes, Lanes] | None = None
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

    def reader_tables(self) -> tuple[Lanes, Lanes, Lanes, Lanes]:
        """Two readers per element, and when they read."""
        if self.readers is None:
            n = len(self.writer)
            self.readers = (
                np.full(n, -1, np.int64), np.zeros(n, np.int32),
                np.full(n, -1, np.int64), np.zeros(n, np.int32),
            )  # fmt: skip
        return self.readers

    def atomic_tables(self) -> tuple[Lanes, Lanes]:
        """The last atomic access per element, and when it was."""
        if self.atomic is None or self.atomic_time is None:
            self.atomic = np.full(len(self.writer), -1, np.int64)
            self.atomic_time = np.zeros(len(self.writer), np.int32)
        return self.atomic, self.atomic_time


class Hazards:
    """All that one launch remembers about order between threads."""

    def __init__(self, blocks: int, patches: dict[int, tuple[Lanes, Lanes]] | None) -> None:
        self.time = 0
        self.lines: list[int] = [0]
        self.replaying = patches is not None
        self.patches: dict[int, tuple[Lanes, Lanes]] = patches or {}
        self.found: dict[int, tuple[Lanes, Lanes]] = {}
        self.grid_sync = 0
        self.block_sync: Value = 0  # time, or one per block of the chunk
        self.floor = 0  # all blocks of the chunk have passed a barrier at this time
        self.warp_sync: Value = 0  # time, or one per thread
        self.shadows: list[Shadow] = []
        # release and acquire between blocks, by number of the block
        self.fenced = np.zeros(blocks, np.int64)
        self.published_until = np.zeros(blocks, np.int64)
        self.published_at = np.full(blocks, np.iinfo(np.int64).max)
        self.acquired = np.zeros(blocks, np.int64)
        self.signals = 0  # atomics so far, block by block
        self.fences = False

    # --- synchronisation

    def new_chunk(self) -> None:
        """Other blocks begin: their barriers have nothing to do with the last ones'."""
        self.block_sync = self.floor = self.time
        self.warp_sync = 0
        for shadow in self.shadows:
            shadow.entered.clear()

    def barrier(self, blocks: Value) -> None:
        """A barrier that all (None) or some blocks (bool, (blocks, 1)) took part in."""
        if blocks is None:
            self.block_sync = self.floor = self.time
            self._forget()
        else:
            self.block_sync = np.where(blocks, self.time, self.block_sync)

    def _forget(self) -> None:
        for shadow in self.shadows:
            if shadow.allocation.space == "shared":
                shadow.noted.clear()
                shadow.entered.clear()

    def warp_barrier(self, mask: Mask) -> None:
        """`syncwarp` by the threads in the mask."""
        self.warp_sync = self.time if mask is None else np.where(mask, self.time, self.warp_sync)

    def whole_grid(self) -> None:
        """A barrier of all blocks."""
        self.grid_sync = self.block_sync = self.floor = self.time
        self._forget()

    def fence(self, blocks: Lanes) -> None:
        """`threadfence` by these blocks (numbers)."""
        self.fences = True
        self.fenced[blocks] = self.time

    def signal(self, blocks: Lanes) -> None:
        """A global atomic by these blocks, in this order: publishes what was fenced before."""
        if not self.fences:
            return
        turn = self.signals + 1 + np.arange(len(blocks))
        self.signals += len(blocks)
        ready = self.fenced[blocks] > self.published_until[blocks]
        self.published_until[blocks[ready]] = self.fenced[blocks[ready]]
        self.published_at[blocks[ready]] = turn[ready]
        self.acquired[blocks] = turn

    def tick(self, line: int) -> int:
        """The time of a new access."""
        self.time += 1
        self.lines.append(line)
        return self.time

    # --- who is ordered after whom

    def unordered(self, m: Access, other: Lanes, when: Lanes, lane: Lanes) -> Lanes:
        """For accesses by threads `other` at `when`: may those of the active `lane`s race?"""
        me = m.thread_numbers.ravel()[lane]
        size = m.threads
        block, other_block = me // size, other // size
        same_block = block == other_block
        same_warp = same_block & (me % size // 32 == other % size // 32)
        shape = (m.blocks, m.threads)
        if isinstance(self.block_sync, np.ndarray):
            block_sync = np.broadcast_to(self.block_sync, shape).ravel()[lane]
        else:
            block_sync = self.block_sync
        if isinstance(self.warp_sync, np.ndarray):
            warp_sync = np.broadcast_to(self.warp_sync, shape).ravel()[lane]
        else:
            warp_sync = self.warp_sync
        ordered = (
            (me == other)
            | (same_block & (when <= block_sync))
            | (same_warp & (when <= warp_sync))
            | (when <= self.grid_sync)
        )
        if self.fences:
            ordered |= (
                ~same_block
                & (when <= self.published_until[other_block])
                & (self.published_at[other_block] < self.acquired[block])
            )
        result: Lanes = ~ordered
        return result

    def quiet(self, shadow: Shadow) -> int:
        """Accesses up to this time can no longer race with anybody's."""
        return self.floor if shadow.allocation.space == "shared" else self.grid_sync

    # --- accesses

    def shadow(self, view: View) -> Shadow:
        """The shadow of an allocation, made when it is first needed."""
        allocation, size = view.allocation, view.dtype.itemsize
        shadow = allocation.shadow
        fits = shadow is not None and (
            shadow.grain == 1 or (view.aligned and size % shadow.grain == 0)
        )
        if shadow is not None and fits:
            return shadow
        made = Shadow(allocation, size if view.aligned and shadow is None else 1)
        if shadow is not None:  # another type now shares the memory: go by bytes
            times = shadow.grain
            made.writer = np.repeat(shadow.writer, times)
            made.wrote = np.repeat(shadow.wrote, times)
            made.last_write, made.noted = shadow.last_write, shadow.noted
            made.before = shadow.before
            self.shadows.remove(shadow)
        allocation.shadow = made
        self.shadows.append(made)
        return made

    def read(
        self, m: Access, view: View, slot: Value, index: tuple[Value, ...], value: Value
    ) -> Value:
        """Notes a read; returns its value, torn where it races with another warp's write."""
        if view.allocation.readonly:
            return value
        shadow = view.allocation.shadow or self.shadow(view)
        time = self.tick(m.line)
        floor = self.quiet(shadow)
        if shadow.last_write > floor:
            value = self._check_read(m, self.shadow(view), view, slot, index, value, floor)
        shadow = self.shadow(view)
        shadow.noted.append(Read(view, slot, m.mask, time))
        if len(shadow.noted) > REMEMBERED:
            self._enter(m, shadow)
        patch = self.patches.get(time)
        if patch is not None:
            lane, new = patch
            value = np.array(np.broadcast_to(value, (m.blocks, m.threads)))
            value.ravel()[lane] = new
        return value

    def _check_read(
        self,
        m: Access,
        shadow: Shadow,
        view: View,
        slot: Value,
        index: tuple[Value, ...],
        value: Value,
        floor: int,
    ) -> Value:
        lane, slots = m.active_slots(view, slot, m.mask)
        elements, parts = shadow.elements(view, slots)
        if parts > 1:
            lane_of = np.repeat(np.arange(len(lane)), parts)
        me = m.thread_numbers.ravel()[lane]
        tables = [(shadow.writer, shadow.wrote)]
        if shadow.atomic is not None:
            tables.append(shadow.atomic_tables())
        for who, when in tables:
            others, times = who[elements], when[elements]
            mine = me if parts == 1 else me[lane_of]
            chosen = np.flatnonzero((times > floor) & (others != mine))
            if not len(chosen):
                continue
            position = chosen if parts == 1 else lane_of[chosen]
            racing = self.unordered(m, others[chosen], times[chosen], lane[position])
            chosen, position = chosen[racing], position[racing]
            if not len(chosen):
                continue
            first = position[0]
            self._report(
                m, view, index, int(lane[first]), int(others[chosen[0]]),
                int(times[chosen[0]]), "reads", "writes", len(chosen),
            )  # fmt: skip
            if shadow.before is None:
                continue
            size = m.threads
            same_warp = (others[chosen] // size == me[position] // size) & (
                others[chosen] % size // 32 == me[position] % size // 32
            )
            far = position[~same_warp]
            if len(far):
                old = _typed(shadow.before, view.dtype) if view.aligned else None
                if old is not None:
                    value = np.array(np.broadcast_to(value, (m.blocks, m.threads)))
                    value.ravel()[lane[far]] = old[slots[far]]
        return value

    def _enter(self, m: Access, shadow: Shadow) -> None:
        """Moves the noted reads into the shadow's tables."""
        floor = self.quiet(shadow)
        reader, read_at, second, second_at = shadow.reader_tables()
        size = m.threads
        for read in shadow.noted:
            if read.time <= floor:
                continue
            lane, slots = m.active_slots(read.view, read.slot, read.mask)
            me = m.thread_numbers.ravel()[lane]
            elements, parts = shadow.elements(read.view, slots)
            if parts > 1:
                me = np.repeat(me, parts)
            old, old_at = reader[elements], read_at[elements]
            warp = me // size * size + me % size // 32
            fresh = old_at > floor
            if fresh.any():
                old_warp = old // size * size + old % size // 32
                far = fresh & (old_warp != warp)
                near = fresh & (old != me) & ~far & (second_at[elements] <= floor)
                move = far | near
                second[elements[move]] = old[move]
                second_at[elements[move]] = old_at[move]
            reader[elements] = me
            read_at[elements] = read.time
            last = reader[elements]
            beaten = last != me
            if beaten.any():
                last_warp = last // size * size + last % size // 32
                for chosen in (beaten & (last_warp == warp), beaten & (last_warp != warp)):
                    free = chosen & ((second_at[elements] <= floor) | (last_warp != warp))
                    second[elements[free]] = me[free]
                    second_at[elements[free]] = read.time
            shadow.last_entered = max(shadow.last_entered, read.time)
            if not self.replaying:
                shadow.entered.append(read)
        del shadow.entered[:-REMEMBERED]
        shadow.noted = []

    def write(
        self,
        m: Access,
        view: View,
        lane: Lanes,
        slots: Lanes,
        values: Value,
        index: tuple[Value, ...],
        *,
        atomic: bool = False,
    ) -> None:
        """Checks and notes a write by `lane`s, and carries it out unless it is atomic."""
        shadow = self.shadow(view)
        time = self.tick(m.line)
        floor = self.quiet(shadow)
        me = m.thread_numbers.ravel()[lane]
        elements, parts = shadow.elements(view, slots)
        repeated = me if parts == 1 else np.repeat(me, parts)
        if shadow.noted:
            self._enter(m, shadow)
        if shadow.last_entered > floor:
            reader, read_at, second, second_at = shadow.reader_tables()
            racing: list[Lanes] = []
            for who, when in ((reader, read_at), (second, second_at)):
                racing.append(
                    self._against(
                        m, view, lane, parts, elements, repeated, who, when, floor, index,
                        "writes", "reads", None,
                    )
                )  # fmt: skip
            if not self.replaying and not atomic:
                self._remember_tear(m, shadow, view, slots, lane, values, np.concatenate(racing))
        changed = None
        if shadow.last_write > floor:
            if not atomic:
                now = view.flat[slots] if view.aligned else None
                if now is not None:
                    changed = ~((now == values) | ((now != now) & (values != values)))
            self._against(m, view, lane, parts, elements, repeated, shadow.writer, shadow.wrote,
                          floor, index, "writes", "writes", changed)  # fmt: skip
            if not atomic and shadow.atomic is not None:
                who, when = shadow.atomic_tables()
                self._against(m, view, lane, parts, elements, repeated, who, when, floor, index,
                              "writes", "writes", None)  # fmt: skip
        self._save(m, shadow, view, slots, elements, lane, parts)
        shadow.last_write = time
        if atomic:
            who, when = shadow.atomic_tables()
            who[elements], when[elements] = repeated, time
            return
        scatter(view, slots, values)
        shadow.writer[elements] = repeated
        shadow.wrote[elements] = time
        winner = shadow.writer[elements]
        beaten = np.flatnonzero(winner != repeated)
        if len(beaten) and view.aligned and parts == 1:
            now = view.flat[slots[beaten]]
            mine = np.broadcast_to(values, slots.shape)[beaten]
            differs = np.flatnonzero(~((now == mine) | ((now != now) & (mine != mine))))
            if len(differs):
                first = beaten[differs[0]]
                self._report(m, view, index, int(lane[first]), int(winner[first]), time,
                             "writes", "writes", len(differs))  # fmt: skip

    def _against(
        self,
        m: Access,
        view: View,
        lane: Lanes,
        parts: int,
        elements: Lanes,
        me: Lanes,
        who: Lanes,
        when: Lanes,
        floor: int,
        index: tuple[Value, ...],
        verb: str,
        other_verb: str,
        changed: Lanes | None,
    ) -> Lanes:
        """Reports races with the accesses in one pair of tables; returns the positions."""
        others, times = who[elements], when[elements]
        chosen = np.flatnonzero((times > floor) & (others != me))
        position = chosen // parts
        if changed is not None and len(chosen):
            keep = np.broadcast_to(changed, lane.shape)[position]
            chosen, position = chosen[keep], position[keep]
        if not len(chosen):
            return chosen
        racing = self.unordered(m, others[chosen], times[chosen], lane[position])
        chosen, position = chosen[racing], position[racing]
        if len(chosen):
            # what is seen first in the program makes the clearer message
            first = int(np.argmin(chosen))
            self._report(
                m, view, index, int(lane[position[first]]), int(others[chosen[first]]),
                int(times[chosen[first]]), verb, other_verb, len(chosen),
            )  # fmt: skip
        return position

    def _save(
        self,
        m: Access,
        shadow: Shadow,
        view: View,
        slots: Lanes,
        elements: Lanes,
        lane: Lanes,
        parts: int,
    ) -> None:
        """Keeps what stood in an element before the first write of the interval."""
        if not view.aligned:
            return
        if shadow.before is None:
            shadow.before = shadow.allocation.data.copy()
            return
        last = shadow.wrote[elements[::parts]]
        floor: Value = self.quiet(shadow)
        if shadow.allocation.space == "shared" and isinstance(self.block_sync, np.ndarray):
            floor = np.broadcast_to(self.block_sync, (m.blocks, m.threads)).ravel()[lane]
        first = slots[last <= floor]
        _typed(shadow.before, view.dtype)[first] = view.flat[first]

    def _remember_tear(
        self,
        m: Access,
        shadow: Shadow,
        view: View,
        slots: Lanes,
        lane: Lanes,
        values: Value,
        racing: Lanes,
    ) -> None:
        """Another warp's write came after the read: notes what the read could have seen."""
        if not len(racing) or not view.aligned:
            return
        racing = np.unique(racing)
        table = np.full(len(view.flat), -1, np.int64)
        table[slots[racing]] = racing
        values = np.broadcast_to(values, slots.shape)
        size = m.threads
        floor = self.quiet(shadow)
        for read in shadow.entered:
            if read.time <= floor or read.view.dtype != view.dtype or not read.view.aligned:
                continue
            readers, places = m.active_slots(read.view, read.slot, read.mask)
            hit = table[places]
            chosen = np.flatnonzero(hit >= 0)
            if not len(chosen):
                continue
            writer = m.thread_numbers.ravel()[lane[hit[chosen]]]
            me = m.thread_numbers.ravel()[readers[chosen]]
            far = (writer // size != me // size) | (writer % size // 32 != me % size // 32)
            order = self.unordered(m, me, np.full(len(me), read.time), lane[hit[chosen]])
            chosen = chosen[far & order]
            if len(chosen) and read.time not in self.found:
                self.found[read.time] = (readers[chosen], values[hit[chosen]].copy())

    # --- findings

    def _report(
        self,
        m: Access,
        view: View,
        index: tuple[Value, ...],
        lane: int,
        other: int,
        when: int,
        verb: str,
        other_verb: str,
        count: int,
    ) -> None:
        place, other_place = m.line, self.lines[when]
        key = ("race", view.name, *sorted((place, other_place)), verb == other_verb)
        if m.findings.again(key, count):
            return
        where = m.lane_index(index, lane)
        subscript = ", ".join(map(str, where))
        mine, theirs = m.thread_name(lane), m.number_name(other)
        line, other_line = unit(place)[1], unit(other_place)[1]
        element = f"{view.name}[{subscript}]"
        same_block = mine["block"] == theirs["block"]
        cure = "no barrier between them" if same_block else "blocks run in no fixed order"
        if same_block and when == self.time:
            cure = "both at once"
        who = m.pair_text(theirs, mine)
        message = (
            f"race on {element} in {view.space} memory: {who[0]} {other_verb} it on line "
            f"{other_line}, {who[1]} {verb} it on line {line}, {cure}"
        )
        first, second = sorted((other_line, line))
        finding = Finding("race", second, message, [theirs, mine], view.name, where, first, count)
        m.findings.add(key, finding)
