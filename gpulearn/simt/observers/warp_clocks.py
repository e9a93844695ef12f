"""What `syncwarp` orders: the lanes that met, and what had been ordered before them.

A clock for each pair of lanes of a warp says until which time all that the one did comes
before what the other does now. Mostly whole warps meet; then one time per warp will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Meetings"]

WARP = 32
Rows = np.ndarray[Any, Any]


class Meetings:
    """The `syncwarp`s of one chunk so far; warps are rows of 32 lanes."""

    def __init__(self) -> None:
        self.everyone = 0  # all warps have met, whole, at this time
        self.whole: Rows | None = None  # when each warp last met whole
        self.clocks: Rows | None = None  # [warp, lane, other lane], made by the first part

    def all_meet(self, time: int) -> None:
        """Every lane of every warp has come."""
        self.everyone = time
        self.whole = self.clocks = None

    def meet(self, here: Rows, named: Rows, exists: Rows, time: int) -> None:
        """Some lanes have come, each with the mask of those it waits for."""
        complete = (here | ~exists).all(axis=1)
        complete &= ((named == named[:, :1]) | ~exists).all(axis=1)
        if self.whole is None:
            self.whole = np.full(len(here), self.everyone, np.int64)
        self.whole = np.where(complete, time, self.whole)
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
            self._join(np.flatnonzero(group.any(axis=1)), group, time)

    def _join(self, rows: Rows, group: Rows, time: int) -> None:
        """The lanes of a group now know all that any of them knew, and each other."""
        assert self.clocks is not None
        group = group[rows]
        known = self.clocks[rows]
        joint = np.where(group[:, :, None], known, 0).max(axis=1)
        joint = np.where(group, time, joint)
        self.clocks[rows] = np.where(group[:, :, None], joint[:, None, :], known)

    def until(self, warp: Rows, lane: Rows, other: Rows) -> Any:
        """Until when what lane `other` of the same warp did comes before `lane` now."""
        if self.clocks is not None:
            return self.clocks[warp, lane, other]
        return self.everyone if self.whole is None else self.whole[warp]
