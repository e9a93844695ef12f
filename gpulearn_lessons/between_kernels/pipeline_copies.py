"""Copies and kernels in chunks on several streams, under a budget for the whole time."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import blocks_for
from gpulearn.kernels.reduction import WARP
from gpulearn.perf.timing import format_seconds
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import pipeline_copies
from gpulearn_lessons.between_kernels.populations import AFTER_SEASONS, after_seasons
from gpulearn_lessons.between_kernels.trial import GPU, SeenProgram

answers = Answers(pipeline_copies)

SLACK = 1.25  # times the solution's makespan: a few streams by turns, or another order, are within
COPY_IN = "        there[part].copy_to_device(values[part], stream=stream)\n"
KERNEL = "        after_seasons[blocks_for(there[part].size, BLOCK), BLOCK, stream](there[part])\n"
COPY_OUT = "        there[part].copy_to_host(out[part], stream=stream)\n"
MAKE = "        stream = cuda.stream()\n"
LOOP = "    for k in range(chunks):\n"
END = "    cuda.synchronize()"
PART = "slice(k * values.size // chunks, (k + 1) * values.size // chunks)"
ONE_STREAM = (
    "All chunks are on one stream, which does one thing after the other: give each chunk a stream "
    "of its own."
)
HOST_WAITS = "The host waits in every turn of the loop: let it wait once, behind the loop."
DEFAULT = (
    "What names no stream is on the default stream, which waits for all others, and they for it: "
    "name the chunk's stream in every copy and every launch."
)
PAGEABLE = (
    "A slice of a pinned array is pinned; a copy of it is not, and the host waits while pageable "
    "memory is copied."
)
THREADS = "Launch about as many threads as the chunk has numbers, in blocks of whole warps."
PARTS = "Cut the values into `chunks` parts, no more and no fewer, with one launch for each."


def cases() -> list[Case]:
    """One chunk, chunks that do not divide the values, a value each; a large one with a budget."""
    works = ((1000, 1), (1000, 3), (5, 5), (300, 7), (10, 6), (2**18, 4))
    rng = np.random.default_rng(7)
    made = []
    for n, chunks in works:
        label = f"{n:,} values in {chunks} chunk{'s' * (chunks > 1)}"
        made.append(Case(label, (rng.random(n), np.zeros(n), chunks)))
    return made


run = functools.partial(trial.run, counters=True)


@functools.cache
def best() -> float:
    """The solution's makespan in the largest case."""
    line = run(pipeline_copies, cases()[-1]).timeline
    assert line is not None
    return line.makespan


