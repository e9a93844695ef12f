"""All-reduce via one root: right in place on every rank, in 2(N−1) messages."""

from typing import Any

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.allreduce import all_reduce_via_root
from gpulearn_lessons.collectives import trial
from gpulearn_lessons.collectives.trial import Work


def cases() -> list[Case]:
    """One rank to five; numbers of several kinds, none, gaps, matrices.

    One rank comes last: an endless loop is noticed within 2 seconds where another rank waits.
    """
    works = {
        "2 ranks and 4 numbers": Work(2, (4,), kind="digits"),
        "3 ranks and 2 numbers": Work(3, (2,), kind="digits"),
        "3 ranks and 1 number": Work(3, (1,)),
        "4 ranks and 5 numbers": Work(4, (5,)),
        "5 ranks and 2 numbers": Work(5, (2,)),
        "3 ranks and no numbers": Work(3, (0,)),
        "4 ranks and 3 integers": Work(4, (3,), "int64"),
        "3 ranks and 6 numbers of 32 bits": Work(3, (6,), "float32"),
        "3 ranks and 4 numbers with gaps between them": Work(3, (4,), layout="gaps"),
        "2 ranks and a matrix of shape (2, 3)": Work(2, (2, 3)),
        "4 ranks and a transposed matrix": Work(4, (3, 2), layout="turned"),
        "3 ranks and 5 large numbers": Work(3, (5,), kind="wide"),
        "3 ranks and 5 large numbers of 32 bits": Work(3, (5,), "float32", kind="wide"),
        "3 ranks and 5 large integers": Work(3, (5,), "int64", kind="wide"),
        "1 rank and 3 numbers": Work(1, (3,)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks reduce, one after another."""
    return [
        Work(count, (1000,)),
        Work(count, (2, 3), "float32", layout="turned"),
        Work(count, (3,), "int64", layout="gaps"),
        Work(count, (0,)),
    ]


def difference(got: Any, want: Any) -> str | None:
    """The numbers first, then who speaks to whom and what it costs."""
    if sentence := trial.results(got, want):
        return sentence
    work: Work = got.work
    both_ways = 2 * (work.ranks - 1)
    pairs = dict(got.pairs)
    if not all(0 in pair for pair in pairs):
        return (
            "the sums are right, but some messages neither come from rank 0 nor go to it: all "
            "should go via rank 0, to it and back"
        )
    if sum(pairs.values()) > both_ways:
        return (
            f"the sums are right, but {sum(pairs.values())} messages are sent, and "
            f"2(N−1) = {both_ways} are enough"
        )
    if sum(got.bytes) > both_ways * work.size:
        return (
            f"the sums are right, but {sum(got.bytes):,} bytes are sent, and 2(N−1) · S = "
            f"{both_ways * work.size:,} are enough"
        )
    return None


EXERCISE = Exercise(
    task="Add up the tensors of all ranks, in place on each: rank 0 receives, adds, and sends.",
    reference=all_reduce_via_root,
    cases=cases,
    run=trial.simulated,
    by_hand=False,
    expect=trial.expected,
    difference=difference,
    demand=trial.on_real_ranks((2, 3, 4), real),
    kinships=trial.KINSHIPS,
)
