"""Trial of sharded steps: what each rank ends with, kept and sent, on ranks of both kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import (
    RankFailure,
    demand_on_real_ranks,
    failed_alike,
    on_simulated_ranks,
    same_result,
    watched,
)
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks
from gpulearn_lessons.sharded_training import by_hand

TOLERANCE = 1e-9  # relative; all is in float64

Numbers = dict[str, Any]  # what it is → (n,) numbers; in words what was none
Facts = dict[str, int]


class ShardWork(Protocol):
    """What the ranks have to do."""

    @property
    def ranks(self) -> int:
        """How many ranks there are."""

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Be one rank: what it ends with, and what it kept."""

    def target(self, rank: int) -> Numbers:
        """What a rank should end with."""

    def too_much(self, facts: Facts, sent: int) -> str | None:
        """One sentence if a rank with right numbers kept or sent more than it needs to."""


@dataclass(frozen=True)
class ShardingOutcome:
    """An answer's outcome on all ranks."""

    work: ShardWork  # what was to be done
    failure: RankFailure | None = None  # how it failed, if it did
    numbers: list[Numbers] = field(default_factory=list)  # of each rank
    facts: list[Facts] = field(default_factory=list)  # of each rank
    sent: tuple[int, ...] = ()  # bytes that each rank sent
    called: bool = False  # whether it calls the library's function of its name


def act(answer: Answer, work: ShardWork) -> tuple[Numbers, Facts, bool]:
    with watched(answer, by_hand) as called:
        numbers, facts = work.act(answer)
    return numbers, facts, bool(called)


def simulated(answer: Answer, case: Case) -> ShardingOutcome:
    work: ShardWork = case.args[0]
    with torch_on_simulated_ranks():
        run = on_simulated_ranks(act, work.ranks, answer, work)
    if isinstance(run, RankFailure):
        return ShardingOutcome(work, run)
    return _gathered(work, run.results, tuple(run.bytes_sent))


def _gathered(work: ShardWork, ranks: Sequence[Any], sent: tuple[int, ...] = ()) -> ShardingOutcome:
    numbers, facts, called = zip(*ranks, strict=True)
    return ShardingOutcome(work, None, list(numbers), list(facts), sent, any(called))


def expected(case: Case) -> ShardingOutcome:
    """What should come out of a case; what it may keep and send its work says."""
    work: ShardWork = case.args[0]
    return ShardingOutcome(work, numbers=[work.target(number) for number in range(work.ranks)])


def difference(got: ShardingOutcome, want: ShardingOutcome) -> str | None:
    """One sentence on the first numbers that are wrong, or on what was too much, or None."""
    if got.failure:
        return got.failure.sentence
    if got.called:
        return "it calls the function of the library with this name: write it from the collectives"
    if sentence := _wrong_numbers(got, want):
        return sentence
    if not got.sent:
        return None  # real ranks: what they kept has been seen on simulated ones
    for facts, sent in zip(got.facts, got.sent, strict=True):
        if sentence := got.work.too_much(facts, sent):
            return f"the numbers are right, but {sentence}"
    return None


def _wrong_numbers(got: ShardingOutcome, want: ShardingOutcome) -> str | None:
    for number, (numbers, right) in enumerate(zip(got.numbers, want.numbers, strict=True)):
        for name, expect in right.items():
            if sentence := _row(numbers[name], expect):
                return f"on rank {number}, {name} {sentence}"
    return None


def _row(value: Any, right: Any) -> str | None:
    if isinstance(value, str):
        if isinstance(right, str):
            return None if value == right else f"{value}, but should {right}"
        return f"{value}, expected {right.size} numbers"
    if value.shape != right.shape:
        return f"have shape {value.shape}, expected {right.shape}"
    wrong = wrong_numbers(value, right, TOLERANCE * (1 + np.abs(right).max(initial=0)))
    return wrong and f"have {wrong}"


def as_row(value: Any) -> Any:
    """A tensor's numbers as they can travel; in words what is no row."""
    if isinstance(value, Tensor) and value.ndim == 1:
        return value.detach().numpy().copy()
    return f"are {shown(value)}, which is not a flat vector"


def same_way(one: ShardingOutcome, other: ShardingOutcome) -> bool:
    """Whether the numbers are the same, and what each rank kept and sent."""
    return one.facts == other.facts and one.sent == other.sent and same_numbers(one, other)


@failed_alike
def same_numbers(one: ShardingOutcome, other: ShardingOutcome) -> bool:
    """Whether all ranks end with the same numbers, or in the same failure.

    Where the numbers are right it is whether too much was kept or sent that counts.
    """
    return (
        one.called == other.called
        and _fine(one) == _fine(other)
        and all(
            same_result(mine[name], its[name])
            for mine, its in zip(one.numbers, other.numbers, strict=True)
            for name in mine
        )
    )


def _fine(ran: ShardingOutcome) -> list[str | None]:
    """What each rank is told of what it kept and sent, without the numbers."""
    messages = [ran.work.too_much(f, s) for f, s in zip(ran.facts, ran.sent, strict=True)]
    return [re.sub(r"[\d,]+", "", message) if message else None for message in messages]


KINSHIPS = (same_way, same_numbers)


def on_real(counts: Sequence[int], works: Callable[[int], Sequence[Any]]) -> Any:
    """A demand on an answer that is right on simulated ranks: to be right on real ones too."""

    def judge(work: ShardWork, ranks: list[Any]) -> str | None:
        return difference(_gathered(work, ranks), expected(Case("", (work,))))

    return demand_on_real_ranks(act, counts, works, judge)
