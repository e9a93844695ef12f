"""Which part of an array each device holds."""

from numbers import Integral
from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.frameworks.batch_parts import device_shards


def cases() -> list[Case]:
    """Meshes of one, two and three axes; axes of an array that are cut, whole or not named."""
    plans: list[tuple[tuple[int, ...], dict[str, int], tuple[str | None, ...]]] = [
        ((8, 6), {"data": 4}, ("data", None)),
        ((8, 6), {"data": 2}, (None, "data")),
        ((4, 6), {"data": 2, "model": 3}, ("data", "model")),
        ((6, 8), {"data": 2, "model": 3}, ("model", "data")),
        ((4, 6), {"data": 2, "model": 2}, ("data", None)),
        ((4, 6), {"data": 2, "model": 2}, (None, "model")),
        ((4, 6), {"data": 2, "model": 3}, (None, None)),
        ((12, 5), {"data": 3, "model": 2}, ("data",)),
        ((7,), {"data": 1}, ("data",)),
        ((3, 4), {"data": 2}, ()),
        ((2, 4, 6), {"a": 2, "b": 1, "c": 3}, ("a", None, "c")),
        ((10, 4), {"model": 2, "data": 5}, ("data", "model")),
        ((6, 4, 2), {"a": 2, "b": 3, "c": 2}, ("b", "a", "c")),
    ]
    return [
        Case(f"shape {shape}, mesh {shown(mesh)}, spec {spec}", (shape, mesh, spec))
        for shape, mesh, spec in plans
    ]


def bounds_of(part: Any) -> tuple[tuple[int, int], ...]:
    """(start, end) of each axis; a slice or a range says the same."""
    bounds = []
    for axis in part:
        if isinstance(axis, slice | range):
            if axis.step not in (None, 1):
                raise ValueError
            axis = (axis.start or 0, axis.stop)
        start, end = axis
        if float(start) != int(start) or float(end) != int(end):
            raise ValueError
        bounds.append((int(start), int(end)))
    return tuple(bounds)


def cuts(part: Any) -> bool:
    """Whether an array could be cut at all bounds: they are whole numbers, and no floats."""
    ends = [e for a in part for e in ((a.start, a.stop) if hasattr(a, "stop") else a)]
    return all(isinstance(end, Integral | None) for end in ends)


def difference(got: Any, expected: Any) -> str | None:
    if isinstance(got, dict):
        got = list(got.values()) if list(got) == list(range(len(got))) else got
    if not isinstance(got, list | tuple | np.ndarray):
        return f"it returns {shown(got)}, expected a list with one entry for each device"
    if len(got) != len(expected):
        return f"it returns {len(got)} entries, and there are {len(expected)} devices"
    expected_bounds = [bounds_of(part) for part in expected]
    for device, (part, right) in enumerate(zip(got, expected_bounds, strict=True)):
        try:
            bounds = bounds_of(part)
        except (TypeError, ValueError):
            return f"device {device} has {shown(part)}, expected (start, end) for each axis"
        if bounds != right:
            return f"device {device} has {shown(bounds)}, expected {right}"
        if not cuts(part):
            return f"device {device} has {shown(part)}: no array can be cut at a float"
    return None


def same(one: Any, other: Any) -> bool:
    try:
        if all(map(cuts, one)) != all(map(cuts, other)):
            return False
        return [bounds_of(part) for part in one] == [bounds_of(part) for part in other]
    except (TypeError, ValueError):
        return False


EXERCISE = Exercise(
    task="Say which part of an array each device of a mesh holds.",
    reference=device_shards,
    cases=cases,
    difference=difference,
    kinships=(same,),
)
