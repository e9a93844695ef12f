"""Pipeline schedules as data: for each rank, its forward and backward passes in order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpulearn.tables import Table, table


class Action(NamedTuple):
    """One pass of one micro-batch through one stage, both counted from 0.

    `kind` is "F", forward, or "B", backward.

    >>> print(Action("F", 3, 0))
    F3
    """

    kind: str
    micro: int
    stage: int

    def __str__(self) -> str:
        return f"{self.kind}{self.micro}"


@dataclass(frozen=True)
class Schedule:
    """What each rank of a pipeline does, in order; `name` is what tables and figures call it.

    >>> schedule_of("by hand", [[("F", 0), ("B", 0)], [("F", 0), ("B", 0)]])
    rank  stages  order
    ----  ------  -----
    0     0       F0 B0
    1     1       F0 B0
    by hand: 2 stages on 2 ranks, 1 micro-batch.
    """

    name: str
    ranks: tuple[tuple[Action, ...], ...]  # of each rank, its actions

    @property
    def micro_batches(self) -> int:
        """How many there are."""
        return 1 + max((a.micro for actions in self.ranks for a in actions), default=-1)

    @property
    def stages(self) -> int:
        """How many there are on all ranks."""
        return 1 + max((a.stage for actions in self.ranks for a in actions), default=-1)

    @cached_property
    def place(self) -> dict[int, int]:
        """Stage → the rank that has it."""
        return {a.stage: rank for rank, actions in enumerate(self.ranks) for a in actions}

    def stages_of(self, rank: int) -> list[int]:
        """The stages of a rank, ascending."""
        return sorted({a.stage for a in self.ranks[rank]})

    def held(self, rank: int) -> list[int]:
        """How many forward passes a rank holds the activations of, after each of its actions.

        They are held until the backward pass of the same stage and micro-batch is over.

        >>> schedule_of("", [[("F", 0), ("F", 1), ("B", 0), ("B", 1)]]).held(0)
        [1, 2, 1, 0]
        """
        change = (1 if action.kind == "F" else -1 for action in self.ranks[rank])
        return list(itertools.accumulate(change))

    @property
    def most_held(self) -> list[int]:
        """The most that each rank holds at any time."""
        return [max(self.held(rank), default=0) for rank in range(len(self.ranks))]

    def table(self) -> Table:
        """A row for each rank; where it has several stages, each action names its own."""
        rows = []
        for rank, actions in enumerate(self.ranks):
            several = len(self.stages_of(rank)) > 1
            written = (f"{a.stage}{a}" if several else str(a) for a in actions)
            names = ", ".join(map(str, self.stages_of(rank)))
            rows.append({"rank": rank, "stages": names, "order": " ".join(written)})
        counts = ((self.stages, "stage"), (len(self.ranks), "rank"))
        stages, ranks = (f"{n} {word}{'s' if n != 1 else ''}" for n, word in counts)
        m = self.micro_batches
        micro = f"{m} micro-batch{'es' if m != 1 else ''}"
        return table(rows, caption=f"{self.name}: {stages} on {ranks}, {micro}.")

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def schedule_of(name: str, orders: Sequence[Sequence[tuple[str, int]]]) -> Schedule:
    """A schedule of pairs such as ("F", 0): actions of the stage that has the rank's number."""
    return Schedule(
        name,
        tuple(
            tuple(Action(kind, micro, rank) for kind, micro in order)
            for rank, order in enumerate(orders)
        ),
    )
