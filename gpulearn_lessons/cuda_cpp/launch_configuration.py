"""A launch to be mended: grid, block and bytes of shared memory of a product through tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.cuda_cpp.cpp_costs import Sides, launch_configuration

answers = Answers(launch_configuration)

PARTS = ("the grid", "the block", "the number of bytes")

WHOLE = "a launch takes whole numbers: math.ceil gives one, where np.ceil gives a float."

# Text of the solution.
GRID = "(columns + tile - 1) // tile, (rows + tile - 1) // tile"
BLOCK = "block = tile, tile"
BYTES = "2 * tile * tile * 4"


def cases() -> list[Case]:
    """The lesson's product, others that tiles fill, and results that end inside a tile."""
    sizes = (
        *((48, 64, 16), (64, 48, 16), (32, 96, 32), (50, 70, 16), (7, 5, 8), (1, 1, 4)),
        *((1000, 33, 32), (128, 128, 8), (50, 64, 16), (48, 70, 16)),
    )
    return [Case(f"rows, columns, tile = {', '.join(map(str, one))}", one) for one in sizes]


answers.give({GRID: "columns // tile", BLOCK: "block = rows // tile", BYTES: "tile"})
answers.edit(
    {GRID: "columns // tile", BLOCK: "block = rows // tile", BYTES: "tile"},
    "for 48 × 64 that is <<<4, 3, 16>>>: the first value is the whole grid, (x, y), the second the "
    "threads of a block, (x, y), and only the third counts bytes.",
)
answers.edit(
    {BYTES: "tile"},
    "grid and block are right; the third value is the bytes that the block's tiles take, not the "
    "side of one.",
)
answers.edit({GRID: "np.ceil(columns / tile), np.ceil(rows / tile)"}, WHOLE, np=np)
answers.edit(
    {BYTES: "0"},
    "what is declared extern __shared__ has no size of its own: the launch has to ask for the "
    "bytes of both tiles.",
)
answers.edit(
    {BYTES: "2 * tile * tile"},
    "that counts the floats of the two tiles: each takes 4 bytes.",
)
answers.edit(
    {BYTES: "tile * tile * 4"},
    "that is room for one tile: the block has two, one of each factor.",
)
answers.edit(
    {BYTES: "tile * tile"},
    "those are the elements of one tile: the block has two, and each element takes 4 bytes.",
)
answers.edit(
    {BYTES: "2 * tile * 4"},
    "that is room for one row of each tile: a tile has `tile` rows.",
)
answers.edit(
    {BYTES: "2 * tile * tile * 8"},
    "8 bytes are a double: a float takes 4.",
)
answers.edit(
    {GRID: "(rows + tile - 1) // tile, (columns + tile - 1) // tile"},
    "x and y of the grid have changed places: x counts columns and comes first.",
)
answers.edit(
    {GRID: "columns // tile, rows // tile"},
    "where the tile does not divide a side, the rest of the result has no block: round up.",
)
answers.edit(
    {GRID: "(columns + tile - 1) // tile, rows // tile"},
    "only x is rounded up: where the tile does not divide the rows, the last of them have no "
    "block.",
)
answers.edit(
    {GRID: "columns // tile, (rows + tile - 1) // tile"},
    "only y is rounded up: where the tile does not divide the columns, the last of them have no "
    "block.",
)
answers.edit(
    {GRID: "round(columns / tile), round(rows / tile)"},
    "round takes the nearest whole number, so a rest of less than half a tile has no block: round "
    "up.",
)
answers.edit(
    {GRID: "columns // tile + 1, rows // tile + 1"},
    "where the tile divides a side, that is a block too many: add tile - 1 before you divide.",
)
answers.edit(
    {GRID: "columns, rows"},
    "that is a block for each element: each block does a whole tile of them.",
)
answers.edit(
    {BLOCK: "block = tile * tile"},
    "all threads of the block are along x, and threadIdx.y is 0 in all of it: like its tile, it "
    "has two sides.",
)
answers.edit(
    {BLOCK: "block = tile"},
    "a number alone is a block along x only: that is one row of the tile, and it has `tile` rows.",
)
answers.edit(
    {GRID: "((columns + tile - 1) // tile) * ((rows + tile - 1) // tile)"},
    "the number of blocks is right, but the grid has two sides: blockIdx.y is 0 for all of them.",
)
answers.edit(
    {
        GRID: "((columns + tile - 1) // tile) * ((rows + tile - 1) // tile)",
        BLOCK: "block = tile * tile",
    },
    "the numbers of blocks and of threads are right, but both have two sides: a number alone lies "
    "along x, and all of y is 0.",
)
answers.edit(
    {BYTES: "2 * tile * (tile + 1) * 4"},
    "that is room for a column of padding in each tile: these tiles have tile × tile elements.",
)
answers.edit(
    {"return grid, block, shared_bytes": "return block, grid, shared_bytes"},
    "grid and block have changed places: the grid comes first.",
)


@answers.right
def with_depth(rows: int, columns: int, tile: int) -> tuple[Any, ...]:
    across, down = -(-columns // tile), -(-rows // tile)
    return (across, down, 1), (tile, tile, 1), 8 * tile**2


@answers.right
def by_remainder(rows: int, columns: int, tile: int) -> list[Any]:
    def needed(side: int) -> int:
        return side // tile + (side % tile > 0)

    return [[needed(columns), needed(rows)], [tile] * 2, sum(4 * tile * tile for _ in "ab")]


def difference(got: Any, expected: tuple[Sides, Sides, int]) -> str | None:
    """The first of the three values that differs, and what comes of it."""
    if got is None:
        return compare.NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return three values, {', '.join(PARTS)}"
    for name, one, wanted in zip(PARTS, got, expected, strict=True):
        if sides(one) != sides(wanted):
            return f"{name} is {shown(one)}, expected {shown(wanted)}"
        if whole(one) != whole(wanted):
            return f"{name} is {shown(one)}: {WHOLE.removesuffix('.')}"
    return None


def whole(value: Any) -> bool:
    """Whether all sides of a shape are whole numbers by their types too."""
    return all(isinstance(side, int | np.integer) for side in sides(value))


def sides(value: Any) -> tuple[Any, ...]:
    """A shape with all its three sides; what is none of a launch stays as it is."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    return (*given, 1, 1)[:3] if len(given) < 3 else given


EXERCISE = Exercise(
    task="Mend what stands between <<< and >>>, for a product of any size in tiles of any size.",
    reference=launch_configuration,
    cases=cases,
    difference=difference,
    answers=answers,
)
