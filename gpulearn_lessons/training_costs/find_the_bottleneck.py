"""What a run with an input pipeline waits for, told from the times of its parts."""

from __future__ import annotations

import math
from typing import Any

from gpulearn.judge.answers import Answers
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.training_costs.profile import find_the_bottleneck

answers = Answers(find_the_bottleneck)
PARTS = ("the part that takes most of a step", "the seconds a step", "the share of the GPU")


def cases() -> list[Case]:
    """Each part as the slowest, with no worker, one, too few and more than enough."""
    work = {
        "a fetch of 8 ms, no worker": (8e-3, 1e-3, 3e-3, 0),
        "a fetch of 8 ms, one worker": (8e-3, 1e-3, 3e-3, 1),
        "a fetch of 8 ms, two workers": (8e-3, 1e-3, 3e-3, 2),
        "a fetch of 8 ms, four workers": (8e-3, 1e-3, 3e-3, 4),
        "a fetch of 100 ms, twelve workers": (100e-3, 1e-3, 5e-3, 12),
        "a slow link, no worker": (1e-3, 9e-3, 2e-3, 0),
        "a slow link, eight workers": (4e-3, 9e-3, 2e-3, 8),
        "a large network, no worker": (2e-3, 1e-3, 250e-3, 0),
        "a large network, one worker": (2e-3, 1e-3, 250e-3, 1),
        "a fetch of a minute, three workers": (60.0, 0.5, 2.0, 3),
        "data that lies on the GPU already": (0.0, 0.0, 5e-3, 0),
    }
    return [Case(label, args) for label, args in work.items()]


def difference(got: Any, expected: Any) -> str | None:
    """Compare the name and the two numbers, one by one."""
    if got is None:
        return NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        return f"it returns {shown(got)}, expected a name and two numbers"
    for part, found, wanted in zip(PARTS, got, expected, strict=True):
        if isinstance(wanted, str):
            if found != wanted:
                return f"{part} is {shown(found)}, expected {wanted!r}"
        elif not is_number(found):
            return f"{part}: {shown(found)} is no number"
        elif not math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-12):
            return f"{part}: {float(found):.4g}, expected {wanted:.4g}"
    return None


FETCH = "fetch / max(workers, 1)"
PACE = "max(times.values()) if workers else sum(times.values())"

answers.edit(
    {PACE: "sum(times.values())"},
    "the three are added up, also where workers fetch: then they run at the same time, each on a "
    "batch of its own, and the slowest sets the pace.",
)
answers.edit(
    {PACE: "max(times.values())"},
    "the slowest of the three is taken, also where there is no worker: one process then does one "
    "after the other, so add them up.",
)
answers.edit(
    {FETCH: "fetch"},
    "with several workers so many batches are fetched at the same time: divide by their number.",
)
answers.edit(
    {FETCH: "fetch / (workers + 1)"},
    "the fetch is divided by workers + 1: the process that trains does not fetch where there are "
    "workers.",
)
answers.edit(
    {FETCH: "fetch / workers"},
    "without workers it divides by zero: the process that trains then fetches itself.",
)
answers.edit(
    {"compute / step": "step / compute"},
    "the share is upside down: the GPU computes for compute seconds of each step.",
)
answers.edit(
    {'"copy": copy': '"copy": copy / max(workers, 1)'},
    "the copy is divided by the workers as well: there is one link, and batches cross it one at a "
    "time.",
)
answers.edit(
    {'"compute": compute}': '"compute": compute / max(workers, 1)}'},
    "the GPU's time is divided by the workers as well: they fetch, and there is one GPU.",
)
answers.edit(
    {"compute / step": "max(times.values()) / step"},
    "that is the share of the slowest part; asked for is that of the GPU, compute / step.",
)
answers.edit(
    {PACE: "fetch + copy + compute"},
    "the three are added up, also where workers fetch, and with each fetch in full: they run at "
    "the same time, and the slowest sets the pace.",
)
answers.edit(
    {PACE: "max(times['fetch'], copy + compute) if workers else sum(times.values())"},
    "copy and compute are added up: the link copies the next batch while the GPU computes.",
)
answers.edit(
    {"max(times, key=lambda name: times[name])": "min(times, key=lambda name: times[name])"},
    "that is the part that takes least of a step.",
)
answers.edit(
    {PACE: "max(times.values()) if workers > 1 else sum(times.values())"},
    "one worker is taken for none: it fetches the next batch while this one is copied and "
    "computed, so the slowest sets the pace.",
)
answers.edit(
    {"max(times, key=lambda name: times[name])": (
        "max((fetch, 'fetch'), (copy, 'copy'), (compute, 'compute'))[1]"
    )},
    "the slowest part is named as if one process fetched: compare fetch / workers with the others.",
)  # fmt: skip
answers.edit(
    {"max(times, key=lambda name: times[name])": (
        "max(times, key=lambda name: times[name]) if workers else 'fetch'"
    )},
    "without workers it always names the fetch: the part that takes most of a step is the largest "
    "of the three.",
)  # fmt: skip
answers.edit(
    {"compute / step": "compute / (fetch + copy + compute)"},
    "the share is that of the three times added up; with workers they overlap, and a step is "
    "shorter: compute / step.",
)
answers.edit({", compute / step": ", 1 - compute / step"}, "that is the share in which it waits.")


@answers.right
def case_by_case(fetch: float, copy: float, compute: float, workers: int) -> Any:
    if workers == 0:
        seconds = [fetch, copy, compute]
        step = math.fsum(seconds)
    else:
        seconds = [fetch / workers, copy, compute]
        step = sorted(seconds)[-1]
    return ["fetch", "copy", "compute"][seconds.index(max(seconds))], step, compute / step


@answers.right
def by_rates(fetch: float, copy: float, compute: float, workers: int) -> Any:
    if workers:
        rates = {"fetch": workers / (fetch or 1e-30), "copy": 1 / (copy or 1e-30)}
        rates["compute"] = 1 / compute
        name = min(rates, key=rates.__getitem__)
        return [name, 1 / rates[name], compute * rates[name]]
    parts = {"fetch": fetch, "copy": copy, "compute": compute}
    total = fetch + copy + compute
    return [max(parts, key=parts.__getitem__), total, compute / total]


EXERCISE = Exercise(
    task="Name what a run waits for, and tell the seconds of a step and the share of the GPU.",
    reference=find_the_bottleneck,
    cases=cases,
    answers=answers,
    difference=difference,
)
