"""The roofline of a kernel that has not been seen before."""

from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.require import shown
from gpulearn_lessons.roofline.stencil import analyze_stencil

NAMES = ("the operations", "the bytes", "the limit", "the seconds")


def cases() -> list[Case]:
    """Wide, tall and tiny grids; machines left and right of the stencil's intensity."""
    t4, h100 = gpu_spec("T4"), gpu_spec("H100")
    work = (
        ("1,000 × 800 on a T4", 1000, 800, t4.vector["float32"], t4.bandwidth),
        ("5,000 × 70 on an H100", 5000, 70, h100.vector["float32"], h100.bandwidth),
        ("70 × 5,000 on a laptop", 70, 5000, 3.1e11, 4.7e10),
        ("3 × 4 on a chip with slow arithmetic", 3, 4, 2e9, 8e9),
        ("1,000 × 800 on a chip with slow arithmetic", 1000, 800, 2e9, 8e9),
        ("3 × 40 on a chip with slow arithmetic", 3, 40, 1e9, 8e9),
        ("a grid that needs the same time for both", 4, 4, 1e9, 8e9),
    )
    return [Case(label, tuple(rest)) for label, *rest in work]


def difference(got: Any, expected: tuple[Any, ...]) -> str | None:
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
    if compare.is_number(one) or compare.is_number(other):
        return compare.numbers_or_none(one, other) is None
    return difference(one, other) is None


EXERCISE = Exercise(
    task="Count the operations and bytes of a stencil; find its limit and its shortest time.",
    reference=analyze_stencil,
    cases=cases,
    difference=difference,
    kinships=(alike,),
)
