"""Rounds, bytes and seconds of recursive halving and doubling, said before it has run."""

import math
from typing import Any

import numpy as np

from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import halving_doubling_cost
from gpulearn.parallel.links import Link
from gpulearn.require import shown

NAMES = (("rounds", ""), ("bytes", ""), ("seconds", " s"))


def cases() -> list[Case]:
    """Powers of two from 1 to 1,024, sizes that N does not divide, links of several kinds."""
    slow, fast, free = Link(50e-6, 1e9), Link(3.4e-6, 450e9), Link(0.0, 2e9)
    works = [
        (4, 1000, slow), (2, 8, slow), (8, 4096, fast), (16, 1_000_001, slow), (1, 64, slow),
        (1024, 2 * 10**9, fast), (64, 0, fast), (32, 12_345_678, free),
    ]  # fmt: skip
    return [
        Case(f"{n:,} rank{'s' * (n > 1)}, {size:,.0f} bytes and {link}", (n, size, link))
        for n, size, link in works
    ]


def difference(got: Any, want: Any) -> str | None:
    """Rounds, then bytes, then seconds, each to nine digits."""
    if got is None:
        return NOTHING
    try:
        three = [value.item() if hasattr(value, "item") else value for value in got]
    except (TypeError, ValueError):
        three = []
    if len(three) != 3 or not all(map(is_number, three)):
        return f"it returns {shown(got)}, expected three numbers: rounds, bytes, seconds"
    for (name, unit), number, right in zip(NAMES, three, want, strict=True):
        if not math.isclose(number, right, rel_tol=1e-9, abs_tol=1e-15):
            return f"{name} are {number:.12g}{unit}, expected {right:.12g}{unit}"
    return None


def same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-9, atol=1e-15)


EXERCISE = Exercise(
    task="Say the rounds, the bytes that each rank sends, and the seconds of halving and doubling.",
    reference=halving_doubling_cost,
    cases=cases,
    difference=difference,
    kinships=(same,),
)
