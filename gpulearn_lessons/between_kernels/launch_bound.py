"""What a sequence of kernels costs when it is launched one by one, and as a graph."""

from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.between_kernels.launches import launch_bound

WAYS = ("one by one", "as a graph")


def cases() -> list[Case]:
    """Kernels shorter than a launch, longer, and both in either order; one alone; no costs."""
    works: dict[str, tuple[list[float], float, float]] = {
        "10 kernels of 1 µs, launches of 5 µs": ([1.0] * 10, 5.0, 0.5),
        "10 kernels of 50 µs, launches of 5 µs": ([50.0] * 10, 5.0, 0.5),
        "one kernel of 100 µs, then 6 of 1 µs": ([100.0] + [1.0] * 6, 5.0, 0.5),
        "6 kernels of 1 µs, then one of 100 µs": ([1.0] * 6 + [100.0], 5.0, 0.5),
        "5 kernels of 1 µs, one of 100 µs, 5 of 1 µs": ([1.0] * 5 + [100.0] + [1.0] * 5, 5.0, 0.5),
        "kernels of 4.75 µs, launches of 5 µs": ([4.75] * 6, 5.0, 0.5),
        "kernels of 1 µs, a gap longer than a launch": ([1.0] * 4, 2.0, 3.0),
        "12 µs, then 8 of 1 µs": ([12.0] + [1.0] * 8, 5.0, 0.25),
        "one kernel of 3 µs": ([3.0], 5.0, 0.5),
        "kernels of 7, 2, 2 and 9 µs": ([7.0, 2.0, 2.0, 9.0], 4.0, 0.75),
        "kernels of 2 and 3 µs, no gap": ([2.0, 3.0], 4.0, 0.0),
    }
    return [Case(label, work) for label, work in works.items()]


def difference(got: Any, expected: Any) -> str | None:
    if got is None:
        return compare.NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(WAYS):
        return f"it returns {shown(got)}: return two times, {' and '.join(WAYS)}"
    for way, value, want in zip(WAYS, got, expected, strict=True):
        if sentence := compare.numbers_or_none(value, want):
            return f"{way}: {sentence}"
    return None


EXERCISE = Exercise(
    task="Return how long the kernels take, launched one by one and as a graph.",
    reference=launch_bound,
    cases=cases,
    difference=difference,
)
