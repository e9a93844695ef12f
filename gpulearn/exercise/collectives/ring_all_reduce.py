"""An all-reduce round a ring, in chunks: how an answer is tried, and what it may cost."""

from __future__ import annotations

from typing import Any

from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.collectives.ring_answers import answers
from gpulearn.exercise.collectives.trial import (
    KINSHIPS,
    Work,
    expected,
    on_real_ranks,
    results,
    simulated,
)
from gpulearn.parallel.allreduce import ring_all_reduce

__all__ = ["EXERCISE"]


def cases() -> list[Case]:
    """Chunks that come out even and not, fewer numbers than ranks, none, gaps, matrices.

    One rank comes last: an endless loop is noticed within 2 seconds where another rank waits.
    """
    works = {
        "2 ranks and 8 numbers": Work(2, (8,)),
        "3 ranks and 12 numbers": Work(3, (12,)),
        "4 ranks and 4 numbers": Work(4, (4,)),
        "5 ranks and 10 numbers": Work(5, (10,)),
        "3 ranks and 7 numbers": Work(3, (7,)),
        "4 ranks and 6 numbers": Work(4, (6,)),
        "4 ranks and 3 numbers": Work(4, (3,)),
        "3 ranks and no numbers": Work(3, (0,)),
        "3 ranks and 8 integers": Work(3, (8,), "int64"),
        "2 ranks and 5 numbers of 32 bits": Work(2, (5,), "float32"),
        "3 ranks and 6 numbers with gaps between them": Work(3, (6,), layout="gaps"),
        "2 ranks and a matrix of shape (6, 4)": Work(2, (6, 4)),
        "3 ranks and a transposed matrix": Work(3, (6, 4), layout="turned"),
        "1 rank and 5 numbers": Work(1, (5,)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks reduce, one after another."""
    return [
        Work(count, (8 * count,)),
        Work(count, (2 * count + 1,), "float32"),
        Work(count, (count + 1,), "int64", layout="gaps"),
        Work(count, (0,)),
    ]


def difference(got: Any, wanted: Any) -> str | None:
    """The numbers first, then what the messages cost."""
    if sentence := results(got, wanted):
        return sentence
    work: Work = got.work
    targets: dict[int, set[int]] = {}
    for (source, target), _ in got.pairs:
        targets.setdefault(source, set()).add(target)
    for rank, others in targets.items():
        if len(others) > 1:
            listed = ", ".join(map(str, sorted(others)))
            return f"rank {rank} sends to ranks {listed}: in a ring each sends to one neighbour"
    hops = 2 * (work.ranks - 1)
    length = work.shape[0]
    most = hops * -(-length // work.ranks) * (work.size // max(1, length))
    for rank, sent in enumerate(got.bytes):
        if sent > most:
            return (
                f"the sums are right, but rank {rank} sends {sent:,} bytes, and in chunks "
                f"{most:,} are enough"
            )
    for rank, count in enumerate(got.messages):
        if count > hops:
            return (
                f"the sums are right, but rank {rank} sends {count} messages, and "
                f"2(N−1) = {hops} are enough"
            )
    return None


EXERCISE = Exercise(
    name="ring_all_reduce",
    notebook="13_collectives",
    task="Add up the tensors of all ranks, in place on each, by passing chunks round a ring.",
    reference=ring_all_reduce,
    cases=cases,
    answers=answers,
    run=simulated,
    expect=expected,
    difference=difference,
    demand=on_real_ranks((2, 3, 4), real),
    kinships=KINSHIPS,
)
