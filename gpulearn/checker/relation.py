"""What wrong numbers have in common: one factor, one distance, too few digits, upside down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn.checker.compare import is_number

__all__ = ["relation"]

EQUAL = 1e-6  # relative; the numbers that are compared come from a few roundings
NEAR = 1e-3


def relation(got: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """One sentence on how all results of an answer lie to the expected ones, or None.

    >>> relation([2, 4, 10], [1, 2, 5])
    'in every case it is 2 times what it should be'
    """
    if len(got) < 2 or not all(map(is_number, [*got, *expected])):
        return None
    try:
        pairs = [(float(g), float(e)) for g, e in zip(got, expected, strict=True)]
    except OverflowError:
        return None
    known = [(g, e) for g, e in pairs if e != 0]
    if len(known) < 2 or any(g != 0 for g, e in pairs if e == 0):
        return _distance(pairs)
    factor = known[0][0] / known[0][1]
    if all(_near(g, e, NEAR) for g, e in known):
        return (
            "in every case it is nearly right: a number of fewer digits, such as a float32, or "
            "rounding, has lost the rest"
        )
    if factor and all(_near(g, factor * e, EQUAL) for g, e in known):
        return f"in every case it is {factor:.4g} times what it should be"
    if all(_near(g * e, 1.0, EQUAL) for g, e in known):
        return "in every case it is upside down, 1 divided by what it should be"
    return _distance(pairs)


def _distance(pairs: Sequence[tuple[float, float]]) -> str | None:
    more = pairs[0][0] - pairs[0][1]
    if not more or not all(_near(g, e + more, EQUAL) for g, e in pairs):
        return None
    return f"in every case it is too {'large' if more > 0 else 'small'} by {abs(more):.4g}"


def _near(one: float, other: float, relative: float) -> bool:
    return abs(one - other) <= relative * abs(other)
