"""Ring all-reduce: right in place on every rank, in chunks and 2(N−1) messages of each."""

from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.allreduce import ring_all_reduce
from gpulearn_lessons.collectives import trial
from gpulearn_lessons.collectives.trial import Work


def cases() -> list[Case]:
    """Chunks that come out even and not, fewer numbers than ranks, none, gaps, matrices.

    One rank comes last: an endless loop is noticed within 2 seconds where another rank waits.
    """
    digits = {"kind": "digits"}  # the diagnosis tells from them whose numbers are missing
    works = {
        "2 ranks and 8 numbers": Work(2, (8,), **digits),
        "3 ranks and 6 numbers": Work(3, (6,), **digits),
        "4 ranks and 4 numbers": Work(4, (4,), **digits),
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
        "3 ranks and 5 large numbers": Work(3, (5,), kind="wide"),
        "3 ranks and 5 large numbers of 32 bits": Work(3, (5,), "float32", kind="wide"),
        "3 ranks and 5 large integers": Work(3, (5,), "int64", kind="wide"),
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


def difference(got: Any, want: Any) -> str | None:
    """The numbers first, then what the messages cost, then the clock."""
    if sentence := trial.results(got, want):
        return sentence + _lap(got, want)
    work: Work = got.work
    if sentence := trial.beyond_a_neighbor(got):
        return sentence
    hops = 2 * (work.ranks - 1)
    length = work.shape[0]
    chunk = -(-length // work.ranks) * (work.size // max(1, length))
    for sender, sent in enumerate(got.bytes):
        if sent > hops * chunk:
            return (
                f"the sums are right, but rank {sender} sends {sent:,} bytes, and in chunks "
                f"{hops * chunk:,} are enough"
            )
    for sender, count in enumerate(got.messages):
        if count > hops:
            return (
                f"the sums are right, but rank {sender} sends {count} messages, and "
                f"2(N−1) = {hops} are enough"
            )
    return trial.slow(got, hops, chunk)


def _lap(got: Any, want: Any) -> str:
    """Which lap went wrong, where every rank came to its end with numbers."""
    if got.failure or got.called or not got.work.size or got.work.ranks < 3:
        return ""
    chunk = -(-got.work.size // got.work.ranks)
    if any(sent > count * chunk for sent, count in zip(got.bytes, got.messages, strict=True)):
        return ""  # these are no chunks
    right = [value == total for value, total in zip(got.after, want.after, strict=True)]
    if not np.any(right):
        return "; no rank has a complete chunk, so look at the first lap"
    if np.all(np.any(right, axis=0)) and not np.all(right):
        return "; each chunk is complete on some rank, so look at the second lap"
    return ""


EXERCISE = Exercise(
    task="Add up the tensors of all ranks, in place on each, by passing chunks around a ring.",
    reference=ring_all_reduce,
    cases=cases,
    run=trial.simulated,
    by_hand=False,
    expect=trial.expected,
    difference=difference,
    demand=trial.on_real_ranks((2, 3, 4), real),
    kinships=trial.KINSHIPS,
)
