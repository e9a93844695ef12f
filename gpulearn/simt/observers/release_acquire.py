"""Order without a barrier: write, fence, atomic - and an atomic of the one who reads.

Who has fenced and then done an atomic has *published* what he wrote before the fence; who
does a later atomic has *acquired* all that was published until then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["HandOver", "in_order"]

Lanes = np.ndarray[Any, Any]


class HandOver:
    """Publishing among `count` parties: the blocks of a grid, or the threads of a chunk."""

    def __init__(self, count: int) -> None:
        self.fenced, self.published_until, self.acquired = np.zeros((3, count), np.int64)
        self.published_at = np.full(count, np.iinfo(np.int64).max)
        self.turns = 0  # atomics so far, party by party

    def fence(self, who: Lanes, time: int) -> None:
        """These parties have fenced all that they wrote until now."""
        self.fenced[who] = time

    def signal(self, who: Lanes) -> None:
        """These parties, each once and in this order, do an atomic."""
        turn = self.turns + 1 + np.arange(len(who))
        self.turns += len(who)
        ready = self.fenced[who] > self.published_until[who]
        self.published_until[who[ready]] = self.fenced[who[ready]]
        self.published_at[who[ready]] = turn[ready]
        self.acquired[who] = turn

    def ordered(self, other: Lanes, when: Lanes, me: Lanes) -> Lanes:
        """Whether what `other` did at time `when` has been handed over to `me`."""
        result: Lanes = (when <= self.published_until[other]) & (
            self.published_at[other] < self.acquired[me]
        )
        return result


def in_order(who: Lanes) -> Lanes:
    """The different parties, in the order in which they first appear.

    >>> in_order(np.array([3, 1, 3, 2])).tolist()
    [3, 1, 2]
    """
    _, first = np.unique(who, return_index=True)
    result: Lanes = who[np.sort(first)]
    return result
