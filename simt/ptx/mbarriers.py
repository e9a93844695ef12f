"""Barriers in shared memory: `mbarrier`, on which C++'s `cuda::barrier` and `pipeline` stand.

Each is a word of 64 bits, whose layout is this package's own: how many arrivals are pending in
this phase, how many each phase expects, the bytes that transfers still owe (signed), and the
number of the phase. A phase ends when nothing is pending or owed. Who arrives publishes what he
did before, and who sees a phase ended has acquired it.

A thread that finds its phase unfinished tries again in a loop. It is put aside at the loop's head
until all others can go no further, so that those who are to arrive come to it.
"""

from typing import Any, NamedTuple

import numpy as np

from simt.core.chunk import Write
from simt.core.findings import Stop
from simt.core.masks import EMPTY, Mask, split
from simt.core.memory import View, gather
from simt.ptx.copies import AsyncCopies
from simt.ptx.parse import Instruction, not_covered, space_of

Lanes = Any
STATE, ONE = np.dtype(np.uint64), np.ones((1, 1), np.int64)
COUNT = (1 << 20) - 1
EXPECTED, OWED, PHASE = 20, 40, 61  # where these begin in the word
WINDOW = (1 << 36) - 1  # of generic addresses of shared memory


class Fields(NamedTuple):
    """The parts of the words of barriers, as int64."""

    pending: Lanes
    expected: Lanes
    owed: Lanes
    phase: Lanes

    @property
    def words(self) -> Lanes:
        """The words."""
        numbers = (x.astype(np.uint64) for x in self)
        pending, expected, owed, phase = numbers
        owed = (owed & np.uint64((1 << 21) - 1)) << np.uint64(OWED)
        return pending | expected << np.uint64(EXPECTED) | owed | phase << np.uint64(PHASE)


def _fields(words: Lanes) -> Fields:
    signed = words.view(np.int64)
    owed = signed << (64 - PHASE) >> (64 - PHASE + OWED)
    phase = (words >> np.uint64(PHASE)).astype(np.int64)
    return Fields(signed & COUNT, signed >> EXPECTED & COUNT, owed, phase)


