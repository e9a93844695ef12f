"""The roofline of a kernel that has not been seen before."""

from __future__ import annotations

from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.require import shown
from gpulearn_lessons.roofline.stencil import analyse_stencil

answers = Answers(analyse_stencil)

NAMES = ("the operations", "the bytes", "the limit", "the seconds")
LIMITS = ("memory", "arithmetic")
FLOPS = "4 * (rows - 2) * (columns - 2)"
BYTES = "2 * 4 * rows * columns"
LIMIT = '"arithmetic" if computing >= moving else "memory"'
RETURN = "return flops, bytes_moved, limit, max(computing, moving)"


def cases() -> list[Case]:
    """Wide, tall and tiny grids; machines left and right of the stencil's intensity."""
    t4, h100 = gpu_spec("T4"), gpu_spec("H100")
    work = (
        ("1,000 × 800 on a T4", 1000, 800, t4.vector["float32"], t4.bandwidth),
        ("5,000 × 70 on an H100", 5000, 70, h100.vector["float32"], h100.bandwidth),
        ("70 × 5,000 on a laptop", 70, 5000, 3.1e11, 4.7e10),
        ("3 × 4 on a laptop", 3, 4, 3.1e11, 4.7e10),
        ("1,000 × 800 on a chip with slow arithmetic", 1000, 800, 2e9, 8e9),
        ("3 × 40 on a chip with slow arithmetic", 3, 40, 1e9, 8e9),
        ("a grid that needs the same time for both", 4, 4, 1e9, 8e9),
    )
    return [Case(label, tuple(rest)) for label, *rest in work]


def difference(got: Any, expected: tuple[Any, ...]) -> str | None:
    """One sentence on the first of the four that differs, or None."""
    if got is None:
        return compare.NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(NAMES):
        return f"it returns {shown(got)}, expected four things: operations, bytes, limit, seconds"
    for name, one, other in zip(NAMES, got, expected, strict=True):
        if isinstance(other, str):
            if one != other:
                return f"{name} is {shown(one)}, expected {other!r}"
        elif sentence := compare.numbers_or_none(one, other):
            return f"{name}: {sentence}"
    return None


def alike(one: Any, other: Any) -> bool:
    """Whether two results, right or wrong, are the same behaviour."""
    if compare.is_number(one) or compare.is_number(other):
        return compare.numbers_or_none(one, other) is None
    return difference(one, other) is None


answers.edit(
    {FLOPS: "4 * rows * columns"},
    "the operations count the edge as well: it is copied, and only inner points are computed, "
    "two rows and two columns fewer.",
)
answers.edit(
    {FLOPS: "4 * (rows - 1) * (columns - 1)"},
    "the edge has two rows and two columns, one on each side.",
)
answers.edit(
    {FLOPS: "5 * (rows - 2) * (columns - 2)"},
    "four numbers are added up by three additions; with the product that makes four operations.",
)
answers.edit(
    {FLOPS: "3 * (rows - 2) * (columns - 2)"},
    "the operations lack one for each point: three additions, and the product by 0.25.",
)
answers.edit(
    {FLOPS: "(rows - 2) * (columns - 2)"},
    "that is the number of inner points; each of them costs several operations.",
)
answers.edit(
    {BYTES: "5 * 4 * rows * columns"},
    "the bytes count the grid four times: each number is used four times, but it is needed from "
    "memory once; after that it is in the cache.",
)
answers.edit(
    {BYTES: "20 * (rows - 2) * (columns - 2)"},
    "the bytes count four numbers read for each point: neighbours share them. Each array is read "
    "once, whole.",
)
answers.edit(
    {BYTES: "2 * 4 * (rows - 2) * (columns - 2)"},
    "the bytes leave out the edge: it is read too, and copied to the new grid.",
)
answers.edit(
    {BYTES: "4 * rows * columns"},
    "the bytes count one grid: one is read, and another is written.",
)
answers.edit(
    {BYTES: "2 * rows * columns"}, "those are numbers, not bytes: a float32 has four bytes."
)
answers.edit({BYTES: "2 * 8 * rows * columns"}, "a float32 has four bytes, a float64 has eight.")
answers.edit(
    {LIMIT: '"memory" if computing >= moving else "arithmetic"'},
    "the limit is the other one: what takes longer holds up the kernel.",
)
answers.edit(
    {LIMIT: '"memory"'},
    "it says memory whatever the machine: compare the two times, or the intensity with the "
    "machine's ridge point, peak / bandwidth.",
)
answers.edit(
    {"max(computing, moving)": "computing + moving"},
    "the seconds add up both times; the roofline lets computing and moving overlap: the longer "
    "one counts.",
)
answers.edit(
    {"max(computing, moving)": "min(computing, moving)"},
    "the seconds are the shorter of the two times; the longer one holds it up.",
)
answers.edit(
    {"max(computing, moving)": "moving"},
    "the seconds are those of the bytes alone; where arithmetic is the limit, its time counts.",
)
answers.edit(
    {"flops / peak, bytes_moved / bandwidth": "peak / flops, bandwidth / bytes_moved"},
    "the quotients are upside down: operations ÷ operations per second gives seconds.",
)
answers.edit(
    {"limit, max(computing, moving)": "limit, max(computing, moving) * 1e3"},
    "those are milliseconds; the time is asked for in seconds.",
)
answers.edit(
    {RETURN: "return flops / bytes_moved"},
    "that is the intensity; return four things: operations, bytes, limit, seconds.",
)


@answers.right
def by_the_ridge(
    rows: int, columns: int, peak: float, bandwidth: float
) -> tuple[float, float, str, float]:
    flops = (rows * columns - 2 * rows - 2 * columns + 4) * (3 + 1)
    moved = rows * columns * 4 + rows * columns * 4
    intensity = flops / moved
    rate = min(peak, intensity * bandwidth)
    return flops, moved, LIMITS[intensity >= peak / bandwidth], flops / rate


@answers.right
def by_loops(rows: int, columns: int, peak: float, bandwidth: float) -> list[Any]:
    flops = sum(4 * len(range(1, columns - 1)) for _ in range(1, rows - 1))
    moved = sum((4 + 4) * columns for _ in range(rows))
    times = {"arithmetic": flops / peak, "memory": moved / bandwidth}
    limit = max(times, key=lambda name: times[name])
    return [flops, moved, limit, times[limit]]


EXERCISE = Exercise(
    task="Count a stencil's operations and bytes; say what limits it, and its least time.",
    reference=analyse_stencil,
    cases=cases,
    difference=difference,
    kinships=(alike,),
    answers=answers,
)
