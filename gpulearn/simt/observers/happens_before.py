"""Which accesses of a launch come after which: barriers, fences, atomics.

Every access has a *time*, a running number. A barrier orders the threads of a block,
`syncwarp` the lanes of a warp that meet, a whole-grid sync all; a fence followed by an
atomic publishes what a block wrote to the blocks whose own atomic comes later.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.simt.core.chunk import Chunk
from gpulearn.simt.core.values import Value
from gpulearn.simt.observers.release_acquire import HandOver, in_order
from gpulearn.simt.observers.shadow import Shadow
from gpulearn.simt.observers.warp_clocks import Meetings

__all__ = ["Order"]

Lanes = np.ndarray[Any, Any]


class Order:
    """The synchronisation of one launch so far."""

    def __init__(self, blocks: int) -> None:
        self.time = 0
        self.lines: list[int] = [0]  # the place of each access, by time
        self.grid_sync = 0
        self.block_sync: Value = 0  # time, or one per block of the chunk
        self.floor = 0  # all blocks of the chunk have passed a barrier at this time
        self.warps = Meetings()
        self.shadows: dict[int, Shadow] = {}  # by the number of the allocation
        # made by the first fence
        self.blocks = blocks
        self.between_blocks: HandOver | None = None
        self.within_blocks: HandOver | None = None  # between the threads of the chunk

    def new_chunk(self) -> None:
        """Other blocks begin: their barriers have nothing to do with the last ones'."""
        self.block_sync = self.floor = self.time
        self.warps = Meetings()
        self.within_blocks = None
        kept = {n: s for n, s in self.shadows.items() if s.allocation.space != "shared"}
        self.shadows = kept
        for shadow in kept.values():
            shadow.entered.clear()

    def quiet(self, shadow: Shadow) -> int:
        """Accesses up to this time can no longer race with anybody's."""
        return self.floor if shadow.allocation.space == "shared" else self.grid_sync

    def barrier(self, blocks: Value) -> None:
        """A barrier that all (None) or some blocks (bool, (blocks, 1)) took part in."""
        if blocks is None:
            self.block_sync = self.floor = self.time
            self._forget()
        else:
            self.block_sync = np.where(blocks, self.time, self.block_sync)

    def _forget(self) -> None:
        for shadow in self.shadows.values():
            if shadow.allocation.space == "shared":
                shadow.noted.clear()
                shadow.entered.clear()

    def whole_grid(self) -> None:
        """A barrier of all blocks."""
        self.grid_sync = self.block_sync = self.floor = self.time
        self._forget()

    def fence(self, m: Chunk, *, block_only: bool = False) -> None:
        """`threadfence` by the active threads."""
        lanes = m.lanes(m.mask)
        if self.within_blocks is None:
            self.within_blocks = HandOver(m.blocks * m.threads)
        self.within_blocks.fence(lanes, self.time)
        if block_only:
            return
        if self.between_blocks is None:
            self.between_blocks = HandOver(self.blocks)
        self.between_blocks.fence(np.unique(m.block_numbers[lanes // m.threads]), self.time)

    def signal(self, m: Chunk, lanes: Lanes, *, shared: bool) -> None:
        """An atomic by these lanes, in this order: publishes what they fenced before."""
        if self.within_blocks is not None:
            self.within_blocks.signal(lanes)
        if self.between_blocks is not None and not shared:
            self.between_blocks.signal(in_order(m.block_numbers[lanes // m.threads]))

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
        same_warp = same_block & (me % size // 32 == other % size // 32)
        shape = (m.blocks, m.threads)
        if isinstance(self.block_sync, np.ndarray):
            block_sync = np.broadcast_to(self.block_sync, shape).ravel()[lane]
        else:
            block_sync = self.block_sync
        inside = lane % size
        warp = lane // size * m.warps + inside // 32
        warp_sync = self.warps.until(warp, inside % 32, other % size % 32)
        ordered = (
            (me == other)
            | (same_block & (when <= block_sync))
            | (same_warp & (when <= warp_sync))
            | (when <= self.grid_sync)
        )
        if self.between_blocks is not None:
            handed = self.between_blocks.ordered(other_block, when, block)
            ordered |= ~same_block & handed
        if self.within_blocks is not None:
            neighbour = np.where(same_block, lane - me % size + other % size, lane)
            ordered |= same_block & self.within_blocks.ordered(neighbour, when, lane)
        result: Lanes = ~ordered
        return result
