"""Which part of an array each device holds."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.frameworks.batch_parts import device_shards

answers = Answers(device_shards)


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
    found = []
    for one in part:
        if isinstance(one, slice | range):
            if one.step not in (None, 1):
                raise ValueError
            one = (one.start or 0, one.stop)
        start, end = one
        if float(start) != int(start) or float(end) != int(end):
            raise ValueError
        found.append((int(start), int(end)))
    return tuple(found)


def cuts(part: Any) -> bool:
    """Whether an array could be cut at all bounds: they are whole numbers, and no floats."""
    ends = [e for one in part for e in ((one.start, one.stop) if hasattr(one, "stop") else one)]
    return all(isinstance(end, Integral | None) for end in ends)


def difference(got: Any, expected: Any) -> str | None:
    """A list of parts, by device."""
    if isinstance(got, dict):
        got = list(got.values()) if list(got) == list(range(len(got))) else got
    if not isinstance(got, list | tuple | np.ndarray):
        return f"it returns {shown(got)}, expected a list with one entry for each device"
    if len(got) != len(expected):
        return f"it returns {len(got)} entries, and there are {len(expected)} devices"
    wanted = [bounds_of(part) for part in expected]
    for device, (part, right) in enumerate(zip(got, wanted, strict=True)):
        try:
            found = bounds_of(part)
        except (TypeError, ValueError):
            return f"device {device} has {shown(part)}, expected (start, end) for each axis"
        if found != right:
            return f"device {device} has {shown(found)}, expected {right}"
        if not cuts(part):
            return f"device {device} has {shown(part)}: no array can be cut at a float"
    return None


START = "start = 0 if axis is None else at[axis] * size"
SIZE = "size = length if axis is None else length // mesh[axis]"
PLACES = "np.ndindex(*mesh.values())"

answers.edit(
    {"for place in " + PLACES: "for place in sorted(" + PLACES + ", key=lambda p: p[::-1])"},
    "the devices are numbered column by column: here the last axis of the mesh counts fastest.",
)
answers.edit(
    {"enumerate(shape)": "enumerate(shape[: len(spec)])"},
    "axes of the array that spec does not reach are missing: they are not cut, and each device "
    "has them whole.",
)
for by_position in (
    "[*mesh, *[None] * len(shape)][number]",
    "list(mesh)[min(number, len(mesh) - 1)] if any(spec[number : number + 1]) else None",
):
    answers.edit(
        {"spec[number] if number < len(spec) else None": by_position},
        "the axes of the array are cut in the order of the mesh: spec says which axis of the mesh "
        "cuts which axis of the array, and which is not cut.",
    )


@answers.wrong(
    "each device has rows of its own, as if all devices lay along one axis: those that differ "
    "only along an axis of the mesh that cuts nothing hold the same part, and each named axis cuts."
)
def rows_for_everyone(shape: Any, mesh: Any, spec: Any) -> Any:
    devices = int(np.prod(list(mesh.values())))
    size = max(1, shape[0] // devices)
    return [
        ((d * size, (d + 1) * size), *((0, length) for length in shape[1:])) for d in range(devices)
    ]


for last in ("1", "(axis is not None)"):
    answers.edit(
        {"bounds.append((start, start + size))": f"bounds.append((start, start + size - {last}))"},
        "the end is the last index of the part: here it is one behind it, as in a slice.",
    )
answers.edit(
    {"bounds.append((start, start + size))": "bounds.append((start, size))"},
    "the second number is how long the part is: give its end, start + length.",
)
answers.edit(
    {SIZE: "size = length"},
    "each device has as much as the whole axis: an axis that is cut is divided by the number of "
    "devices along that axis of the mesh.",
)
answers.edit(
    {START: "start = 0"}, "each part starts at 0: the place of the device in the mesh is not used."
)
answers.edit(
    {SIZE: "size = length if axis is None else mesh[axis]"},
    "a part is as long as there are devices: its length is that of the axis divided by them.",
)

answers.edit(
    {SIZE: "size = length if axis is None else length / mesh[axis]"},
    "/ makes floats, and no array can be cut at 2.0: divide with //.",
)
answers.edit(
    {PLACES: "sorted(np.ndindex(*mesh.values()), key=lambda p: [p[list(mesh).index(axis)] for "
     "axis in [*filter(None, spec), *(a for a in mesh if a not in spec)]])"},
    "the devices are numbered in the order in which spec names the axes: it is the mesh that "
    "numbers them, and its last axis counts fastest.",
)  # fmt: skip
DEVICES = "int(np.prod(list(mesh.values())))"
for here, said in {
    "(len(found) % mesh[axis])": "device % n is its place along the last axis of the mesh alone: "
    "before any other axis the number has to be divided by the devices of the axes behind it.",
    f"(len(found) // ({DEVICES} // mesh[axis]))": "device // (all devices / n) is its place along "
    "the first axis of the mesh alone: along another axis the place begins anew at 0.",
}.items():
    answers.edit({"at[axis] * size": f"{here} * size"}, said)


@answers.wrong("that is each part once: devices that hold the same part are listed too.")
def distinct_parts(shape: Any, mesh: Any, spec: Any) -> Any:
    return sorted(set(device_shards(shape, mesh, spec)))


@answers.wrong("all devices hold the whole array here: spec says what cuts it.")
def everything(shape: Any, mesh: Any, spec: Any) -> Any:
    return [tuple((0, n) for n in shape)] * int(np.prod(list(mesh.values())))


@answers.right
def by_unravelling(shape: Any, mesh: Any, spec: Any) -> Any:
    names, counts = list(mesh), list(mesh.values())
    spec = list(spec) + [None] * (len(shape) - len(spec))
    parts = []
    for device in range(int(np.prod(counts))):
        place = np.unravel_index(device, counts)
        part = []
        for length, axis in zip(shape, spec, strict=True):
            if axis is None:
                part.append(slice(0, length))
            else:
                k = names.index(axis)
                part.append(
                    slice(place[k] * length // counts[k], (place[k] + 1) * length // counts[k])
                )
        parts.append(part)
    return parts


@answers.right
def from_an_array_of_devices(shape: Any, mesh: Any, spec: Any) -> Any:
    numbers = np.arange(int(np.prod(list(mesh.values())))).reshape(tuple(mesh.values()))
    found: dict[int, Any] = {}
    for place in np.ndindex(*numbers.shape):
        part = []
        for k, length in enumerate(shape):
            axis = spec[k] if k < len(spec) else None
            n = mesh.get(axis, 1)
            i = place[list(mesh).index(axis)] if axis in mesh else 0
            part.append([i * (length // n), (i + 1) * (length // n)])
        found[int(numbers[place])] = part
    return [found[d] for d in sorted(found)]


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same parts on the same devices."""
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
    answers=answers,
    difference=difference,
    kinships=(same,),
)
