"""A ring that gathers rows: given with a mistake in what it sends and one that makes it slow."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.collectives import gather_rows
from gpulearn_lessons.collectives import trial
from gpulearn_lessons.collectives.trial import Work

UNSET = -9  # less its number: what stands in the rows that a rank does not have yet


@dataclass(frozen=True)
class Rows(Work):
    """A table with a row for each rank; `shape` is that of the table, "zeros" also a `kind`."""

    def numbers(self, rank: int) -> np.ndarray:
        """The table with this rank's row alone."""
        table = np.full(self.shape, UNSET - rank, dtype=self.dtype)
        table[rank] = 0 if self.kind == "zeros" else super().numbers(rank)[rank]
        return table

    @property
    def ends(self) -> list[np.ndarray]:
        """The table with all rows."""
        return [np.stack([self.numbers(r)[r] for r in range(self.ranks)])] * self.ranks


def cases() -> list[Case]:
    """One rank to six; rows of several shapes and dtypes, also empty ones."""
    works = {
        "2 ranks and rows of 2 numbers": Rows(2, (2, 2)),
        "3 ranks and rows of 1 number": Rows(3, (3, 1)),
        "4 ranks and rows of 3 numbers": Rows(4, (4, 3)),
        "5 ranks and rows of 2 integers": Rows(5, (5, 2), "int64"),
        "6 ranks and rows of 2 numbers": Rows(6, (6, 2)),
        "3 ranks and single numbers of 32 bits": Rows(3, (3,), "float32"),
        "4 ranks and rows of shape (2, 3)": Rows(4, (4, 2, 3)),
        "3 ranks and rows of no numbers": Rows(3, (3, 0)),
        "3 ranks and rows of 2 large numbers": Rows(3, (3, 2), kind="wide"),
        "3 ranks and rows of zeros": Rows(3, (3, 2), kind="zeros"),
        "1 rank and a row of 3 numbers": Rows(1, (1, 3)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks gather, one after another."""
    return [Rows(count, (count, 500)), Rows(count, (count, 2, 3), "int64")]


def difference(got: Any, want: Any) -> str | None:
    """The rows first, then the way round, then bytes and messages, then the clock."""
    if sentence := trial.results(got, want) or trial.beyond_a_neighbor(got):
        return sentence
    work: Work = got.work
    rounds, row = work.ranks - 1, work.size // work.ranks
    for sender, sent in enumerate(got.bytes):
        if sent > rounds * row:
            return (
                f"the rows are right, but rank {sender} sends {sent:,} bytes, and (N−1) rows of "
                f"{row} bytes are enough"
            )
    return trial.slow(got, rounds, row)


EXERCISE = Exercise(
    task="Mend the ring: every rank ends with all rows, in N−1 steps in which all ranks send.",
    reference=gather_rows,
    cases=cases,
    run=trial.simulated,
    by_hand=False,
    expect=trial.expected,
    difference=difference,
    demand=trial.on_real_ranks((3,), real),
    kinships=trial.KINSHIPS,
)
