"""Ufuncs on arrays: `np.sin(a, out)`, by which each thread fills the whole output."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.memory import View
from simt.core.values import Value
from simt.machine.machine import Machine
from simt.machine.views import elements


def over_elements(
    m: Machine, ufunc: np.ufunc, compute: Callable[..., Value], values: tuple[Any, ...]
) -> View:
    """Fills the output, one element after the other, and gives it back.

    As in Numba the output says how far to go; an input counts for all along a dimension of
    length 1, and where it has no such dimension.
    """
    inputs = values[: ufunc.nin]
    out: View = values[-1]
    if len(values) == ufunc.nin:
        names = ", ".join(getattr(v, "name", "x") for v in inputs)
        message = (
            f"np.{ufunc.__name__} of an array makes a new one, for which a kernel has no memory: "
            f"name an array for the result, np.{ufunc.__name__}({names}, out)"
        )
        raise m.stop("not-a-kernel", message)
    for view in inputs:
        if isinstance(view, View) and view.ndim > out.ndim:
            message = (
                f"{view.name} has {view.ndim} dimensions, and the output {out.name} has "
                f"{out.ndim}: give np.{ufunc.__name__} an output with as many"
            )
            raise m.stop("not-a-kernel", message, array=view.name)
    for place in elements(m, out):
        operands = [m.load(v, _beside(v, place)) if isinstance(v, View) else v for v in inputs]
        m.store(out, place, compute(m, *operands))
    return out


def _beside(view: View, place: tuple[int, ...]) -> tuple[Value, ...]:
    """The index of an input that belongs to an element of the output."""
    inner = place[len(place) - view.ndim :]
    return tuple(
        (i if n != 1 else 0) if type(n) is int else np.where(np.not_equal(n, 1), i, 0)
        for i, n in zip(inner, view.shape, strict=True)
    )
