"""The time of a launch that returns before its work is done."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.judge.virtual_gpu import VirtualGpu, faster_and_faster, slower_and_slower, zigzag
from gpulearn.perf.timing import time_correctly

answers = Answers(time_correctly)

WARM_UP = "    run()\n    times"
FIRST_WAIT, SECOND_WAIT = "synchronize()\n        start", "synchronize()\n        times"
MEDIAN = "sorted(times)[repeats // 2]"


def cases() -> list[Case]:
    """Virtual GPUs whose calls all differ, so that no median hides what was timed wrongly."""
    cases = (
        ("busy with earlier work", VirtualGpu(2.0, zigzag, pending=0.3), 1),
        ("that grows slower", VirtualGpu(10e-3, slower_and_slower, pending=0.3), 5),
        ("that grows faster", VirtualGpu(10e-3, faster_and_faster), 5),
        ("whose calls vary", VirtualGpu(50e-6, zigzag, pending=0.01), 7),
        ("whose calls vary", VirtualGpu(10e-3, zigzag), 3),
    )
    return [
        Case(f"a GPU {label}, repeats = {repeats}", (gpu, repeats)) for label, gpu, repeats in cases
    ]


def run(answer: Callable[..., Any], case: Case) -> Any:
    """Let an answer time a virtual GPU.

    A result that is right for the calls that this answer made, such as after two calls to warm
    up, is returned as that of the reference.
    """
    gpu, repeats = case.args
    seconds = answer(gpu.run, gpu.synchronize, gpu.clock, repeats)
    if gpu.readings == 0:
        raise Refused("it never reads the clock that it is given, clock()")
    calls = len(gpu.taken)
    if calls <= repeats:
        raise Refused(
            f"it calls run() {calls} time{'s' * (calls != 1)}, and repeats is {repeats}: one call "
            f"that does not count must come before {repeats} that do"
        )
    right = any(difference(seconds, median) is None for median in gpu.medians(repeats))
    if not right and difference(seconds, truth(case)) is None:
        raise Refused(
            f"it calls run() {calls} times, where repeats is {repeats}: what it returns is not the "
            f"median of the last calls, those after all that warm up"
        )
    return truth(case) if right else seconds


def truth(case: Case) -> float:
    """The median of the calls that follow a single first one."""
    gpu, repeats = case.args
    fresh = VirtualGpu(gpu.work, gpu.factor)
    for _ in range(repeats + 1):
        fresh.run()
    return fresh.medians(repeats)[0]


def difference(got: Any, expected: Any) -> str | None:
    """The virtual clock has no noise: only rounding is forgiven."""
    return compare.numbers_or_none(got, expected, relative=1e-6)


answers.edit(
    {FIRST_WAIT: "start", SECOND_WAIT: "times"},
    "the second clock() is read while the GPU still works, so only the launch is "
    "timed: call synchronize() between run() and that clock().",
)
answers.edit(
    {WARM_UP: "    times", "repeats)": "repeats + 1)", "sorted(times)": "sorted(times[:-1])"},
    "the slow first call is among the timed ones: call run() once before them.",
)
answers.edit(
    {FIRST_WAIT: "start"},
    "the warm-up, or earlier work, still runs when the first clock() is read: call "
    "synchronize() before that reading.",
)
answers.edit(
    {
        "times = []": "times = []\n    synchronize()\n    start = clock()",
        f"{FIRST_WAIT} = clock()": "pass",
    },
    "the start stays the same: read it anew for each repeat.",
)
answers.edit(
    {MEDIAN: "sum(times) / repeats"},
    "that is the mean, which one slow call pulls up: return the median.",
)


@answers.wrong(
    "all repeats between two readings of the clock make a mean, which one slow call "
    "pulls up: time each call by itself and return the median."
)
def batch(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    run()
    synchronize()
    start = clock()
    for _ in range(repeats):
        run()
    synchronize()
    return (clock() - start) / repeats


answers.edit(
    {" / repeats": ""},
    "that is the time of all repeats together; return that of one call.",
    of=batch,
)
answers.edit(
    {"start = clock()\n        run()": "run()\n        start = clock()"},
    "the launch is left out: the time of a call begins before run(), not after it.",
)
answers.edit(
    {"        run()": "        run()\n        run()"},
    "two calls lie between the two readings of the clock: time each by itself.",
)
answers.edit(
    {WARM_UP: "    times", FIRST_WAIT: "run()\n        start"},
    "a call that is to warm up still runs when the clock is read: wait for it with synchronize(), "
    "and one before all the repeats is enough.",
)
answers.edit(
    {WARM_UP: "    synchronize()\n    run()\n    times", FIRST_WAIT: "start"},
    "the call that warms up is still at work when the first clock() is read: call synchronize() "
    "after it, not before it.",
)
answers.edit(
    {"repeats)": "repeats + 1)", MEDIAN: "statistics.median(times)"},
    "that times one call too many: a median of repeats + 1 calls.",
    statistics=statistics,
)
answers.edit(
    {"repeats)": "repeats + 1)"},
    "that times repeats + 1 calls and sorts them all, so that what stands in the middle of repeats "
    "is not their median: time repeats calls.",
)
answers.edit(
    {"repeats)": "5)", "repeats //": "5 //"},
    "that times 5 calls whatever repeats says: count with repeats.",
)
answers.edit(
    {MEDIAN: f"{MEDIAN} / repeats"},
    "that divides a time of one call by the number of calls: the median is one already.",
)
answers.edit({MEDIAN: f"1e3 * {MEDIAN}"}, "that is in milliseconds; return seconds.")
answers.edit(
    {"clock() - start": "start - clock()"},
    "the time is negative: subtract the start from the end.",
)
answers.edit({MEDIAN: "max(times)"}, "that is the slowest repeat; return the median.")
answers.edit({MEDIAN: "min(times)"}, "that is the fastest repeat; return the median.")
answers.edit({MEDIAN: "times[-1]"}, "that is the last repeat; return the median.")
answers.edit(
    {"sorted(times)": "times"}, "that is the repeat in the middle of the list: sort it first."
)


@answers.right
def with_generator(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    def once() -> Any:
        start = clock()
        run()
        synchronize()
        return clock() - start

    once()
    return statistics.median(once() for _ in range(repeats))


@answers.right
def two_warm_ups(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    for _ in range(2):
        run()
    synchronize()
    stamps = []
    for _ in range(repeats):
        begin = clock()
        run()
        synchronize()
        stamps.append((begin, clock()))
    return float(np.median([end - begin for begin, end in stamps]))


EXERCISE = Exercise(
    task="Mend the benchmark: warm up, synchronise, take the median of the repeats.",
    reference=time_correctly,
    cases=cases,
    run=run,
    expect=truth,
    difference=difference,
    answers=answers,
)