def _after(f: Fields, arrivals: Lanes, owed: Lanes) -> Fields:
    """The state of barriers once so many have arrived, and transfers owe so much more."""
    left, owing = f.pending - arrivals, f.owed + owed
    turns = np.where((left <= 0) & (owing == 0), 1 + -left // np.maximum(f.expected, 1), 0)
    pending = np.where(turns, left + turns * f.expected, np.maximum(left, 0))
    return Fields(pending, f.expected, owing, (f.phase + turns) % 8)


class Arrival(NamedTuple):
    """What `cp.async.mbarrier.arrive` leaves behind: it arrives when earlier copies are done."""

    number: int  # of the next copy
    line: int
    mask: Mask
    space: str
    address: Lanes


class Mbarriers(AsyncCopies):
    """The barriers of a chunk's blocks that lie in shared memory."""

    def __init__(self, *where: Any, **options: Any) -> None:
        super().__init__(*where, **options)
        self.expected_arrivals: list[Arrival] = []
        self.stalled = False  # somebody has just found a phase unfinished
        self.stalled_at: tuple[Any, ...] = ()  # the first one, and where

    def set_mbarrier(self, space: str, address: Lanes, arrivals: Lanes) -> None:
        """`mbarrier.init` for so many arrivals a phase; for none `mbarrier.inval`, an atomic."""
        n = self.rely(arrivals).astype(np.int64)
        strong = "" if n.any() else "sys"
        self.store(space, address, 0, STATE, Fields(n, n, 0 * n, 0 * n).words, strong)

    def arrive_at_mbarrier(
        self, space: str, address: Lanes, arrivals: Lanes, owed: Lanes, *, drops: bool = False
    ) -> Lanes:
        """`mbarrier.arrive` and its kin: the state before, which says what phase it was."""
        if self.mask is EMPTY:
            return np.zeros((1, 1), STATE)
        for callback in self.events.fence:
            callback(self, True)

        def update(view: View, slot: Any) -> Lanes:
            for callback in self.events.access:
                callback(self, view, slot, (slot,), "atomic")
            for callback in self.events.write:
                callback(self, Write(self, view, slot, None), (slot,))
            lanes, slots = self.active_slots(view, slot, self.mask)
            many, more = (
                np.broadcast_to(self.active_values(x.astype(np.int64), lanes), lanes.shape)
                for x in (arrivals, owed)
            )
            places, which = np.unique(slots, return_inverse=True)
            words = view.flat[places]
            if not words.all():
                who = self.thread_name(int(lanes[words[which] == 0][0]))
                message = f"{self.text(who)} comes to the mbarrier {view.name}, which is not there"
                raise self.stop("uninitialized-read", message, who, array=view.name)
            order = np.argsort(which, kind="stable")
            running = np.cumsum(many[order]) - many[order]
            earlier, ranks = np.empty_like(many), which[order]
            earlier[order] = running - running[np.searchsorted(ranks, ranks)]
            fields, found = _fields(words), _fields(words[which])
            sums = [np.bincount(which, x).astype(np.int64) for x in (many, more)]
            if drops:
                fields = fields._replace(expected=fields.expected - sums[0])
            view.flat[places] = _after(fields, *sums).words
            self.written += 1
            result = np.zeros(self.blocks * self.threads, STATE)
            before = _after(found, earlier, 0 * earlier) if (earlier > 0).any() else found
            result[lanes] = before.words
            return result.reshape(self.blocks, self.threads)

        return self._each(space, address, 0, STATE, update)

    def arrive_when_copied(self, space: str, address: Lanes, *, more: bool) -> None:
        """`cp.async.mbarrier.arrive`: one arrival `more`, unless it is among those expected."""
        if self.mask is EMPTY:
            return
        if more:
            self.arrive_at_mbarrier(space, address, -ONE, 0 * ONE)
        arrival = Arrival(next(self.numbers), self.line, self.mask, space, address)
        self.expected_arrivals.append(arrival)

    def _finish_arrivals(self, address: Lanes) -> None:
        """Lets the copies finish whose end the barriers at which threads wait expect."""
        before, line = self.mask, self.line
        waiting = self.spread(True if before is None else before)
        places = np.unique(self.spread(address).astype(np.int64)[waiting] & WINDOW)
        rest = []
        for arrival in self.expected_arrivals:
            there = np.isin(arrival.address.astype(np.int64) & WINDOW, places)
            now, later = split(arrival.mask, self.spread(there & waiting.any(1, keepdims=True)))
            if later is not EMPTY:
                rest.append(arrival._replace(mask=later))
            if now is EMPTY:
                continue
            lanes = self.spread(True if now is None else now)
            self.finish_copies(lanes, range(arrival.number), "number")
            self.line, self.mask = arrival.line, now
            self.arrive_at_mbarrier(arrival.space, arrival.address, ONE, 0 * ONE)
            self.mask, self.line = before, line
        self.expected_arrivals = rest

    def phase_ended(self, space: str, address: Lanes, phase: Lanes, *, parity: bool) -> Lanes:
        """`mbarrier.test_wait` and `try_wait`: whether a phase has ended, by state or parity."""
        if self.mask is EMPTY:
            return np.zeros((1, 1), bool)
        if self.expected_arrivals:
            self._finish_arrivals(address)

        def peek(view: View, slot: Any) -> Lanes:
            words = gather(view, slot, self.lane_base(view))
            fields = _fields(np.asarray(words, STATE))
            asked = self.rely(phase)
            wanted = asked.astype(np.int64) if parity else _fields(asked).phase
            ended: Lanes = (fields.phase % 2 if parity else fields.phase) != wanted
            waiting, _ = split(self.mask, ~self.spread(ended))
            if waiting is not EMPTY:
                left = self.spread(fields.pending).ravel()
                lane = int(self.lanes(waiting)[0])
                self.stalled = True
                self.stalled_at = self.thread_name(lane), view.name, int(left[lane]), self.line
            return ended

        self.stalled = False
        ended = self.spread(self._each(space, address, 0, STATE, peek))
        before = self.mask
        self.mask = split(before, ended)[0]
        if self.mask is not EMPTY:
            self.rely(self.load(space, address, 0, STATE, 1, "sys"))
        self.mask = before
        return ended

    def waits_for_ever(self) -> Stop:
        """The error for threads that wait for a phase which nobody is left to end."""
        who, name, left, self.line = self.stalled_at
        what = f"{left} more arrivals" if left != 1 else "one more arrival"
        message = (
            f"{self.text(who)} waits forever at the mbarrier {name}: its phase ends after {what}, "
            "and all other threads wait too or have left"
        )
        return self.stop("barrier-divergence", message, who, array=name)


class MbarrierInstructions:
    """What the translator makes of their instructions."""

    def _mbarrier_at(self: Any, operand: str, i: Instruction) -> str:
        address, offset = self.address(operand)
        return f"{space_of(i)!r}, {address} + {offset}"

    def _do_mbarrier(self: Any, i: Instruction) -> None:
        what, operands = i.op[1], i.operands
        none = self._constant(0, "s32")
        if what == "pending_count":
            state = self.read(operands[1], "u64")
            self.write(operands[0], f"({state} & {COUNT}).astype('u4')", "u32")
        elif what in ("init", "inval"):
            count = self.read(operands[1], "u32") if what == "init" else none
            self._emit(f"m.set_mbarrier({self._mbarrier_at(operands[0], i)}, {count})")
        elif what in ("expect_tx", "complete_tx"):
            owed = f"{'-' * (what == 'complete_tx')}{self.read(operands[1], 's32')}"
            self._emit(f"m.arrive_at_mbarrier({self._mbarrier_at(operands[0], i)}, {none}, {owed})")
        elif what in ("arrive", "arrive_drop"):
            last = self.read(operands[2], "s32") if len(operands) > 2 else self._constant(1, "s32")
            owed = none
            if "expect_tx" in i.op:
                last, owed = self._constant(1, "s32"), last
            where = self._mbarrier_at(operands[1], i)
            call = f"m.arrive_at_mbarrier({where}, {last}, {owed}, drops={what != 'arrive'})"
            self.write(operands[0], call, "u64")
        elif what in ("test_wait", "try_wait"):
            parity = "parity" in i.op
            phase = self.read(operands[2], "u32" if parity else "u64")
            where = self._mbarrier_at(operands[1], i)
            self.write(operands[0], f"m.phase_ended({where}, {phase}, parity={parity})", "pred")
        else:
            raise not_covered(str(i), i.line)

    def _arrive_when_copied(self: Any, i: Instruction) -> None:
        where = self._mbarrier_at(i.operands[0], i)
        self._emit(f"m.arrive_when_copied({where}, more={'noinc' not in i.op})")
