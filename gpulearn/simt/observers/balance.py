"""How evenly a launch shares out its accesses to memory among its threads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpulearn.simt.core.chunk import Chunk
from gpulearn.simt.core.masks import EMPTY

__all__ = ["Balance", "Shares"]


class Shares(NamedTuple):
    """Accesses to global and shared memory: of the busiest thread, and the mean of all."""

    most: int = 0
    mean: float = 0.0


class Balance:
    """The accesses of each thread, while the launch runs chunk by chunk."""

    def __init__(self) -> None:
        self._most = self._sum = self._threads = 0  # of the chunks that have ended
        self._accesses: np.ndarray[Any, Any] | None = None  # of the chunk's, (blocks, threads)

    def chunk(self, m: Chunk) -> None:
        """Other blocks begin."""
        self._end()
        self._threads += m.blocks * m.threads

    def access(self, m: Chunk) -> None:
        """One access by each active thread."""
        if self._accesses is None:
            self._accesses = np.zeros((m.blocks, m.threads), np.int32)
        if m.mask is not EMPTY:
            self._accesses += True if m.mask is None else m.mask

    def shares(self) -> Shares:
        """Of the launch, which has ended."""
        self._end()
        return Shares(self._most, self._sum / max(1, self._threads))

    def _end(self) -> None:
        if self._accesses is not None:
            self._most = max(self._most, int(self._accesses.max(initial=0)))
            self._sum += int(self._accesses.sum())
            self._accesses = None
