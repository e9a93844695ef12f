"""A launch to be fixed: grid, block, and bytes of shared memory of a tiled product."""

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.cuda_cpp.cpp_costs import Sides, launch_configuration

PARTS = ("the grid", "the block", "the number of bytes")

WHOLE = "a launch takes integers, and np.ceil or / returns a float: use math.ceil or //."


def cases() -> list[Case]:
    """The lesson's product, others that tiles fill, and results that end inside a tile."""
    sizes = (
        *((48, 64, 16), (64, 48, 16), (32, 96, 32), (50, 70, 16), (7, 5, 8), (1, 1, 4)),
        *((1000, 33, 32), (128, 128, 8), (50, 64, 16), (48, 70, 16)),
    )
    return [Case(f"rows, columns, tile = {', '.join(map(str, size))}", size) for size in sizes]


def difference(got: Any, expected: tuple[Sides, Sides, int]) -> str | None:
    if got is None:
        return compare.NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return three values, {', '.join(PARTS)}"
    for name, value, want in zip(PARTS, got, expected, strict=True):
        if not compare.same_numbers(sides(value), sides(want)):
            return f"{name} is {shown(value)}, expected {shown(want)}"
        if whole(value) != whole(want):  # `want` may be a known wrong answer
            return f"{name} is {shown(value)}: {WHOLE.removesuffix('.')}"
    return None


def whole(value: Any) -> bool:
    """Whether all sides of a shape are integers by their types too."""
    return all(isinstance(side, int | np.integer) for side in sides(value))


def sides(value: Any) -> tuple[Any, ...]:
    """A shape with all its three sides; anything else stays as it is."""
    value = value.tolist() if hasattr(value, "tolist") else value
    axes = tuple(value) if isinstance(value, tuple | list) else (value,)
    return (*axes, 1, 1)[:3] if len(axes) < 3 else axes


EXERCISE = Exercise(
    task="Fix what goes between <<< and >>>, for a product of any size in tiles of any size.",
    reference=launch_configuration,
    cases=cases,
    difference=difference,
)
