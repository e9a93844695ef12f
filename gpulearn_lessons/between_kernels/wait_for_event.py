"""A sum whose second operand travels on another stream: given with a race, to be fixed."""

from collections.abc import Sequence

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import wait_for_event
from gpulearn_lessons.between_kernels.trial import StreamOutcome

HOST_WAITS = (
    "Meanwhile the host could do something else: let the stream wait, with event.wait(stream), and "
    "let the host wait once, at the end."
)
ONE_STREAM = (
    "both arrays are copied in on one stream, one after the other: give each array a stream, and "
    "let an event say when b has arrived."
)
PAGEABLE = (
    "a, b, and out are pinned, but one copy uses pageable memory, and the host waits for such a "
    "copy. Copy from a and b and into out themselves."
)
DEFAULT = (
    "some work names no stream and is on the default stream, which waits for all other streams. "
    "Name a stream in every copy and launch, and let an event order the two streams."
)
WAITS_AGAIN = (
    "the host waits {times} times at the end: one wait is enough, for the stream that copies the "
    "result."
)


def cases() -> list[Case]:
    """Integers and floats; one block and several, full and partly filled."""
    rng = np.random.default_rng(7)
    result = []
    for n, dtype in ((1000, np.float32), (128, np.float64), (1, np.int32), (300, np.int64)):
        a, b = (100 * rng.random((2, n)) + 1).astype(dtype)
        result.append(Case(f"{n} values of {np.dtype(dtype)}", (a, b, np.zeros_like(a))))
    return result


def demand(answer: Answer, outcomes: Sequence[StreamOutcome]) -> str | None:
    """The host waits once, at the end, and each array travels on a stream with a name."""
    waits = max(outcome.waits for outcome in outcomes)
    pageable = any(outcome.pageable for outcome in outcomes)
    if waits:
        times = "once" if waits == 1 else f"{waits} times"
        return (
            f"the results are right, but the host waits {times} before it has issued everything, "
            f"and the budget is no wait before the end. "
            f"{PAGEABLE[:1].upper() + PAGEABLE[1:] if pageable else HOST_WAITS}"
        )
    if pageable:
        return PAGEABLE
    copies = {stream for kind, stream, *_ in outcomes[0].asked if kind == "copy-in"}
    if len(copies) == 1:
        return ONE_STREAM
    if any(outcome.default for outcome in outcomes):
        return DEFAULT
    waits = max(sum(o[3] for o in outcome.asked) for outcome in outcomes)
    return WAITS_AGAIN.format(times=waits) if waits > 1 else None


EXERCISE = Exercise(
    task="Fix the program: one stream waits for the other, and the host waits once, at the end.",
    reference=wait_for_event,
    cases=cases,
    run=trial.run,
    expect=lambda case: case.args[0] + case.args[1],
    difference=trial.difference,
    demand=demand,
    kinships=(trial.alike,),
)
