"""Happens-before: which accesses of a launch come after which.

Every access has a *time*, a running number. A barrier orders the threads of a block,
`syncwarp` the lanes of a warp that meet, a whole-grid sync all; a fence followed by an
atomic publishes what a block wrote to the blocks whose own atomic comes later. Who takes a lock,
by a compare-and-swap, has that only after another fence; and since the others could have had the
lock first, they need that fence as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simt.core.chunk import Chunk, Write
from simt.core.values import Value

WARP = 32
MAX_LOOKS = 8  # of which what was seen is kept, while nobody looks again
NEVER = np.iinfo(np.int64).max
Lanes = np.ndarray[Any, Any]


def warp_numbers(threads: Lanes, block: int) -> Lanes:
    """A number for the warp of each thread of the grid; `block` is the threads of a block."""
    if block % WARP == 0:
        return threads // WARP
    numbers: Lanes = threads // block * -(-block // WARP) + threads % block // WARP
    return numbers


class HappensBefore:
    """The synchronization of one launch so far."""

    def __init__(self, blocks: int) -> None:
        self.time = 0
        self.lines: list[int] = [0]  # the place of each access, by time
        self.grid_sync = 0
        self.block_sync: Value = 0  # time, or one per block of the chunk
        self.floor = 0  # all blocks of the chunk have passed a barrier at this time
        self.warps = WarpClocks()
        self.groups: WarpClocks | None = None  # of warps of a block, made by the first barrier
        # made by the first fence
        self.blocks = blocks
        self.between_blocks: ReleaseAcquire | None = None
        self.within_blocks: ReleaseAcquire | None = None  # between the threads of the chunk
        # until when what each thread did comes before a fence, its own or of one that it has met
        self.covered = np.zeros((blocks, 0), np.int32)

    def new_chunk(self) -> None:
        """Other blocks begin: their barriers have nothing to do with the last ones'."""
        self.block_sync = self.floor = self.time
        self.warps = WarpClocks()
        self.groups = None
        self.within_blocks = None

    def barrier(self, blocks: Value, grid: bool) -> None:
        """A barrier of all (None) or some blocks (bool, (blocks, 1)), or of the whole grid."""
        if grid:
            self.grid_sync = self.time
        for parties in (self.between_blocks, self.within_blocks):
            if parties is not None:
                parties.acquire(slice(None), self.time)
        if blocks is None:
            self.block_sync = self.floor = self.time
        else:
            self.block_sync = np.where(blocks, self.time, self.block_sync)

    def gathered(self, m: Chunk, arrived: Lanes, waiting: Lanes) -> None:
        """A barrier of some warps of each block; threads that only arrive acquire nothing."""
        self.groups = self.groups or WarpClocks()
        wide = np.zeros((3, m.blocks, WARP * WARP), bool)
        wide[..., : m.threads] = arrived, waiting, np.ones_like(arrived)
        here, waits, exists = np.logical_or.reduce(wide.reshape(3, m.blocks, WARP, WARP), axis=3)
        names: Lanes = (here * (np.int64(1) << np.arange(WARP))).sum(axis=1, keepdims=True)
        self.groups.meet(here, np.repeat(names, WARP, axis=1), exists, self.time, waits)

    def fence(self, m: Chunk, *, block_only: bool = False) -> None:
        """`threadfence` by the active threads."""
        lanes = m.lanes(m.mask)
        within, between = self._parties(m)
        within.fence(lanes, self.time)
        if self.warps.met:  # and what others of its warp did before they met
            np.maximum.at(within.fenced, *self._mates(m, lanes)[:2])
        rows = np.unique(lanes // m.threads)
        blocks = m.block_numbers[rows]
        if not block_only:
            between.fence(blocks, self.time)
        met = np.broadcast_to(self.block_sync, (m.blocks, 1))[rows]
        met = np.maximum(met, within.fenced.reshape(m.blocks, m.threads)[rows])
        if self.groups is not None:
            warps = np.unique(warp_numbers(lanes, m.threads))[:, None]
            row, warp = np.divmod(warps, -(-m.threads // WARP))
            until = self.groups.until(row, warp, np.arange(m.threads) // WARP)
            np.maximum.at(met, np.searchsorted(rows, row[:, 0]), until)
        self.covered[blocks] = np.maximum(self.covered[blocks], met)

    def warp_barrier(self, m: Chunk, met: tuple[Lanes, Lanes, Lanes] | None) -> None:
        """`syncwarp`, as observers are told: lanes that meet know what each has acquired."""
        if met is None:
            self.warps.all_meet(self.time)
        else:
            self.warps.meet(*met, self.time)
        if self.within_blocks is not None:
            lanes = m.lanes(m.mask)
            mine = lanes % m.threads % WARP
            first = lanes - mine
            if met is not None:  # the first of its mask
                masks = met[1][warp_numbers(lanes, m.threads), mine]
                first += np.log2(masks & -masks).astype(np.int64)
            self.within_blocks.share(lanes, first)

    def _mates(self, m: Chunk, lanes: Lanes) -> tuple[Lanes, Lanes, Lanes]:
        """The lanes' warps: who, until when what they did comes before a lane, and before which.

        Of several lanes of one warp, the one that met last is taken, else the first.
        """
        warps = warp_numbers(lanes, m.threads)
        first = np.diff(warps, prepend=-1) != 0
        which = np.flatnonzero(first)[:, None]
        inside = lanes[which] % m.threads
        others = inside // WARP * WARP + np.arange(WARP)
        if self.warps.clocks is None:
            until = self.warps.until(warps[which], inside, others)
        else:
            places = np.full(others.shape, -1)
            places[first.cumsum() - 1, lanes % m.threads % WARP] = np.arange(len(lanes))
            clocks = np.where(places[:, :, None] < 0, -1, self.warps.clocks[warps[which[:, 0]]])
            until, last = clocks.max(axis=1), clocks.argmax(axis=1)
            which = np.take_along_axis(places, last, axis=1)
        there = others < m.threads
        each = lanes[which[:, :1]] // m.threads * m.threads + others, until, which
        who, until, which = (np.broadcast_to(x, there.shape)[there] for x in each)
        return who, until, which

    def _parties(self, m: Chunk) -> tuple[ReleaseAcquire, ReleaseAcquire]:
        self.within_blocks = self.within_blocks or ReleaseAcquire(m.blocks * m.threads)
        if self.between_blocks is None:
            self.between_blocks = ReleaseAcquire(self.blocks)
            self.covered = np.zeros((self.blocks, m.threads), np.int32)
        return self.within_blocks, self.between_blocks

    def signal(self, m: Chunk, write: Write) -> None:
        """An atomic, lane by lane: publishes what they fenced before."""
        locks = write.swaps and write.used
        if self.within_blocks is self.between_blocks is None and not locks:
            return
        within, between = self._parties(m)
        lanes, slots, _ = write.lanes
        words = (write.view.allocation.address + slots) * locks
        if self.warps.met and (within.fenced > within.published_until).any():
            within.publish(*self._mates(m, lanes))
        within.signal(lanes, words, self.time)
        if write.view.space == "global" and not (write.block_only and self.blocks > 1):
            blocks = m.block_numbers[lanes // m.threads]
            first = np.sort(np.unique(blocks, return_index=True)[1])
            between.signal(blocks[first], words[first], self.time)

    def look(self, m: Chunk, lanes: Lanes, *, shared: bool) -> None:
        """A strong read by these lanes: they take over what others have published."""
        if self.within_blocks is not None:
            self.within_blocks.look(lanes)
        if self.between_blocks is not None and not shared:
            self.between_blocks.look(np.unique(m.block_numbers[lanes // m.threads]))

    def unfenced(self, m: Chunk, other: int, when: int, lane: int) -> bool:
        """Whether one of two threads of a race takes a lock with no fence after it."""
        if self.within_blocks is None or self.between_blocks is None:
            return False
        me, size = int(m.thread_numbers.ravel()[lane]), m.threads
        parties, a, b = self.between_blocks, other // size, me // size
        if a == b:
            parties, a, b = self.within_blocks, lane - me % size + other % size, lane
        pending = parties.pending[b] and parties.published_at[a] < parties.pending[b]
        return bool(pending) or bool(parties.bare(*np.array([[a], [when], [b]]))[0])

    def tick(self, line: int) -> int:
        """The time of a new access."""
        self.time += 1
        self.lines.append(line)
        return self.time

    def unordered(self, m: Chunk, other: Lanes, when: Lanes, lane: Lanes) -> Lanes:
        """For accesses by threads `other` at `when`: may those of the active `lane`s race?"""
        me = m.thread_numbers.ravel()[lane]
        size = m.threads
        block, other_block = me // size, other // size
        same_block = block == other_block
        same_warp = warp_numbers(me, size) == warp_numbers(other, size)
        block_sync = np.broadcast_to(self.block_sync, (m.blocks, 1))[lane // size, 0]
        inside = lane % size
        warp_sync = self.warps.until(warp_numbers(lane, size), inside % WARP, other % size % WARP)
        ordered = (
            (me == other)
            | (same_block & (when <= block_sync))
            | (same_warp & (when <= warp_sync))
            | (when <= self.grid_sync)
        )
        if self.groups is not None:
            other_warp = other % size // WARP
            ordered |= same_block & (
                when <= self.groups.until(lane // size, inside // WARP, other_warp)
            )
        if self.between_blocks is not None:
            handed = self.between_blocks.ordered(other_block, when, block)
            handed &= when <= self.covered[other_block, other % size]
            ordered |= ~same_block & handed
        if self.within_blocks is not None:
            neighbor = np.where(same_block, lane - me % size + other % size, lane)
            ordered |= same_block & self.within_blocks.ordered(neighbor, when, lane)
        result: Lanes = ~ordered
        return result


class WarpClocks:
    """What the `syncwarp`s of one chunk have ordered so far; warps are rows of 32 lanes.

    A clock for each pair of lanes of a warp says until which time all that the one did comes
    before what the other does now. Mostly whole warps meet; then one time per warp will do.
    """

    def __init__(self) -> None:
        self.all_met_at = 0  # all warps have met, whole, at this time
        self.whole: Lanes | None = None  # when each warp last met whole
        self.clocks: Lanes | None = None  # [warp, lane, other lane], made by the first part

    @property
    def met(self) -> bool:
        """Whether any warp has met, or a part of one."""
        return bool(self.all_met_at) or self.whole is not None

    def all_meet(self, time: int) -> None:
        """All lanes of all warps have met."""
        self.all_met_at = time
        self.whole = self.clocks = None

    def meet(
        self, here: Lanes, named: Lanes, exists: Lanes, time: int, waits: Lanes | None = None
    ) -> None:
        """Some lanes have arrived, each with the mask of those it waits for, if it waits."""
        waits = here if waits is None else waits
        complete = (here & waits & (named == named[:, :1]) | ~exists).all(axis=1)
        before = self.all_met_at if self.whole is None else self.whole
        self.whole = np.where(complete, time, before)
        if self.clocks is not None:
            self.clocks[complete] = time
        partly = here & ~complete[:, None]
        if not partly.any():
            return
        if self.clocks is None:
            self.clocks = np.repeat(self.whole, WARP * WARP).reshape(-1, WARP, WARP)
        lane = np.arange(WARP)
        first = (named[:, :, None] >> lane & 1).argmax(axis=2)
        for leader in np.unique(first[partly]):
            group = partly & (first == leader) & (named == named[:, leader, None])
            rows = np.flatnonzero(group.any(axis=1))
            self._join(rows, group, group & waits, time)

    def _join(self, rows: Lanes, group: Lanes, learn: Lanes, time: int) -> None:
        """Merges the clocks of a group into those of its lanes that wait."""
        assert self.clocks is not None
        group, learn = group[rows], learn[rows]
        clocks = self.clocks[rows]
        joint = np.where(group[:, :, None], clocks, 0).max(axis=1)
        joint = np.where(group, time, joint)
        self.clocks[rows] = np.where(learn[:, :, None], joint[:, None, :], clocks)

    def until(self, warp: Lanes, lane: Lanes, other: Lanes) -> Any:
        """Until when what lane `other` of the same warp did comes before `lane` now."""
        if self.clocks is not None:
            return self.clocks[warp, lane, other]
        return self.all_met_at if self.whole is None else self.whole[warp]


class ReleaseAcquire:
    """Order without a barrier among `count` parties: blocks of a grid, or threads of a chunk.

    Who has fenced and then done an atomic has *published* what he wrote before the fence; who
    does a later atomic has *acquired* all that was published until then. By a compare-and-swap it
    is acquired at the next fence only; what is done before that is *bare* to whoever takes the
    same lock, which is known by its word.
    """

    def __init__(self, count: int) -> None:
        self.fenced, self.published_until, self.acquired = np.zeros((3, count), np.int64)
        self.published_at = np.full(count, NEVER)
        self.turns = 0  # atomics so far, party by party
        # what all had published when each party last looked: later atomics take nothing of it back
        self.seen = [np.zeros(count, np.int64)]
        self.seen_last = np.zeros(count, np.int64)
        self.word, self.pending = np.zeros((2, count), np.int64)  # 0: the last atomic is no lock
        self.bare_word, self.bare_from, self.bare_to = np.zeros((3, count), np.int64)

    def fence(self, who: Lanes, time: int) -> None:
        """These parties have fenced all that they wrote until now."""
        self.fenced[who] = time
        self.acquire(who, time)

    def acquire(self, who: Any, time: int) -> None:
        """These parties have what the locks that they took tell them."""
        self.acquired[who] = np.maximum(self.acquired[who], self.pending[who])
        self.pending[who] = 0
        self.bare_to[who] = np.minimum(self.bare_to[who], time)

    def bare(self, other: Lanes, when: Lanes, me: Lanes) -> Lanes:
        """Whether `other` did at time `when`, before a fence, what the lock of `me` guards."""
        result: Lanes = (self.word[me] != 0) & (self.word[me] == self.bare_word[other])
        return result & (self.bare_from[other] < when) & (when <= self.bare_to[other])

    def signal(self, who: Lanes, words: Lanes, time: int) -> None:
        """These parties, each once and in this order, do an atomic; on locks, if words say so."""
        turn = self.turns + 1 + np.arange(len(who))
        self.turns += len(who)
        ready = self.fenced[who] > self.published_until[who]
        self.published_until[who[ready]] = self.fenced[who[ready]]
        self.published_at[who[ready]] = turn[ready]
        self.word[who] = words
        if not words.any():
            self.acquired[who] = turn
            return
        self.pending[who] = turn
        self.bare_word[who], self.bare_from[who], self.bare_to[who] = words, time, NEVER

    def publish(self, who: Lanes, until: Lanes, turn: Lanes) -> None:
        """Others are about to tell what these did and fenced until then, one after the other."""
        until = np.minimum(until, self.fenced[who])
        ready = until > self.published_until[who]
        np.maximum.at(self.published_until, who[ready], until[ready])
        self.published_at[who[ready]] = (self.turns + 1 + turn)[ready]

    def share(self, who: Lanes, first: Lanes) -> None:
        """Parties take over what others have acquired whose group has the same first one."""
        for known in (self.acquired, self.seen_last):
            most = np.zeros_like(known)
            np.maximum.at(most, first, known[who])
            known[who] = most[first]

    def look(self, who: Lanes) -> None:
        """These parties read what others write atomically."""
        self.acquired[who] = self.turns + 1
        self.seen_last[who] = len(self.seen)
        self.seen.append(self.published_until.copy())
        if len(self.seen) > MAX_LOOKS:
            used, self.seen_last = np.unique(self.seen_last, return_inverse=True)
            self.seen = [self.seen[k] for k in used]

    def ordered(self, other: Lanes, when: Lanes, me: Lanes) -> Lanes:
        """Whether what `other` did at time `when` has been handed over to `me`."""
        result: Lanes = (when <= self.published_until[other]) & (
            self.published_at[other] < self.acquired[me]
        )
        seen = when <= np.array(self.seen)[self.seen_last[me], other]
        return (result | seen) & ~self.bare(other, when, me)
