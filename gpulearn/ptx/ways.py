"""Ways: where the threads of a function are while it is carried out.

A stack of them, the one that goes on on top: `[where, until where, who, what they know]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.simt.core.masks import union

__all__ = ["same", "take_turns"]


def take_turns(stack: list[list[Any]]) -> None:
    """Who comes back to the head of a loop waits there for those who part from it on the way.

    A `break` in a loop makes all threads meet behind it only; without this, threads that took
    different ways through one turn would never go on together.
    """
    top = stack.pop()
    first = len(stack)
    while first and stack[first - 1][1] == top[1] and stack[first - 1][0] != top[1]:
        first -= 1
        other = stack[first]
        if other[0] == top[0]:
            both = union(other[2], top[2])
            other[2] = None if isinstance(both, np.ndarray) and both.all() else both
            other[3] = min(other[3], top[3])
            return
    stack.insert(first, top)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bits, or two masks the same threads."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())
