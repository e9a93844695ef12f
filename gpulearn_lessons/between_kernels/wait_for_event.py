"""A sum whose second operand travels on another stream: given with a race, to be mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import blocks_for
from gpulearn.kernels.vectors import vector_add
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import wait_for_event
from gpulearn_lessons.between_kernels.trial import SeenProgram

answers = Answers(wait_for_event)

COPY_B = "    on_gpu[1].copy_to_device(b, stream=second)\n"
EVENT = "    copied = cuda.event()\n    copied.record(second)\n    copied.wait(first)\n"
RECORD = "    copied.record(second)\n"
WAIT = "    copied.wait(first)\n"
KERNEL = "    vector_add[blocks_for(out.size, BLOCK), BLOCK, first](*on_gpu)\n"
END = "    first.synchronize()"
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
TOO_EARLY = (
    "the event is recorded before the copy of b is asked for: it says that what the stream was "
    "asked for before is done, and there is nothing yet."
)

answers.give({EVENT: "", END: "    second.synchronize()"})


def cases() -> list[Case]:
    """Whole numbers and others; one block and several, full and not."""
    rng = np.random.default_rng(7)
    made = []
    for n, dtype in ((1000, np.float32), (128, np.float64), (1, np.int32), (300, np.int64)):
        a, b = (100 * rng.random((2, n)) + 1).astype(dtype)
        made.append(Case(f"{n} values of {np.dtype(dtype)}", (a, b, np.zeros_like(a))))
    return made


def demand(answer: Answer, outcomes: Sequence[SeenProgram]) -> str | None:
    """The host waits once, for the end, and each array travels on its stream."""
    waits = max(one.waits for one in outcomes)
    if not waits:
        copies = {stream for kind, stream, *_ in outcomes[0].asked if kind == "copy-in"}
        return ONE_STREAM if len(copies) == 1 else None
    return (
        f"the results are right, but the host waits {'once' if waits == 1 else f'{waits} times'} "
        f"before it has asked for everything, where the budget is no wait at all. "
        f"{PAGEABLE if any(one.pageable for one in outcomes) else HOST_WAITS}"
    )


answers.edit(
    {EVENT: ""},
    "the kernel on the first stream reads b while the second stream may still copy it: record an "
    "event on the second stream behind the copy, and let the first wait for it.",
)
answers.edit(
    {EVENT: "", END: "    second.synchronize()"},
    "the kernel does not wait for the copy of b, and the host waits for the wrong stream: the "
    "result travels on the first.",
)
answers.edit(
    {WAIT: ""},
    "an event that is recorded orders nothing by itself: the first stream has to wait for it.",
)
answers.edit({COPY_B: "", WAIT: COPY_B + WAIT}, TOO_EARLY)
answers.edit(
    {RECORD: "    copied.record(first)\n"},
    "the event is recorded on the first stream, which waits for its own past: it is the copy on "
    "the second that has to be done.",
)
answers.edit(
    {WAIT: "    copied.wait(second)\n"},
    "the second stream waits for its own copy: it is the first, with the kernel, that has to wait.",
)
answers.edit(
    {RECORD: "    copied.record(first)\n", WAIT: "    copied.wait(second)\n"},
    "the two streams have changed places: the second, which copies b, records, and the first, with "
    "the kernel, waits.",
)
answers.edit(
    {WAIT: "", KERNEL: KERNEL + WAIT},
    "the wait comes behind the kernel: it holds back what the stream is asked for after it.",
)
answers.edit({RECORD: "", WAIT: "    copied.wait(first)\n    copied.record(second)\n"}, (
    "the first stream waits for an event that is not recorded yet, which waits for nothing: record "
    "it first."
))  # fmt: skip
answers.edit(
    {END: ""},
    "the function returns while the result is still under way: let the host wait for the first "
    "stream at the end.",
)
answers.edit(
    {END: "    second.synchronize()"},
    "the host waits for the copy of b, and the result travels on the first stream: wait for that.",
)
answers.edit(
    {"on_gpu[2].copy_to_host(out, stream=first)": "on_gpu[2].copy_to_host(out, stream=second)",
     END: "    second.synchronize()"},
    "the result is copied out on the second stream, which does not wait for the kernel on the "
    "first.",
)  # fmt: skip
answers.edit({WAIT: "    copied.synchronize()\n"}, HOST_WAITS)
answers.edit({EVENT: "    second.synchronize()\n"}, HOST_WAITS)
answers.edit({EVENT: "    cuda.synchronize()\n"}, HOST_WAITS)
answers.edit({WAIT: "    while not copied.query():\n        pass\n"}, HOST_WAITS)
answers.edit({COPY_B: COPY_B.replace("(b,", "(b.copy(),")}, PAGEABLE)
answers.edit({END: f"{END}\n    a += b"}, "it writes to a, which is an input.")
answers.edit({COPY_B: COPY_B.replace("second", "first"), EVENT: ""}, ONE_STREAM)

answers.variant({END: "    cuda.synchronize()"})

# the default stream waits for both copies, and the copy out for it
answers.variant({EVENT: "", KERNEL: KERNEL.replace(", first]", "]")})


@answers.right
def second_waits(a: Any, b: Any, out: Any) -> None:
    one, two = cuda.stream(), cuda.stream()
    there = cuda.to_device(a, stream=one)
    done = cuda.event(timing=False)
    done.record(stream=one)
    other = cuda.to_device(b, stream=two)
    result = cuda.device_array(out.shape, out.dtype)
    done.wait(stream=two)
    vector_add[blocks_for(out.size, 64), 64, two](there, other, result)
    result.copy_to_host(out, stream=two)
    two.synchronize()


EXERCISE = Exercise(
    task="Mend the program, so that its streams wait for each other, and the host only at the end.",
    reference=wait_for_event,
    cases=cases,
    answers=answers,
    run=trial.run,
    expect=lambda case: case.args[0] + case.args[1],
    difference=trial.difference,
    demand=demand,
    kinships=(trial.alike,),
)
