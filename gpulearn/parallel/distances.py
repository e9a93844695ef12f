"""How far ranks that exchange in rounds lie apart."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["doublings"]


def doublings(count: int) -> Iterator[int]:
    """1, 2, 4 … as long as they are below `count`.

    >>> list(doublings(6))
    [1, 2, 4]
    """
    distance = 1
    while distance < count:
        yield distance
        distance *= 2
