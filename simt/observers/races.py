"""Race detection, and what a race does to the values.

Two accesses to one place by two threads race if one of them writes, not both are atomic,
and nothing orders them (see `happens_before`). Beside an atomic, a *strong* read (volatile,
relaxed, or the guess that an `atomicCAS` confirms) is as good as one, and a relaxed write of PTX
comes as an atomic. A volatile write is a plain one, except to those who poll what it writes. For
another block an atomic of block scope is none. A `Shadow` remembers,
for each element of an allocation, who wrote it last and up to two threads (of two warps, if
there are such) that read it. Reads are only noted down, and entered into the shadow when a
write to the same allocation comes in the same interval: in a right kernel that hardly ever
happens. As long as all blocks do the same with their shared memory, the first of them stands
for all.

Carrying out a statement for all threads at once would hide most races. So a reader that
races with a write of another warp gets the value from before, and where the write came
second the launch is run again with what the reader could have seen (`patches`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simt.core.chunk import Chunk, Write
from simt.core.findings import Finding
from simt.core.memory import View
from simt.core.source import unit
from simt.core.values import Value
from simt.observers.happens_before import HappensBefore, warp_numbers
from simt.observers.observer import Index, Lanes, Observer
from simt.observers.shadow import Read, Shadow, Table

NO_THREADS = np.zeros(0, np.int64)
MAX_PENDING_READS = 256  # reads noted before they are entered
Patches = dict[int, tuple[Lanes, Lanes]]  # time of a read -> (lanes, what they see instead)


@dataclass
class _Access:
    """One access under scrutiny; arrays hold one entry per active lane, or per element."""

    m: Chunk
    view: View
    index: tuple[Value, ...]
    verb: str
    lane: Lanes
    slots: Lanes
    elements: Lanes  # of the shadow; `parts` of them for each lane
    parts: int
    me: Lanes  # the thread of each element

    @property
    def last(self) -> Lanes:
        """The number of the last element of each lane."""
        return self.elements[:: self.parts]


def _same_warp(m: Chunk, a: Lanes, b: Lanes) -> Lanes:
    """Whether threads, given by their numbers in the grid, are of one warp."""
    result: Lanes = warp_numbers(a, m.threads) == warp_numbers(b, m.threads)
    return result


def _same(a: Value, b: Value) -> Value:
    """Equal, or both NaN."""
    return (a == b) | ((a != a) & (b != b))


class Races(Observer):
    """Watches the memory of one launch of so many blocks."""

    replays = True

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.replaying = False
        self.restart()

    def restart(self) -> None:
        """Forgets everything: the launch starts again."""
        self.order = HappensBefore(self.blocks)
        self.shadows: dict[int, Shadow] = {}  # by the number of the allocation
        self.patches: Patches = {}
        self.tears: Patches = {}

    def replay(self) -> bool:
        """Whether reads were seen that must give older values when the launch runs again."""
        patches = self.tears
        if patches:
            self.restart()
            self.replaying, self.patches = True, patches
        return bool(patches)

    # --- what orders accesses

    def chunk(self, m: Chunk, last: Chunk | None) -> None:
        """Other blocks begin: reads noted until now are of lanes of the last ones."""
        shadows = {n: s for n, s in self.shadows.items() if s.allocation.space != "shared"}
        for shadow in shadows.values():
            if last is not None:
                self._enter(last, shadow)
            shadow.entered.clear()
        self.order.new_chunk()
        self.shadows = shadows

    def barrier(self, m: Chunk, blocks: Value, grid: bool) -> None:
        """After a barrier of all blocks, nothing in shared memory can race with what was."""
        self.order.barrier(blocks, grid)
        if blocks is not None:
            return
        for shadow in self.shadows.values():
            if shadow.allocation.space == "shared":
                shadow.noted.clear()
                shadow.entered.clear()

    def gathered(self, m: Chunk, arrived: Lanes, waiting: Lanes) -> None:
        """A barrier of some threads orders only those."""
        self.order.gathered(m, arrived, waiting)

    def warp_barrier(self, m: Chunk, met: tuple[Lanes, Lanes, Lanes] | None) -> None:
        """`syncwarp` by all lanes (None) or by some: who came, their masks, who exists."""
        self.order.warp_barrier(m, met)

    def fence(self, m: Chunk, block_only: bool) -> None:
        """`threadfence` by the active threads."""
        self.order.fence(m, block_only=block_only)

    def quiet(self, shadow: Shadow) -> int:
        """The time up to which accesses can no longer race."""
        order = self.order
        return order.floor if shadow.allocation.space == "shared" else order.grid_sync

    # --- what is remembered

    def shadow(self, view: View) -> Shadow:
        """The shadow of an allocation, made when it is first needed."""
        allocation, size = view.allocation, view.dtype.itemsize
        shadow = self.shadows.get(allocation.number)
        if shadow is None:
            fresh = Shadow(allocation, size if view.aligned else 1)
        elif shadow.grain == 1 or (view.aligned and size % shadow.grain == 0):
            return shadow
        else:  # another type now shares the memory: go by bytes
            fresh = shadow.by_bytes()
        self.shadows[allocation.number] = fresh
        return fresh

    def _access(
        self, m: Chunk, shadow: Shadow, view: View, index: tuple[Value, ...], verb: str,
        lane: Lanes, slots: Lanes,
    ) -> _Access:  # fmt: skip
        elements, parts = view.elements(slots, shadow.grain)
        me = m.thread_numbers.ravel()
        me = me if lane is m.all_lanes else me[lane]
        return _Access(
            m, view, index, verb, lane, slots, elements, parts,
            me if parts == 1 else np.repeat(me, parts),
        )  # fmt: skip

    # --- reads

    def older(self, m: Chunk, view: View, slot: Value, index: Index, value: Value) -> Value:
        """Notes a read; returns its value, torn where it races with another warp's write."""
        if view.allocation.readonly or view.space == "local":
            return value
        shadow = self.shadow(view)
        time = self.order.tick(m.line)
        floor = self.quiet(shadow)
        written = shadow.written(floor, strong=m.strong)
        if m.strong:
            self.order.look(m, m.lanes(m.mask), shared=view.space != "global")
        table = m.in_each_block(view, slot, m.mask) if written else None
        if written and not self._first_block(m, shadow, table, written, floor):
            lane, slots = m.active_slots(view, slot, m.mask)
            access = self._access(m, shadow, view, index, "reads", lane, slots)
            value = self._check_read(shadow, access, value, floor)
        shadow.noted.append(Read(view, slot, m.mask, time, m.strong))
        if len(shadow.noted) > MAX_PENDING_READS:
            self._enter(m, shadow)
        patch = self.patches.get(time)
        if patch is not None:
            value = _replace_lanes(m, value, *patch)
        return value

    def _check_read(self, shadow: Shadow, a: _Access, value: Value, floor: int) -> Value:
        for who, when in shadow.written(floor, strong=a.m.strong):
            racing, position = self._report_against(a, who, when, floor, "writes")
            if not len(racing) or shadow.before is None or not a.view.aligned:
                continue
            torn = ~_same_warp(a.m, who[a.elements[racing]], a.me[racing])
            if shadow.rivals is not None:  # what stood there before a thread's own write is gone
                torn &= ~shadow.rivals[a.me[racing]]
            if len(far := position[torn]):
                value = _replace_lanes(a.m, value, a.lane[far], shadow.kept(a.view)[a.slots[far]])
        return value

    def _enter(self, m: Chunk, shadow: Shadow) -> None:
        """Moves the noted reads into the shadow's tables."""
        floor = self.quiet(shadow)
        for read in shadow.noted:
            if read.time <= floor:
                continue
            table = m.in_each_block(read.view, read.slot, read.mask)
            alike = self._first_block(m, shadow, table, (), floor)
            if alike is None:
                touched = m.active_slots(read.view, read.slot, read.mask)
                a = self._access(m, shadow, read.view, (), "reads", *touched)
                alike = a.me, a.elements
            me, elements = alike
            shadow.enter(elements, me, read.time, floor, m.threads, strong=read.strong)
            if not self.replaying:
                shadow.entered.append(read)
        del shadow.entered[:-MAX_PENDING_READS]
        shadow.noted = []

    # --- writes

    def write(self, m: Chunk, write: Write, index: Index) -> None:
        """Checks and notes a write; an atomic publishes what was fenced before."""
        view = write.view
        if view.space != "local":
            shadow = self.shadow(view)
            time = self.order.tick(m.line)
            if shadow.noted:
                self._enter(m, shadow)
            if not self._write_alike(shadow, write, time):
                lane, slots, values = write.lanes
                a = self._access(m, shadow, view, index, "writes", lane, slots)
                self._write(shadow, a, values, time, write)
        if write.values is None or write.volatile:
            self.order.signal(m, write)

    def begin(self, m: Chunk, write: Write, index: Index) -> None:
        """A copy under way: whoever else touches the place meanwhile races with it."""
        self.write(m, write, index)

    def _first_block(
        self, m: Chunk, shadow: Shadow, table: Table | None, tables: Sequence[Table], floor: int
    ) -> Table | None:  # fmt: skip
        """The first block's threads of an access and its elements, if they stand for all blocks'.

        Else, or if an entry of the tables may race with it, each block has its own tables.
        """
        together = shadow.alike and not isinstance(self.order.block_sync, np.ndarray)
        if together and table is not None:
            thread, elements = table
            me = m.thread_numbers[0, thread]
            if not any(
                ((when[elements] > floor) & (who[elements] != me)).any() for who, when in tables
            ):
                return me, elements
        shadow.of_each_block(m)
        return None

    def _write_alike(self, shadow: Shadow, write: Write, time: int) -> bool:
        """Notes a write that is the same in all blocks and races with nothing, if it is one."""
        m, floor = write.m, self.quiet(shadow)
        tables = [*shadow.read(floor), *shadow.written(floor)] if shadow.alike else ()
        table = None if write.values is None or write.volatile else write.in_each_block
        entry = self._first_block(m, shadow, table, tables, floor)
        if entry is None:
            return False
        me, elements = entry
        before = shadow.writer[elements]
        shadow.writer[elements] = me
        if (shadow.writer[elements] != me).any():  # two threads write one element
            shadow.writer[elements] = before
            shadow.of_each_block(m)
            return False
        if shadow.last_write <= floor:
            shadow.rivals = None
        if not shadow.keep_whole(m, floor):
            first = elements[shadow.wrote[elements] <= floor]
            columns = (shadow.kept(write.view), write.view.flat)
            before, now = (c.reshape(-1, m.blocks) for c in columns)
            before[first] = now[first]
        shadow.wrote[elements] = time
        shadow.last_write = time
        return True

    def _write(self, shadow: Shadow, a: _Access, values: Value, time: int, write: Write) -> None:
        m, view, atomic = a.m, a.view, values is None
        floor = self.quiet(shadow)
        if tables := shadow.read(floor, strong=2 if atomic else int(write.volatile)):
            racing = [self._report_against(a, *table, floor, "reads")[1] for table in tables]
            if not self.replaying and not atomic:
                self._note_tear(shadow, a, values, np.concatenate(racing))
        if shadow.last_write <= floor:
            shadow.rivals = None
        else:
            before = shadow.wrote[a.elements] > floor
            if before.any():
                before &= shadow.writer[a.elements] != a.me
            if before.any():
                shadow.rival(a.elements[before], a.me[before], m.threads * self.blocks)
                changed = None  # writing what is there already harms nobody
                if not atomic and view.aligned:
                    changed = ~_same(view.flat[a.slots], values)
                self._report_against(a, shadow.writer, shadow.wrote, floor, "writes", changed)
            if not atomic and shadow.atomics is not None and shadow.counted is not None:
                # whoever counts with an atomic and finds that it is the last comes after the others
                others = shadow.counted[a.last] != a.me[:: a.parts]
                for table in shadow.atomics.tables:
                    self._report_against(a, *table, floor, "writes", others)
        self._save_values(shadow, a, floor)
        shadow.last_write = time
        if atomic:
            shadow.enter_atomic(
                a.elements, a.me, time, floor, m.threads, used=write.used,
                block_only=write.block_only and self.blocks > 1,
            )  # fmt: skip
            if shadow.scoped and (scoped := shadow.atomics if write.block_only else shadow.scoped):
                for table in scoped.tables:
                    self._report_against(a, *table, floor, "writes", apart=True)
            shadow.rival(a.elements, a.me, m.threads * self.blocks)
            return
        shadow.writer[a.elements] = a.me
        shadow.wrote[a.elements] = time
        if write.volatile:
            if shadow.flagged is None:
                shadow.flagged = np.zeros_like(shadow.wrote)
            shadow.flagged[a.elements] = time
        beaten = shadow.writer[a.elements] != a.me
        if beaten.any():
            shadow.rival(a.elements[beaten], a.me[beaten], m.threads * self.blocks)
            self._check_each_other(shadow, a, values, time)

    def _check_each_other(self, shadow: Shadow, a: _Access, values: Value, time: int) -> None:
        """Lanes of one statement that write different values to one place."""
        if not isinstance(values, np.ndarray):
            return
        winner = shadow.writer[a.last]
        beaten = np.flatnonzero(winner != a.me[:: a.parts])
        if not len(beaten) or not a.view.aligned:
            return
        values = np.broadcast_to(values, a.slots.shape)
        slots, last = np.unique(a.slots[::-1], return_index=True)
        stays = values[::-1][last[np.searchsorted(slots, a.slots[beaten])]]
        differs = np.flatnonzero(~_same(stays, values[beaten]))
        if len(differs):
            first = int(beaten[differs[0]])
            self._report(a, first, int(winner[first]), time, "writes", len(differs))

    def _report_against(
        self, a: _Access, who: Lanes, when: Lanes, floor: int, verb: str,
        changed: Lanes | None = None, *, apart: bool = False,
    ) -> tuple[Lanes, Lanes]:  # fmt: skip
        """Reports races with earlier accesses; returns their elements and their lanes.

        With `apart`, only between blocks.
        """
        times = when[a.elements]
        fresh = times > floor
        if not fresh.any():
            return NO_THREADS, NO_THREADS
        others = who[a.elements]
        chosen = np.flatnonzero(fresh & (others != a.me))
        if apart:
            size = a.m.threads
            chosen = chosen[others[chosen] // size != a.me[chosen] // size]
        if changed is not None and len(chosen):
            chosen = chosen[np.broadcast_to(changed, a.lane.shape)[chosen // a.parts]]
        if len(chosen):
            lanes = a.lane[chosen // a.parts]
            chosen = chosen[self.order.unordered(a.m, others[chosen], times[chosen], lanes)]
        position = chosen // a.parts
        if len(chosen):
            first = int(chosen[0])
            self._report(
                a, int(position[0]), int(others[first]), int(times[first]), verb, len(chosen),
                "an atomic of block scope is none for another block" if apart else "",
            )  # fmt: skip
        return chosen, position

    # --- what the values become

    def _save_values(self, shadow: Shadow, a: _Access, quiet: int) -> None:
        """Keeps what stood in an element before the first write of the interval."""
        view = a.view
        floor: Value = quiet
        apart = view.space == "shared" and isinstance(self.order.block_sync, np.ndarray)
        if (shadow.keep_whole(a.m, quiet) and not apart) or not view.aligned:
            return
        if apart:
            floor = a.m.spread(self.order.block_sync).ravel()[a.lane]
        first = a.slots[shadow.wrote[a.last] <= floor]
        shadow.kept(view)[first] = view.flat[first]

    def _note_tear(self, shadow: Shadow, a: _Access, values: Value, racing: Lanes) -> None:
        """Another warp's write came after the read: notes what the read could have seen."""
        if not len(racing) or not a.view.aligned:
            return
        racing = np.unique(racing)
        table = np.full(len(a.view.flat), -1, np.int64)
        table[a.slots[racing]] = racing
        values = np.broadcast_to(values, a.slots.shape)
        numbers = a.m.thread_numbers.ravel()
        for read in shadow.entered:
            fits = read.view.dtype == a.view.dtype and read.view.aligned
            if read.time <= self.quiet(shadow) or not fits or read.time in self.tears:
                continue
            readers, places = a.m.active_slots(read.view, read.slot, read.mask)
            hit = table[places]
            chosen = np.flatnonzero(hit >= 0)
            writer = a.lane[hit[chosen]]
            reader = numbers[readers[chosen]]
            racing_pair = self.order.unordered(a.m, reader, np.full(len(reader), read.time), writer)
            chosen = chosen[racing_pair & ~_same_warp(a.m, numbers[writer], reader)]
            if len(chosen):
                self.tears[read.time] = (readers[chosen], values[hit[chosen]].copy())

    # --- the finding

    def _report(
        self, a: _Access, position: int, other: int, when: int, other_verb: str, count: int,
        cure: str = "",
    ) -> None:  # fmt: skip
        m, view = a.m, a.view
        place, other_place = m.line, self.order.lines[when]
        key = ("race", view.name, *sorted((place, other_place)), a.verb == other_verb)
        if m.findings.again(key, count):
            return
        lane = int(a.lane[position])
        where = m.lane_index(a.index, lane)
        mine, theirs = m.thread_name(lane), m.number_name(other)
        line, other_line = unit(place)[1], unit(other_place)[1]
        only_warps = False  # a barrier of their warps lies between them, but none of the block
        if cure:
            pass
        elif self.order.unfenced(m, other, when, lane):
            cure = "one takes the lock by an atomicCAS with no fence after it"
        elif when == self.order.time:
            cure = "both at once"
        elif mine["block"] == theirs["block"]:
            cure = "no barrier between them"
            me = m.thread_numbers.ravel()[lane]
            if self.order.warps.met and not _same_warp(m, me, np.asarray(other)):
                cure = "no barrier of the block between them: a warp's holds for its own lanes"
                only_warps = True
        else:
            cure, parties = "blocks run in no fixed order", self.order.between_blocks
            blocks = other // m.threads, m.block_numbers[lane // m.threads]
            if parties and parties.ordered(*np.array([[blocks[0]], [when], [blocks[1]]])):
                cure = "no barrier between the first and the fence of its block"
        who = m.pair_text(theirs, mine)
        message = (
            f"race on {view.name}[{', '.join(map(str, where))}] in {view.space} memory: "
            f"{who[0]} {other_verb} it on line {other_line}, "
            f"{who[1]} {a.verb} it on line {line}, {cure}"
        )
        first, second = sorted((other_line, line))
        threads = [theirs, mine]
        finding = Finding("race", second, message, threads, view.name, where, first, count)
        finding.detail = other_verb, a.verb, *["only warps meet"] * only_warps
        m.note(key, finding)


def _replace_lanes(m: Chunk, value: Value, lanes: Lanes, new: Lanes) -> Value:
    """A value with the numbers of some lanes replaced."""
    value = np.array(m.spread(value), order="C")
    value.ravel()[lanes] = new
    return value
