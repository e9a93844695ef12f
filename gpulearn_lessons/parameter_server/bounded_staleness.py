"""The stale-synchronous rule: who may go on, and who waits for the slowest."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.require import shown
from gpulearn_lessons.parameter_server.server.staleness import bounded_staleness

answers = Answers(bounded_staleness)

RULE = "clocks[worker] - slowest <= bound"
ALL = "sorted(worker for worker in waiting if clocks[worker] - slowest <= bound)"


def cases() -> list[Case]:
    """All bounds, the slowest waiting and computing, nobody waiting, everybody too far ahead."""
    works: dict[str, tuple[list[int], set[int], float]] = {
        "bound 0, the first of three has ended its step": ([1, 0, 0], {0}, 0),
        "bound 0, all have ended their step": ([4, 4, 4], {0, 1, 2}, 0),
        "bound 0, the last has just ended its step": ([5, 5, 4, 5], {0, 1, 3}, 0),
        "bound 1, one is two steps ahead": ([3, 2, 1], {0, 1}, 1),
        "bound 2, the slowest still computes": ([7, 6, 4, 9], {0, 1, 3}, 2),
        "bound 2, the slowest waits too": ([7, 6, 4, 9], {0, 1, 2, 3}, 2),
        "bound 3, all are too far ahead but the slowest": ([9, 8, 4, 9], {0, 1, 3}, 3),
        "no bound": ([90, 3, 0, 17], {0, 2, 3}, math.inf),
        "nobody waits": ([3, 2, 2], set(), 1),
        "one worker alone": ([12], {0}, 0),
        "bound 4, just at the bound": ([104, 100, 105], {0, 2}, 4),
        "bound 5, the two fastest wait": ([0, 5, 6, 7, 2], {1, 2, 3}, 5),
        "bound 2, clocks far apart": ([10, 1, 11, 2], {1, 3}, 2),
        "bound 2, the slowest waits, the fastest computes": ([4, 1, 5], {0, 1}, 2),
        "bound 0, the slowest waits, another is ahead": ([3, 2, 2], {1}, 0),
    }
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> Any:
    """Ask an answer who may go on.

    Raises:
        Refused: it changes what it was given.
    """
    clocks, waiting, bound = case.args
    given = set(waiting)
    ready = answer(clocks, waiting, bound)
    if waiting != given:
        raise Refused(f"it changes waiting from {shown(given)} to {shown(waiting)}: make a list")
    return ready


def difference(got: Any, wanted: Any) -> str | None:
    """One sentence on what is wrong, or None; the order does not count."""
    if not isinstance(got, list | tuple | set | frozenset | np.ndarray):
        return f"it returns {shown(got)}, expected a list of workers"
    found = _sorted(got)
    if found is None:
        return f"it returns {shown(got)}, expected numbers of workers"
    if found != (expected := _sorted(wanted)):
        return f"it returns {found}, expected {expected}"
    return None


def _sorted(workers: Any) -> list[int] | None:
    if any(isinstance(worker, bool | np.bool_) for worker in np.ravel(list(workers))):
        return None
    try:
        return sorted(operator.index(worker) for worker in workers)
    except TypeError:
        return None


answers.edit(
    {RULE: "clocks[worker] - slowest < bound"},
    "with bound 0 nobody ever goes on, and all wait for ever: a worker that is just `bound` steps "
    "ahead may go on.",
)
answers.edit(
    {RULE: "clocks[worker] - slowest > bound"},
    "that is the reverse: these are the ones that have to wait.",
)
answers.edit(
    {RULE: "clocks[worker] == slowest"},
    "the bound is not used: only the slowest go on. Up to `bound` steps ahead is allowed.",
)
answers.edit(
    {RULE: "clocks[worker] <= bound"},
    "a clock is held against the bound: what counts is how far it is ahead of the slowest.",
)
answers.edit(
    {RULE: "clocks[worker] - slowest <= bound + 1"},
    "a worker that is bound + 1 steps ahead goes on: it has to wait.",
)
answers.edit(
    {"min(clocks)": "max(clocks)"},
    "everybody goes on: no clock is ahead of the fastest. Compare with the slowest, min(clocks).",
)
answers.edit(
    {"min(clocks)": "min((clocks[worker] for worker in waiting), default=0)"},
    "only those that wait are compared: the slowest is mostly one that still computes, and it "
    "counts too.",
)
answers.edit(
    {"min(clocks)": "min(clocks[worker] for worker in waiting)"},
    "only those that wait are compared, and where nobody waits there is nothing to compare: take "
    "the slowest of all.",
)
answers.edit(
    {"min(clocks)": "min((clock for worker, clock in enumerate(clocks) if worker not in waiting), "
     "default=min(clocks))"},
    "only those that compute are compared: the slowest may be one that has just sent its gradient, "
    "and it counts too.",
)  # fmt: skip
answers.edit(
    {RULE: "max(clocks) - clocks[worker] <= bound"},
    "the bound is held against the fastest: it is about how far a worker is ahead of the slowest.",
)
answers.edit(
    {ALL: "([] if bound == 0 and len(waiting) < len(clocks) else " + ALL + ")"},
    "with bound 0 the slowest is made to wait as well: nobody is behind it, so it may always go "
    "on.",
)
answers.edit(
    {ALL: "[waiting.remove(worker) or worker for worker in sorted(waiting) if "
     "clocks[worker] - slowest <= bound]"},
    "it changes `waiting`, which is the server's: collect the workers in a new list.",
)  # fmt: skip
answers.edit(
    {"min(clocks)": "sum(clocks) / len(clocks)"},
    "they are compared with the mean: the bound is about the slowest worker.",
)
answers.edit(
    {"min(clocks)": "sorted(clocks)[len(clocks) // 2]"},
    "they are compared with the worker in the middle: the bound is about the slowest.",
)
answers.edit(
    {"for worker in waiting": "for worker in range(len(clocks))"},
    "workers that still compute are among them: only those that wait can be sent weights.",
)
answers.edit(
    {ALL: "sorted(waiting) if max(clocks) - slowest <= bound else []"},
    "one worker that is too far ahead keeps all from going on: ask for each worker alone.",
)
answers.edit(
    {ALL: "sorted(clocks[worker] for worker in waiting if clocks[worker] - slowest <= bound)"},
    "it returns clocks, not the numbers of workers.",
)


@answers.right
def in_a_loop(clocks: Sequence[int], waiting: Collection[int], bound: float = math.inf) -> Any:
    ready = []
    for worker in waiting:
        if all(clocks[worker] <= other + bound for other in clocks):
            ready.append(worker)
    return ready


@answers.right
def by_a_set(clocks: Sequence[int], waiting: Collection[int], bound: float = math.inf) -> Any:
    allowed = min(clocks) + bound
    return {worker for worker, clock in enumerate(clocks) if clock <= allowed} & set(waiting)


EXERCISE = Exercise(
    task="Say which of the waiting workers may go on, if nobody may be too far ahead.",
    reference=bounded_staleness,
    cases=cases,
    run=run,
    answers=answers,
    difference=difference,
)
