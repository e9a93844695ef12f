"""Loads, stores, and operations of a thread, predicted from its C++ without its PTX."""

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.cuda_cpp.cpp_costs import read_ptx

PARTS = ("loads", "stores", "float32 operations", "float64 operations")
COMPUTED = (
    "a literal with f is a float and without it a double; products and sums with a double are "
    "computed in float64, each is one operation, and a conversion is none"
)
REASONS = (
    "x[i] is loaded for the first output, and for each later one if a store may have changed it",
    "each output is stored once",
    COMPUTED,
    COMPUTED,
)


def cases() -> list[Case]:
    """One output and several, with and without the promise and the suffix."""
    choices = [(k, r, s) for k in (1, 2, 3, 6) for r in (False, True) for s in ("f", "")]
    return [Case(f"outputs, restrict, suffix = {k}, {r}, {s!r}", (k, r, s)) for k, r, s in choices]


def difference(got: Any, expected: Any) -> str | None:
    if got is None:
        return compare.NOTHING
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return four numbers, {', '.join(PARTS)}"
    for name, value, want, reason in zip(PARTS, got, expected, REASONS, strict=True):
        if compare.numbers_or_none(int(value) if isinstance(value, bool) else value, want):
            what = name.removesuffix("s") if isinstance(value, int) and value == 1 else name
            return f"it returns {shown(value)} {what}, expected {want}: {reason}"
    return None


EXERCISE = Exercise(
    task="Predict how many loads, stores, and operations the PTX of a thread contains.",
    reference=read_ptx,
    cases=cases,
    difference=difference,
)
