"""A sum whose second operand travels on another stream: given with a race, to be mended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import wait_for_event
from gpulearn_lessons.between_kernels.trial import StreamOutcome

HOST_WAITS = (
    "The host could do something else meanwhile: let the stream wait, by event.wait(stream), and "
    "the host once, at the end."
)
ONE_STREAM = (
    "both arrays are copied in on one stream, the second after the first: leave each its stream, "
    "and let an event say when b has arrived."
)
PAGEABLE = (
    "a, b and out are pinned; a copy of one is not, and the host waits while pageable memory is "
    "copied."
)


def cases() -> list[Case]:
    """Whole numbers and others; one block and several, full and not."""
    rng = np.random.default_rng(7)
    result = []
    for n, dtype in ((1000, np.float32), (128, np.float64), (1, np.int32), (300, np.int64)):
        a, b = (100 * rng.random((2, n)) + 1).astype(dtype)
        result.append(Case(f"{n} values of {np.dtype(dtype)}", (a, b, np.zeros_like(a))))
    return result


def demand(answer: Answer, outcomes: Sequence[StreamOutcome]) -> str | None:
    """The host waits once, for the end, and each array travels on its stream."""
    waits = max(outcome.waits for outcome in outcomes)
    if not waits:
        copies = {stream for kind, stream, *_ in outcomes[0].asked if kind == "copy-in"}
        return ONE_STREAM if len(copies) == 1 else None
    return (
        f"the results are right, but the host waits {'once' if waits == 1 else f'{waits} times'} "
        f"before it has asked for everything, where the budget is no wait at all. "
        f"{PAGEABLE if any(outcome.pageable for outcome in outcomes) else HOST_WAITS}"
    )


EXERCISE = Exercise(
    task="Mend the program, so that its streams wait for each other, and the host only at the end.",
    reference=wait_for_event,
    cases=cases,
    run=trial.run,
    expect=lambda case: case.args[0] + case.args[1],
    difference=trial.difference,
    demand=demand,
    kinships=(trial.alike,),
)
