"""Reductions: what one thread makes of all elements of an array, or of several numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY
from simt.core.memory import View
from simt.core.registry import function, method
from simt.core.values import (
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Value,
    cast,
    cast_up,
    dtype_of,
    merge_type,
    normal,
    truth,
    where,
)
from simt.intrinsics.math import compute, larger, smaller
from simt.machine.machine import Machine
from simt.machine.views import elements

Step = Callable[[Value, Value], Value]


def _fold(m: Machine, view: View, start: Value, step: Step, *, skip: bool = False) -> Value:
    """`step` taken with each element, in C order; with `skip` not with NaN."""
    for place in elements(m, view):
        value = m.load(view, place)
        new = m.flop(step(start, value))
        if skip:
            new = where(np.asarray(np.isnan(value)), start, new)
        start = m.put(start, new)
    return start


def _zero(view: View, number: int = 0) -> Value:
    """What a sum or a product begins with: whole numbers are added up in 64 bits."""
    kind = view.dtype.kind
    return cast(number, INT64 if kind in "bi" else UINT64 if kind == "u" else view.dtype)


def _sum(m: Machine, view: View, skip: bool = False) -> Value:
    return _fold(m, view, _zero(view), BINARY["Add"], skip=skip)


def _count(m: Machine, view: View, counts: Callable[[Value], Value] = truth) -> Value:
    return _fold(m, view, 0, lambda n, v: BINARY["Add"](n, cast(counts(v), INT64)))


def _number(m: Machine, view: View, skip: bool) -> Value:
    """How many elements a mean is of."""
    return _count(m, view, lambda v: np.equal(v, v)) if skip else view.size


def _mean(m: Machine, view: View, skip: bool = False) -> Value:
    return BINARY["Div"](_sum(m, view, skip), _number(m, view, skip))


def _variance(m: Machine, view: View, skip: bool = False) -> Value:
    middle = _mean(m, view, skip)

    def step(total: Value, value: Value) -> Value:
        off = BINARY["Sub"](value, middle)
        return BINARY["Add"](total, BINARY["Mult"](off, off))

    total = _fold(m, view, 0.0, step, skip=skip)
    return BINARY["Div"](total, _number(m, view, skip))


def _truths(join: Any, start: bool, m: Machine, view: View) -> Value:
    return _fold(m, view, start, lambda old, v: normal(join(old, truth(v))))


def _extreme(better: Any, m: Machine, view: View, skip: bool = False, place: bool = False) -> Value:
    """The best element, or its place: the first of several; a NaN beats any number."""
    best: Value = None
    at: Value = 0
    for n, index in enumerate(elements(m, view)):
        value = m.load(view, index)
        if best is None:
            best = value
            continue
        old, new = np.isnan(best), np.isnan(value)
        wins = (old & ~new) if skip else (new & ~old)
        wins = np.asarray(wins | better(value, best))
        best, at = m.put(best, where(wins, value, best)), m.put(at, where(wins, n, at))
    if best is None:
        raise m.stop("not-a-kernel", f"{view.name} has no elements, and so none that is the best")
    return at if place else best


_REDUCTIONS: dict[str, Callable[..., Value]] = {
    "sum": _sum, "mean": _mean, "var": _variance,
    "prod": lambda m, a, skip=False: _fold(m, a, _zero(a, 1), BINARY["Mult"], skip=skip),
    "std": lambda m, a, skip=False: BINARY["Pow"](_variance(m, a, skip), 0.5),
    "all": partial(_truths, np.logical_and, True), "any": partial(_truths, np.logical_or, False),
    "min": partial(_extreme, np.less), "max": partial(_extreme, np.greater),
    "argmin": partial(_extreme, np.less, place=True),
    "argmax": partial(_extreme, np.greater, place=True),
}  # fmt: skip
_NAN_SKIPPING = ("sum", "prod", "mean", "var", "std", "min", "max")

for _name, _reduce in _REDUCTIONS.items():
    method(_name)(_reduce)
    function(getattr(np, _name))(_reduce)
for _name in _NAN_SKIPPING:
    function(getattr(np, f"nan{_name}"))(partial(_REDUCTIONS[_name], skip=True))
function(np.count_nonzero)(_count)


# --- Python's own, of arrays, tuples and several numbers


@function(sum)
def _python_sum(m: Machine, values: Any, start: Value = 0) -> Value:
    if isinstance(values, View):
        return _fold(m, values, start, BINARY["Add"])
    for value in values:
        start = BINARY["Add"](start, value)
    return start


def _best(better: Any, m: Machine, *values: Any) -> Value:
    """Python's own rule: the first stays unless another is strictly better."""

    def step(old: Value, new: Value) -> Value:
        result: Any = np.where(better(new, old), new, old)
        return normal(result[()] if result.ndim == 0 else result)

    if len(values) == 1 and isinstance(values[0], View):
        first = m.load(values[0], (0,))
        return _fold(m, values[0], first, step)
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    elif len(values) == 2 and {dtype_of(v) for v in values} <= {FLOAT32, FLOAT64}:
        return compute(larger if better is np.greater else smaller, "ff>f dd>d", *values)
    dtype = dtype_of(values[0])
    for v in values[1:]:
        dtype = merge_type(dtype, dtype_of(v))
    result, *others = (cast_up(v, dtype) for v in values)
    for value in others:
        result = step(result, value)
    return normal(result)


function(min)(partial(_best, np.less))
function(max)(partial(_best, np.greater))
