"""The part of their time that the ranks of a pipeline are idle."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.model_parallel.pipeline_parallel.clock import bubble_fraction

answers = Answers(bubble_fraction)

SHARE = "(ranks - 1) / (chunks * micro_batches + ranks - 1)"


def cases() -> list[Case]:
    """One rank to many, one micro-batch to many, with and without chunks."""
    plain = [(4, 4), (4, 1), (2, 8), (1, 5), (8, 3), (16, 1024)]
    chunked = [(4, 8, 2), (2, 2, 3), (8, 64, 4), (1, 2, 2)]
    return [
        *(Case(f"{p:,} rank{'s' * (p > 1)} and {m:,} micro-batches", (p, m)) for p, m in plain),
        *(
            Case(f"{p} rank{'s' * (p > 1)}, {m} micro-batches and {v} chunks", (p, m, v))
            for p, m, v in chunked
        ),
    ]


answers.edit(
    {" + ranks - 1": ""},
    "that is the idle time over the work, which can be more than 1: divide it by the whole time, "
    "work and idle time together.",
)
answers.edit(
    {"chunks * ": ""},
    "the chunks change nothing in it: with v of them a rank waits for p − 1 passes of a chunk, "
    "each a v-th as long, so that the idle time is divided by v.",
)
answers.edit(
    {"chunks * micro_batches + ranks - 1": "chunks * (micro_batches + ranks - 1)"},
    "that is the bubble without chunks, divided by v: the idle time becomes v times shorter, and "
    "the whole time is shorter too, by as many seconds.",
)
answers.edit(
    {SHARE: "(ranks - 1) * chunks / (micro_batches + (ranks - 1) * chunks)"},
    "chunks make it longer here: each pass through a chunk is shorter, and so is the wait for it.",
)
answers.edit(
    {SHARE: "(ranks * chunks - 1) / (micro_batches + ranks * chunks - 1)"},
    "that is a pipeline of p·v ranks: here there are p, and each has v of the chunks.",
)
answers.edit(
    {SHARE: "(ranks * chunks - 1) / (chunks * micro_batches + ranks * chunks - 1)"},
    "a rank waits for p − 1 passes of a chunk, not for p·v − 1: while a micro-batch goes round "
    "again, the rank has others to work on.",
)
answers.edit(
    {SHARE: f"round({SHARE}, 2)"},
    "it is rounded: return the fraction as it is.",
)
answers.edit(
    {SHARE: "(ranks - 1) / ranks"},
    "that is the naive pipeline, in which one rank works at a time: more micro-batches fill it.",
)
answers.edit(
    {"(ranks - 1) /": "ranks /"},
    "a rank waits for the p − 1 others, not for p: with one rank nobody waits.",
)
answers.edit(
    {SHARE: "ranks / (chunks * micro_batches + ranks)"},
    "a rank waits for the p − 1 others, not for p, in the idle time and in the whole: with one "
    "rank nobody waits.",
)
answers.edit(
    {"+ ranks - 1": "+ ranks"},
    "the whole time is one pass too long: it takes m passes, and p − 1 until the last rank has "
    "begun.",
)
answers.edit(
    {SHARE: "chunks * micro_batches / (chunks * micro_batches + ranks - 1)"},
    "that is the part of the time in which a rank works: the bubble is the rest.",
)
answers.edit(
    {SHARE: "(chunks * micro_batches + ranks - 1) / (ranks - 1) if ranks > 1 else 0"},
    "it is upside down: idle time over the whole time, which is below 1.",
)
answers.edit(
    {SHARE: "(micro_batches - 1) / (chunks * ranks + micro_batches - 1)"},
    "ranks and micro-batches are swapped: more micro-batches make the bubble smaller.",
)
answers.edit(
    {SHARE: "2 * (ranks - 1) / (chunks * micro_batches + 2 * (ranks - 1))"},
    "the idle time is counted twice, for forward and backward, and the work once: p − 1 forward "
    "and p − 1 backward passes are lost, and m of each are work.",
)
answers.edit(
    {SHARE: "ranks - 1"}, "that is how many micro-batches' time is lost: divide by the whole."
)
answers.edit(
    {SHARE: "(ranks - 1) // chunks / (micro_batches + (ranks - 1) // chunks)"},
    "(p − 1)/v is rounded down to a whole number: divide with /.",
)
answers.edit({" / (": " // ("}, "// rounds down to a whole number: divide with /.")
answers.edit(
    {"(chunks * micro_batches + ranks - 1)": "chunks * micro_batches + ranks - 1"},
    "brackets are missing: without them only v · m divides.",
)
answers.edit({SHARE: f"100 * {SHARE}"}, "that is in percent: 1 would be all of the time.")

answers.variant({SHARE: "1 - micro_batches / (micro_batches + (ranks - 1) / chunks)"})
answers.variant(
    {SHARE: "(ranks - 1) / chunks / (micro_batches + (ranks - 1) / chunks)"},
)


EXERCISE = Exercise(
    task="Say which part of their time p ranks are idle with m micro-batches and v chunks each.",
    reference=bubble_fraction,
    cases=cases,
    answers=answers,
)
