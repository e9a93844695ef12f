"""Trial of sharded steps: what each rank ends with, kept and sent, on ranks of both kinds."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import failed_alike, watched
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, alike, rank_exercise
from gpulearn_lessons.sharded_training import by_hand

TOLERANCE = 1e-9  # relative; all is in float64

Numbers = dict[str, Any]  # what it is → (n,) numbers; in words what was none
Facts = dict[str, int]


@dataclass(frozen=True)
class ShardNotes:
    """What a rank ends with, and what it kept."""

    numbers: Numbers
    facts: Facts = field(default_factory=dict)
    called: bool = False  # whether the answer calls the library's function of its name


def act(answer: Answer, work: Any) -> ShardNotes:
    with watched(answer, by_hand) as called:
        numbers, facts = work.act(answer)
    return ShardNotes(numbers, facts, bool(called))


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    if any(own.called for own in got.ranks):
        return "it calls the function of the library with this name: write it from the collectives"
    for number, (own, target) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        for name, right in target.numbers.items():
            if sentence := _row(own.numbers[name], right):
                return f"on rank {number}, {name} {sentence}"
    sentence = next(filter(None, too_much(got)), None)
    return sentence and f"the numbers are right, but {sentence}"


def too_much(got: RanksOutcome) -> list[str | None]:
    """What each rank kept or sent for nothing; of real ranks nobody knows what they sent."""
    pairs = zip(got.ranks, got.sent, strict=False)
    return [got.work.too_much(own.facts, sent) for own, sent in pairs]


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


def same_way(one: RanksOutcome, other: RanksOutcome) -> bool:
    """Whether the numbers are the same, and what each rank kept and sent."""
    return alike(one.ranks, other.ranks) and one.sent == other.sent


def same_numbers(one: RanksOutcome, other: RanksOutcome) -> bool:
    """Whether all ranks end with the same numbers.

    Where the numbers are right it is whether too much was kept or sent that counts.
    """
    mine, its = ([(own.numbers, own.called) for own in ran.ranks] for ran in (one, other))
    fine = ([re.sub(r"[\d,]+", "", said or "") for said in too_much(ran)] for ran in (one, other))
    return alike(mine, its) and next(fine) == next(fine)


def sharding_exercise(
    task: str,
    reference: Answer,
    cases: Callable[[], Sequence[Case]],
    real: Callable[[int], Sequence[Any]],
    ready: Callable[[Answer], Answer] = lambda answer: answer,
) -> Exercise:
    """An exercise on shards; a work acts, and says its targets and what is too much."""
    return rank_exercise(
        task=task,
        reference=reference,
        cases=cases,
        ready=ready,
        act=act,
        target=lambda work: [ShardNotes(work.target(number)) for number in range(work.ranks)],
        difference=difference,
        kinships=(failed_alike(same_way), failed_alike(same_numbers)),
        counts=(3,),
        real=real,
    )
