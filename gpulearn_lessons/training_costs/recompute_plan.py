"""Which stages to recompute, so that a chain fits into memory at the least extra time."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import NOTHING
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn.train.recompute import recompute_peak, recompute_plan
from gpulearn_lessons.training.trial import Outcome, same


def cases() -> list[Case]:
    """Limits that all fits, one stage, several or none fits; stages alike and unlike in time."""
    work: tuple[tuple[str, Any, Any, Any, int], ...] = (
        ("a limit that nothing exceeds", (5, 5, 5), (50, 50, 50), (1, 1, 1), 500),
        ("a limit that just fits", (5, 5, 5), (50, 50, 50), (1, 2, 3), 165),
        ("stages alike in bytes, not in time", (5, 5, 5, 5), (50, 50, 50, 50), (3, 1, 2, 1), 175),
        ("a quick last stage", (5, 5, 5), (40, 40, 40), (5, 4, 1), 100),
        ("a large stage that is slow", (2, 2, 2, 2), (90, 40, 45, 10), (9, 3, 3, 1), 113),
        ("a large stage that is quick", (2, 2, 2, 2), (90, 40, 45, 10), (3, 3, 3, 1), 113),
        ("a slow stage with little inside", (1, 1, 1, 1), (60, 5, 60, 60), (2, 9, 3, 4), 130),
        ("a limit below every choice", (5, 5, 5), (50, 80, 50), (1, 1, 1), 60),
        ("a limit that only one choice fits", (5, 5, 5), (30, 30, 30), (1, 1, 1), 45),
        ("one stage", (5,), (10,), (1,), 15),
        ("six stages", (4, 4, 4, 4, 4, 4), (31, 57, 23, 64, 12, 40), (7, 8, 3, 11, 2, 6), 150),
        ("a recomputed stage larger than the rest", (5, 5, 5), (20, 99, 20), (1, 5, 1), 112),
        ("two quick stages or one", (2, 2, 2, 2), (70, 30, 30, 5), (0.5, 0.4, 0.4, 0.1), 110),
        ("a large last stage", (2, 2, 2), (30, 30, 90), (3, 4, 5), 130),
        ("two quick stages or a slow one", (2, 2, 2, 2), (60, 30, 30, 5), (9, 3, 3, 1), 100),
        ("two stages that are no neighbors", (2, 2, 2, 2), (60, 30, 60, 10), (3, 5, 3, 1), 104),
        ("two stages almost as quick", (2, 2, 2, 2), (70, 70, 5, 5), (9.5, 10, 3, 3), 144),
        ("stages of less than a second", (2, 2, 2), (50, 50, 1), (0.9, 0.2, 0.1), 106),
        ("three stages or four", (2,) * 6, (40, 20, 60, 10, 30, 90), (9, 4, 8, 9, 7, 5), 143),
    )  # fmt: skip
    return [Case(label, (list(a), list(b), list(c), limit)) for label, a, b, c, limit in work]


def run(answer: Answer, case: Case) -> Outcome:
    """What a plan comes to: whether there is one, its peak against the limit, its seconds."""
    inputs, inside, seconds, limit = copy.deepcopy(case.args)
    plan = answer(*case.args)
    if plan is None:
        return Outcome({"the plan": "none"})
    numbers = set(range(len(inputs)))
    if not isinstance(plan, Collection) or isinstance(plan, str) or not set(plan) <= numbers:
        return Outcome({"the plan": f"{shown(plan)}, no set of stages"})
    chosen = set(plan)
    peak = recompute_peak(inputs, inside, chosen)
    facts: dict[str, Any] = {
        "the plan": "a set of stages",
        "the peak of memory": f"within {limit:,} bytes" if peak <= limit else f"{peak:,} bytes",
        "the extra time": sum(seconds[s] for s in chosen),
    }
    return Outcome(facts, ways=tuple(sorted(chosen)))


def difference(got: Any, expected: Any) -> str | None:
    """The first fact that differs; a plan of other stages that is as quick is right, too."""
    return NOTHING if got is None else same(got, expected)


def alike(one: Any, other: Any) -> bool:
    return bool(one.facts == other.facts and one.ways == other.ways)


EXERCISE = Exercise(
    task="Choose the stages to recompute: within the limit, and with the least extra time.",
    reference=recompute_plan,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(alike,),
)
