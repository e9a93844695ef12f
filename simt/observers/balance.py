"""How evenly a launch shares out its accesses to memory among its threads, warps and blocks."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simt.core.chunk import Chunk
from simt.core.masks import EMPTY
from simt.observers.traffic import WARP


class Share(NamedTuple):
    """Accesses to global and shared memory: of the busiest, and the mean of all."""

    most: int = 0
    mean: float = 0.0


class Shares(NamedTuple):
    """Of a launch's threads, of its warps and of its blocks.

    A warp has as many as the busiest of its lanes, since the others wait for it meanwhile; a
    block as many as all its threads together.
    """

    thread: Share = Share()
    warp: Share = Share()
    block: Share = Share()


@dataclass
class _Tally:
    most: int = 0
    sum: int = 0
    count: int = 0

    def add(self, accesses: np.ndarray[Any, Any]) -> None:
        self.most = max(self.most, int(accesses.max(initial=0)))
        self.sum += int(accesses.sum())

    def share(self) -> Share:
        return Share(self.most, self.sum / max(1, self.count))


class Balance:
    """The accesses of each thread, while the launch runs chunk by chunk."""

    def __init__(self) -> None:
        self._threads, self._warps, self._blocks = _Tally(), _Tally(), _Tally()
        self._accesses: np.ndarray[Any, Any] | None = None  # of the chunk's, (blocks, threads)

    def chunk(self, m: Chunk) -> None:
        """Other blocks begin."""
        self._end()
        self._threads.count += m.blocks * m.threads
        self._warps.count += m.blocks * m.warps
        self._blocks.count += m.blocks

    def access(self, m: Chunk) -> None:
        """One access by each active thread."""
        if self._accesses is None:
            self._accesses = np.zeros((m.blocks, m.threads), np.int32)
        if m.mask is not EMPTY:
            self._accesses += True if m.mask is None else m.mask

    def shares(self) -> Shares:
        """Of the launch, which has ended."""
        self._end()
        return Shares(self._threads.share(), self._warps.share(), self._blocks.share())

    def _end(self) -> None:
        if self._accesses is not None:
            firsts = np.arange(0, self._accesses.shape[1], WARP)
            self._threads.add(self._accesses)
            self._warps.add(np.maximum.reduceat(self._accesses, firsts, axis=1))
            self._blocks.add(self._accesses.sum(axis=1))
            self._accesses = None
