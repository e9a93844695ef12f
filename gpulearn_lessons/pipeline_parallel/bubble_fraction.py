"""The part of their time that the ranks of a pipeline are idle."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.pipeline_parallel.clock import bubble_fraction


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


EXERCISE = Exercise(
    task="Return the fraction of time that p ranks idle, with m micro-batches and v chunks each.",
    reference=bubble_fraction,
    cases=cases,
)