def demand(answer: Answer, outcomes: Sequence[SeenProgram]) -> str | None:
    """Each case has all its chunks; the largest is done about as soon as by the solution."""
    for case, seen in zip(cases(), outcomes, strict=True):
        if seen.kernels != case.args[2]:
            return (
                f"the results are right, but for {seen.label} the number of launches is "
                f"{seen.kernels}, the budget is {case.args[2]}. {PARTS}"
            )
    last = outcomes[-1]
    assert last.timeline is not None
    enough = 2 * last.out.size // WARP
    if last.warps > enough:
        return (
            f"the results are right, but {last.label} are given {last.warps:,} warps of threads, "
            f"the budget is {enough:,}. {THREADS}"
        )
    took, allowed = last.timeline.makespan, SLACK * best()
    if took <= allowed:
        return None
    said = (
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
    return " ".join([said, *(text for text, true in advice.items() if true)][:2])


answers.edit({MAKE: "", LOOP: f"    stream = cuda.stream()\n{LOOP}"}, ONE_STREAM)
answers.edit({COPY_OUT: f"{COPY_OUT}        stream.synchronize()\n", END: ""}, HOST_WAITS)
answers.edit({COPY_OUT: f"{COPY_OUT}        cuda.synchronize()\n", END: ""}, HOST_WAITS)
answers.edit({"BLOCK, stream]": "BLOCK]"}, DEFAULT)
answers.edit({"(values[part], stream=stream)": "(values[part])"}, DEFAULT)
answers.edit({"(out[part], stream=stream)": "(out[part])", END: ""}, DEFAULT)
answers.edit({"(values[part], stream": "(values[part].copy(), stream"}, PAGEABLE)
answers.edit(
    {END: ""},
    "the function returns while results are still under way: let the host wait for all streams at "
    "the end.",
)
answers.edit(
    {END: "    stream.synchronize()"},
    "the host waits for the last chunk's stream alone: the others may not be done.",
)
answers.edit(
    {"(there[part])\n": "(there)\n", "there[part].size, BLOCK": "there.size, BLOCK"},
    "each launch works on the whole array, also on chunks that other streams copy: give the kernel "
    "the chunk alone.",
)
answers.edit(
    {"(there[part])\n": "(there)\n"},
    "each launch begins at the first number of the whole array, whichever chunk its stream has "
    "copied: give the kernel the chunk alone.",
)
answers.edit(
    {"there[part].copy_to_device(values[part]": "there.copy_to_device(values"},
    "each stream copies the whole array in, over what others have computed: copy the chunk alone.",
)
answers.edit(
    {"there[part].copy_to_host(out[part]": "there.copy_to_host(out"},
    "each stream copies the whole array out, also what others have not computed yet: copy the "
    "chunk alone.",
)
answers.edit(
    {PART: "slice(k * (values.size // chunks), (k + 1) * (values.size // chunks))"},
    "where chunks does not divide the number of values, the last ones are left out: let part k end "
    "at (k + 1) * values.size // chunks.",
)
answers.edit(
    {KERNEL: KERNEL.replace("BLOCK, stream", "BLOCK, other"), MAKE: MAKE + (
        "        other = cuda.stream()\n"
    )},
    "the kernel is on another stream than its copies, and nothing orders them: one stream for each "
    "chunk keeps them in order.",
)  # fmt: skip
answers.edit(
    {COPY_IN: "", KERNEL: KERNEL + COPY_IN},
    "the kernel comes before the copy that brings its chunk: on a stream things are done in the "
    "order in which they are asked for.",
)
answers.edit(
    {COPY_OUT: "", KERNEL: COPY_OUT + KERNEL},
    "the chunk is copied out before the kernel: what arrives is what was copied in.",
)

answers.edit({LOOP: "    chunks = min(4, values.size)\n" + LOOP}, PARTS)
answers.edit({LOOP: "    chunks = 1\n" + LOOP}, PARTS)
answers.edit(
    {
        PART: "slice(k * -(-values.size // chunks), (k + 1) * -(-values.size // chunks))",
        MAKE: "        if not values[part].size:\n            continue\n" + MAKE,
    },
    PARTS,
)
answers.edit(
    {PART: "slice(k * -(-values.size // chunks), (k + 1) * -(-values.size // chunks))"},
    "the size of a part is rounded up, so that nothing is left for the last ones: let part k end "
    "at (k + 1) * values.size // chunks.",
)
answers.edit({"blocks_for(there[part].size, BLOCK), BLOCK": "there[part].size, 1"}, THREADS)
answers.edit({"blocks_for(there[part].size": "blocks_for(there.size"}, THREADS)
answers.edit({END: f"{END}\n    values[:] = out"}, "it writes to values, which is an input.")

answers.variant({MAKE: "        stream = cuda.stream()\n        assert part.stop > part.start\n"})


@answers.right
def three_streams_by_turns(values: Any, out: Any, chunks: int) -> None:
    streams = [cuda.stream() for _ in range(3)]
    bounds = [round(k * len(values) / chunks) for k in range(chunks + 1)]
    there = cuda.device_array(values.shape, values.dtype)
    for k in range(chunks):
        stream, part = streams[k % 3], there[bounds[k] : bounds[k + 1]]
        part.copy_to_device(values[bounds[k] : bounds[k + 1]], stream=stream)
        after_seasons[blocks_for(part.size, 256), 256, stream](part)
        part.copy_to_host(out[bounds[k] : bounds[k + 1]], stream=stream)
    for stream in streams:
        stream.synchronize()


@answers.right
def all_copies_first(values: Any, out: Any, chunks: int) -> None:
    ends = [(k + 1) * values.size // chunks for k in range(chunks)]
    parts = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
    streams = [cuda.stream() for _ in parts]
    pairs = list(zip(parts, streams, strict=True))
    there = [cuda.to_device(values[part], stream=stream) for part, stream in pairs]
    for array, stream in zip(there, streams, strict=True):
        after_seasons[blocks_for(array.size, 128), 128, stream](array)
    for array, (part, stream) in zip(there, pairs, strict=True):
        array.copy_to_host(out[part], stream=stream)
    cuda.synchronize()


EXERCISE = Exercise(
    task="Let copies and kernels of several chunks overlap, each chunk on a stream of its own.",
    reference=pipeline_copies,
    cases=cases,
    answers=answers,
    run=run,
    expect=lambda case: AFTER_SEASONS.reference(case.args[0])[0],
    difference=trial.difference,
    demand=demand,
    kinships=(trial.alike,),
)
