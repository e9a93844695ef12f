"""Active masks: which threads of a chunk carry out the current statement.

A mask is `None` (all threads), `EMPTY` (none), or a two-dimensional array of bool that
broadcasts to (blocks, threads per block) and has both values in it.
"""

from functools import reduce
from typing import Any

import numpy as np

Mask = Any


class _Empty:
    """The mask without any thread; one object, compared with `is`."""

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY = _Empty()


def union(a: Mask, b: Mask) -> Mask:
    """The threads of either mask."""
    if a is None or b is EMPTY or a is b:
        return a
    if b is None or a is EMPTY:
        return b
    return a | b


class DivergentExits:
    """The threads that have left a kernel or device function, by the place of their exit."""

    __slots__ = ("exits",)

    def __init__(self) -> None:
        self.exits: dict[int, Mask] = {}

    @property
    def left(self) -> Mask:
        """All threads that have left."""
        return reduce(union, self.exits.values(), EMPTY)


def split(mask: Mask, condition: Any) -> tuple[Mask, Mask]:
    """The threads of `mask` for which the condition holds, and the others.

    >>> split(None, True)
    (None, EMPTY)
    >>> yes, no = split(None, np.array([[True, False]]))
    >>> yes.tolist(), no.tolist()
    ([[True, False]], [[False, True]])
    """
    if not isinstance(condition, np.ndarray):
        return (mask, EMPTY) if condition else (EMPTY, mask)
    if mask is None:
        count = np.count_nonzero(condition)
        if count == 0:
            return EMPTY, None
        if count == condition.size:
            return None, EMPTY
        return condition, ~condition
    yes = mask & condition
    if not yes.any():
        return EMPTY, mask
    no = mask & ~condition
    if not no.any():
        return mask, EMPTY
    return yes, no
