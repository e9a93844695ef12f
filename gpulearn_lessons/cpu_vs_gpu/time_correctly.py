"""The time of a launch that returns before its work is done."""

from collections.abc import Callable
from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.virtual_gpu import VirtualGpu, faster_and_faster, slower_and_slower, zigzag
from gpulearn.perf.timing import time_correctly


def cases() -> list[Case]:
    """Virtual GPUs whose calls all differ, so that no median hides what was timed wrongly."""
    cases = (
        ("busy with earlier work", VirtualGpu(2.0, zigzag, pending=0.3), 1),
        ("that gets slower", VirtualGpu(10e-3, slower_and_slower, pending=0.3), 5),
        ("that gets faster", VirtualGpu(10e-3, faster_and_faster), 5),
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
        raise Violation("it never reads the clock that it is given, clock()")
    calls = len(gpu.taken)
    if calls <= repeats:
        raise Violation(
            f"it calls run() {calls} time{'s' * (calls != 1)}, and repeats is {repeats}: one call "
            f"that does not count must come before {repeats} that do"
        )
    right = any(difference(seconds, median) is None for median in gpu.medians(repeats))
    if not right and difference(seconds, truth(case)) is None:
        raise Violation(
            f"it calls run() {calls} times, where repeats is {repeats}: what it returns is not the "
            f"median of the calls after the warm-up"
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


EXERCISE = Exercise(
    task="Fix the benchmark: warm up, synchronize, take the median of the repeats.",
    reference=time_correctly,
    cases=cases,
    run=run,
    expect=truth,
    difference=difference,
)
