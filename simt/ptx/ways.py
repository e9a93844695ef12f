"""Ways: where the threads of a function are while it is carried out.

A stack of them, the one that goes on on top: `[where, until where, who, what they know]`. Ways
that part stand behind the place where they meet, each with what parted from it. A way that waits
at a barrier is at `FIRST_BARRIER - number` and keeps, last, where it goes on. A warp goes on from
where threads meet without those of other warps: they are only kept together while nobody waits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.masks import EMPTY, split, union
from simt.ptx.flow import END

FIRST_BARRIER = END - 1
Stack = list[list[Any]]


def wait(way: list[Any], number: int, after: int) -> None:
    """A way waits at a barrier, and goes on at `after`."""
    way[0] = FIRST_BARRIER - number
    way.append(after)


def go_on(stack: Stack, number: int) -> bool:
    """Releases the ways that wait at a barrier; whether there are any."""
    waiting = [way for way in stack if way[0] == FIRST_BARRIER - number]
    for way in waiting:
        way[0] = way.pop()
    return bool(waiting)


def leaf(stack: Stack) -> int | None:
    """The uppermost way that nobody has parted from and that does not wait, if there is one."""
    for k in range(len(stack) - 1, -1, -1):
        parted = k + 1 < len(stack) and stack[k + 1][1] == stack[k][0]
        if stack[k][0] >= END and not parted:
            return k
    return None


def _behind(stack: Stack, at: int) -> int:
    """Where the ways end that parted from one."""
    after = at + 1
    while after < len(stack) and stack[after][1] == stack[at][0]:
        after = _behind(stack, after)
    return after


def on_top(stack: Stack, k: int) -> None:
    """Brings a way to the top, each of those that it parted from with it."""

    def ordered(first: int, last: int) -> Stack:
        others, mine = [], (k, k + 1)
        while first < last:
            span = first, _behind(stack, first)
            if span[0] <= k < span[1]:
                mine = span
            else:
                others += stack[slice(*span)]
            first = span[1]
        rest = ordered(mine[0] + 1, mine[1]) if mine[0] < k else []
        return [*others, stack[mine[0]], *rest]

    stack[:] = ordered(0, len(stack))


def go_ahead(stack: Stack, meets: dict[int, int], spread: Callable[[Any], Any]) -> bool:
    """Lets warps of which nobody waits go on from where they are to meet those who do, if any are.

    Only threads of one warp wait for each other there; PTX ISA, "barrier": a thread waits at one
    for all threads of its warp that have not exited. They meet the others at the next such place.
    """
    for k in range(len(stack) - 1, -1, -1):
        if stack[k][0] < END:
            continue
        end = _behind(stack, k)
        waiting = np.any([spread(way[2] is None or way[2]) for way in stack[k + 1 : end]], axis=0)
        warps = np.arange(waiting.shape[1]) // 32
        free, rest = split(stack[k][2], ~np.isin(warps, warps[waiting.any(axis=0)])[None, :])
        if free is EMPTY:
            continue
        at, until, whole, known = stack[k]
        first, meet = [], meets[at]
        if meet not in (until, END):
            first, until = [[meet, until, whole, known]], meet
        stack[k][1:3] = until, rest
        stack[k:end] = [*first, *stack[k:end], [at, until, free, known]]
        on_top(stack, end + len(first))
        return True
    return False


def take_turns(stack: Stack) -> None:
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
    if stack[-1][0] < END and (going := leaf(stack)) is not None:  # that one waits at a barrier
        on_top(stack, going)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bits, or two masks the same threads."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())
