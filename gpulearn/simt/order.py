"""Which accesses of a launch come after which: barriers, fences, atomics.

Every access has a *time*, a running number. A barrier orders the threads of a block,
`syncwarp` those of a warp, a whole-grid sync all; a fence followed by an atomic publishes
what a block wrote to the blocks whose own atomic comes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.masks import Mask
from gpulearn.simt.shadow import Shadow
from gpulearn.simt.values import Value

if TYPE_CHECKING:
    from gpulearn.simt.chunk import Chunk

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
        self.warp_sync: Value = 0  # time, or one per thread
        self.shadows: list[Shadow] = []
        # release and acquire between blocks, by number of the block; made by the first fence
        self.blocks = blocks
        nobody: Lanes = np.zeros(0, np.int64)
        self.fenced = self.published_until = self.published_at = self.acquired = nobody
        self.signals = 0  # atomics so far, block by block
        self.fences = False

    def new_chunk(self) -> None:
        """Other blocks begin: their barriers have nothing to do with the last ones'."""
        self.block_sync = self.floor = self.time
        self.warp_sync = 0
        self.shadows = [s for s in self.shadows if s.allocation.space != "shared"]
        for shadow in self.shadows:
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
        if not self.fences:
            self.fences = True
            self.fenced, self.published_until, self.acquired = np.zeros((3, self.blocks), np.int64)
            self.published_at = np.full(self.blocks, np.iinfo(np.int64).max)
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
