"""Loads, stores and operations of a thread, foreseen from its C++ before the PTX is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.cuda_cpp.cpp_costs import read_ptx

answers = Answers(read_ptx)

PARTS = ("loads", "stores", "float32 operations", "float64 operations")
COMPUTED = (
    "a literal with f is a float and without it a double; a product and a sum with a double in "
    "them are done in float64, each is one operation, and a conversion is none"
)
REASONS = (
    "x[i] is loaded before the first output, and after each store that may have changed it",
    "each output is stored once",
    COMPUTED,
    COMPUTED,
)


def cases() -> list[Case]:
    """One output and several, with and without the promise and the suffix."""
    given = [(k, r, s) for k in (1, 2, 3, 6) for r in (False, True) for s in ("f", "")]
    return [Case(f"outputs, restrict, suffix = {k}, {r}, {s!r}", (k, r, s)) for k, r, s in given]


answers.edit(
    {"1 if restrict else outputs": "1"},
    "a store through y1 may change x[i], as far as the compiler knows: without __restrict__ it is "
    "loaded again after each store.",
)
answers.edit(
    {"1 if restrict else outputs": "outputs"},
    "with __restrict__ no store can change x[i]: it is loaded once and kept in a register.",
)
answers.edit(
    {"1 if restrict else outputs": "outputs if restrict else 1"},
    "it is the other way round: __restrict__ is the promise that no store changes x[i], and spares "
    "the loads.",
)
answers.edit(
    {"1 if restrict else outputs": "1 if restrict else outputs + 1"},
    "nothing is stored before the first load: without __restrict__ there is one load for each "
    "output, not one more.",
)
answers.edit(
    {"stores = outputs": "stores = 1"},
    "each output is another array, and gets a store of its own.",
)
answers.edit(
    {"operations = 2 * outputs": "operations = outputs"},
    "that counts the instructions: an fma multiplies and adds, which is two operations.",
)
answers.edit(
    {"operations = 2 * outputs": "operations = outputs + 1"},
    "no product is shared, since each output has a factor of its own: each is an fma, which is two "
    "operations.",
)
answers.edit(
    {"operations = 2 * outputs": "operations = 3 * outputs"},
    "a product and a sum are two operations: the index is an integer, and is not counted here.",
)
answers.edit(
    {"return loads, stores, 0, operations": "return loads, stores, operations, 0"},
    "a literal without f is a double, and 2.0 * x[i] + 1.0 is then computed in float64.",
)
answers.edit(
    {
        "return loads, stores, operations, 0": "return loads, stores, 0, operations",
        "return loads, stores, 0, operations": "return loads, stores, operations, 0",
    },
    "it is the other way round: with f a literal is a float, without it a double.",
)
answers.edit(
    {"return loads, stores, 0, operations": "return loads, stores, outputs, outputs"},
    "the product has a double in it, so the sum has one too: both are done in float64.",
)
answers.edit(
    {"return loads, stores, 0, operations": "return 2 * loads, stores, 0, operations"},
    "x is an array of float: the load stays one of 4 bytes, and the conversion comes after it.",
)


answers.edit(
    {"return loads, stores, 0, operations": "return loads, stores, operations, operations"},
    f"all literals of a kernel end alike, so one of the two counts of operations is 0: {COMPUTED}.",
)


@answers.right
def statement_by_statement(outputs: int, restrict: bool, suffix: str) -> tuple[int, ...]:
    loads = stores = single = double = 0
    for number in range(outputs):
        loads += not (restrict and number)
        single += 2 * (suffix == "f")
        double += 2 * (suffix != "f")
        stores += 1
    return loads, stores, single, double


@answers.right
def as_an_array(outputs: int, restrict: bool, suffix: str) -> Any:
    """Four numbers are four numbers, in whatever they stand."""
    both = (2 * outputs, 0) if suffix else (0, 2 * outputs)
    return np.array((1 if restrict else outputs, outputs, *both))


@answers.right
def as_a_list(outputs: int, restrict: bool, suffix: str) -> list[int]:
    both = [2 * outputs, 0] if suffix else [0, 2 * outputs]
    return [outputs ** (not restrict), outputs, *both]


def difference(got: Any, expected: Any) -> str | None:
    """How four numbers differ, by the name of the first that does."""
    if got is None:
        return compare.NOTHING
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return four numbers, {', '.join(PARTS)}"
    for name, one, wanted, reason in zip(PARTS, got, expected, REASONS, strict=True):
        if compare.numbers_or_none(int(one) if isinstance(one, bool) else one, wanted):
            what = name.removesuffix("s") if isinstance(one, int) and one == 1 else name
            return f"it returns {shown(one)} {what}, expected {wanted}: {reason}"
    return None


EXERCISE = Exercise(
    task="Say how many loads, stores and operations a thread's PTX will have.",
    reference=read_ptx,
    cases=cases,
    difference=difference,
    answers=answers,
)
