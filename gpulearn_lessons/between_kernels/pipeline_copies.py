"""Copies and kernels in chunks on several streams, under a budget for the whole time."""

import functools
from collections.abc import Sequence

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.reduction import WARP
from gpulearn.perf.timing import format_seconds
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import AFTER_SEASONS, pipeline_copies
from gpulearn_lessons.between_kernels.trial import GPU, StreamOutcome

SLACK = 1.25  # times the solution's makespan: enough for a few streams in turn, or another order
ONE_STREAM = (
    "All chunks are on one stream, which runs one operation after the other: give each chunk a "
    "stream of its own."
)
HOST_WAITS = "The host waits in every iteration: let it wait once, after the loop."
DEFAULT = (
    "Work that names no stream is on the default stream, which waits for all others, and they for "
    "it: name the chunk's stream in every copy and every launch."
)
PAGEABLE = (
    "A slice of a pinned array is pinned; a copy of it is not, and the host waits while pageable "
    "memory is copied."
)
THREADS = "Launch about as many threads as the chunk has numbers, in blocks of whole warps."
PARTS = "Cut the values into exactly `chunks` chunks, with one launch for each."


def cases() -> list[Case]:
    """One chunk, chunks that do not divide the values, a value each; a large one with a budget."""
    works = ((1000, 1), (1000, 3), (5, 5), (300, 7), (10, 6), (2**18, 4))
    rng = np.random.default_rng(7)
    result = []
    for n, chunks in works:
        label = f"{n:,} values in {chunks} chunk{'s' * (chunks > 1)}"
        result.append(Case(label, (rng.random(n), np.zeros(n), chunks)))
    return result


@functools.cache
def best() -> float:
    return trial.run(pipeline_copies, cases()[-1]).timeline.makespan


def demand(answer: Answer, outcomes: Sequence[StreamOutcome]) -> str | None:
    """Each case has all its chunks; the largest is done about as soon as by the solution."""
    for case, outcome in zip(cases(), outcomes, strict=True):
        if outcome.kernels != case.args[2]:
            return (
                f"the results are right, but for {outcome.label} the number of launches is "
                f"{outcome.kernels}, the budget is {case.args[2]}. {PARTS}"
            )
    last = outcomes[-1]
    enough = 2 * last.out.size // WARP
    if last.warps > enough:
        return (
            f"the results are right, but {last.label} launch {last.warps:,} warps, "
            f"the budget is {enough:,}. {THREADS}"
        )
    took, allowed = last.timeline.makespan, SLACK * best()
    if took <= allowed:
        return None
    sentence = (
        f"the results are right, but {last.label} take {format_seconds(took)} on a {GPU} by the "
        f"model, the budget is {format_seconds(allowed)}."
    )
    streams = {stream for kind, stream, *_ in last.asked if kind in ("copy-in", "kernel")}
    advice = {
        DEFAULT: last.default,
        PAGEABLE: last.pageable,
        HOST_WAITS: last.waits > 0,
        ONE_STREAM: len(streams) == 1,
    }
    return " ".join([sentence, *(text for text, true in advice.items() if true)][:2])


EXERCISE = Exercise(
    task="Let copies and kernels of several chunks overlap, each chunk on a stream of its own.",
    reference=pipeline_copies,
    cases=cases,
    run=trial.run,
    expect=lambda case: AFTER_SEASONS.reference(case.args[0])[0],
    difference=trial.difference,
    demand=demand,
    kinships=(trial.alike,),
)
