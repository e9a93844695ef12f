"""What a row of kernels costs when it is launched one by one, and as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.between_kernels.launches import launch_bound

answers = Answers(launch_bound)

WAYS = ("one by one", "as a graph")
BEGIN = "max(done, launched) + seconds"
GRAPH = "launch + sum(kernels) + gap * (len(kernels) - 1)"
LAUNCHED = "        launched += launch\n"


def cases() -> list[Case]:
    """Kernels shorter than a launch, longer, and both in either order; one alone; no costs."""
    works: dict[str, tuple[list[float], float, float]] = {
        "10 kernels of 1 µs, launches of 5 µs": ([1.0] * 10, 5.0, 0.5),
        "10 kernels of 50 µs, launches of 5 µs": ([50.0] * 10, 5.0, 0.5),
        "one kernel of 100 µs, then 6 of 1 µs": ([100.0] + [1.0] * 6, 5.0, 0.5),
        "6 kernels of 1 µs, then one of 100 µs": ([1.0] * 6 + [100.0], 5.0, 0.5),
        "5 kernels of 1 µs, one of 100 µs, 5 of 1 µs": ([1.0] * 5 + [100.0] + [1.0] * 5, 5.0, 0.5),
        "12 µs, then 8 of 1 µs": ([12.0] + [1.0] * 8, 5.0, 0.25),
        "one kernel of 3 µs": ([3.0], 5.0, 0.5),
        "kernels of 7, 2, 2 and 9 µs": ([7.0, 2.0, 2.0, 9.0], 4.0, 0.75),
        "kernels of 2 and 3 µs, no gap": ([2.0, 3.0], 4.0, 0.0),
    }
    return [Case(label, work) for label, work in works.items()]


def difference(got: Any, expected: Any) -> str | None:
    """How two times differ, by the way of launching of the first that does."""
    if got is None:
        return compare.NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(WAYS):
        return f"it returns {shown(got)}: return two times, {' and '.join(WAYS)}"
    for way, one, wanted in zip(WAYS, got, expected, strict=True):
        if said := compare.numbers_or_none(one, wanted):
            return f"{way}: {said}"
    return None


answers.edit(
    {BEGIN: "launched + seconds"},
    "a kernel also waits for the one before it on the stream: where that takes longer than the "
    "launch, it begins when that is done.",
)
answers.edit(
    {BEGIN: "done + seconds", LAUNCHED: "", "launched = done = 0.0": "done = launch"},
    "only the first launch is waited for: where kernels are shorter than launches, the GPU waits "
    "for the host before each of them.",
)
answers.edit(
    {BEGIN: "done + launch + seconds", LAUNCHED: ""},
    "launches and kernels are added up as if the host waited for each kernel: it goes on to "
    "launch while the GPU works.",
)
answers.edit(
    {BEGIN: "done + max(launch, seconds)", LAUNCHED: ""},
    "each kernel is held against one launch alone: while a long kernel runs, the host launches "
    "several ahead, and the last kernel goes on after its launch.",
)
answers.edit(
    {
        BEGIN: "done + max(launch, seconds)", LAUNCHED: "",
        "launched = done = 0.0": "done = launch",
    },
    "after a first launch each kernel is given a launch's time or its own, whichever is longer: "
    "short kernels end a launch too late, and while a long one runs, the host launches several "
    "ahead.",
)  # fmt: skip
answers.edit(
    {BEGIN: "max(done + gap, launched) + seconds"},
    "one by one there is no gap: a kernel begins as soon as it has been launched and the one "
    "before it is done. The gap stands between the kernels of a graph.",
)
answers.edit(
    {LAUNCHED: "", "done = max(": "launched += launch if done else 0\n        done = max("},
    "the first kernel begins at 0: it has to be launched as well.",
)
answers.edit(
    {BEGIN: "max(done + seconds, launched)"},
    "that is a kernel which may have ended when it is launched: it begins then, and takes its "
    "time after that.",
)
answers.edit(
    {"return done, ": "return max(launch * len(kernels), sum(kernels)), "},
    "the larger of all launches and all kernels is too little: the first kernel waits for its "
    "launch, and the last goes on after the last launch.",
)
answers.edit(
    {"return done, ": "return max(launch + sum(kernels), launch * len(kernels) + kernels[-1]), "},
    "the kernel for which others wait may stand in the middle of the row: follow the kernels one "
    "by one.",
)
answers.edit(
    {GRAPH: "launch + sum(kernels)"},
    "a graph has gaps: between two of its kernels there is one.",
)
answers.edit(
    {GRAPH: "launch + sum(kernels) + gap * len(kernels)"},
    "one gap too many: k kernels have k − 1 gaps between them.",
)
answers.edit(
    {GRAPH: "sum(kernels) + gap * (len(kernels) - 1)"},
    "a graph has to be launched too, once.",
)
answers.edit(
    {GRAPH: "launch * len(kernels) + sum(kernels) + gap * (len(kernels) - 1)"},
    "a graph is launched once, not once for each of its kernels.",
)
answers.edit(
    {"return done, " + GRAPH: f"return {GRAPH}, done"},
    "the two times have changed places: first one by one, then as a graph.",
)


@answers.right
def by_numbers(kernels: Sequence[float], launch: float, gap: float) -> list[float]:
    end = 0.0
    for number, seconds in enumerate(kernels, start=1):
        end = seconds + (end if end > number * launch else number * launch)
    return [end, launch - gap + sum(seconds + gap for seconds in kernels)]


@answers.right
def by_the_longest_path(kernels: Sequence[float], launch: float, gap: float) -> Any:
    # the host launches the first i, and from there on the GPU works without a pause
    paths = [(i + 1) * launch + sum(kernels[i:]) for i in range(len(kernels))]
    return max(paths), launch + sum(kernels) + gap * len(kernels[1:])


EXERCISE = Exercise(
    task="Say how long a row of kernels takes, launched one by one and as a graph.",
    reference=launch_bound,
    cases=cases,
    difference=difference,
    answers=answers,
)
