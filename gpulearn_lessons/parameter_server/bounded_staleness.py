"""The stale-synchronous rule: which workers may continue, and which wait for the slowest."""

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.require import shown
from gpulearn_lessons.parameter_server.server.staleness import bounded_staleness


def cases() -> list[Case]:
    """All bounds; the slowest waits or computes; none waits; all others are too far ahead."""
    works: dict[str, tuple[list[int], set[int], float]] = {
        "bound 0, the first of three has ended its step": ([1, 0, 0], {0}, 0),
        "bound 0, all have ended their step": ([4, 4, 4], {0, 1, 2}, 0),
        "bound 0, the last has just ended its step": ([5, 5, 4, 5], {0, 1, 3}, 0),
        "bound 1, one is two steps ahead": ([3, 2, 1], {0, 1}, 1),
        "bound 2, the slowest still computes": ([7, 6, 4, 9], {0, 1, 3}, 2),
        "bound 2, the slowest waits too": ([7, 6, 4, 9], {0, 1, 2, 3}, 2),
        "bound 3, all are too far ahead but the slowest": ([9, 8, 4, 9], {0, 1, 3}, 3),
        "no bound": ([90, 3, 0, 17], {0, 2, 3}, math.inf),
        "no worker waits": ([3, 2, 2], set(), 1),
        "a single worker": ([12], {0}, 0),
        "bound 4, just at the bound": ([104, 100, 105], {0, 2}, 4),
        "bound 5, the two fastest wait": ([0, 5, 6, 7, 2], {1, 2, 3}, 5),
        "bound 2, clocks far apart": ([10, 1, 11, 2], {1, 3}, 2),
        "bound 2, the slowest waits, the fastest computes": ([4, 1, 5], {0, 1}, 2),
        "bound 0, the slowest waits, another is ahead": ([3, 2, 2], {1}, 0),
    }
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> Any:
    """Ask an answer which workers may continue."""
    clocks, waiting, bound = case.args
    before = set(waiting)
    ready = answer(clocks, waiting, bound)
    if isinstance(ready, Iterator):
        ready = list(ready)
    if waiting != before:
        raise Violation(f"it changes waiting from {shown(before)} to {shown(waiting)}: make a list")
    return ready


def difference(got: Any, want: Any) -> str | None:
    if not isinstance(got, list | tuple | set | frozenset | np.ndarray):
        return f"it returns {shown(got)}, expected a list of workers"
    workers = _sorted(got)
    if workers is None:
        return f"it returns {shown(got)}, expected numbers of workers"
    if workers != (expected := _sorted(want)):
        return f"it returns {workers}, expected {expected}"
    return None


def _sorted(workers: Any) -> list[int] | None:
    if any(isinstance(worker, bool | np.bool_) for worker in np.ravel(list(workers))):
        return None
    try:
        return sorted(operator.index(worker) for worker in workers)
    except TypeError:
        return None


EXERCISE = Exercise(
    task="Say which of the waiting workers may continue: none may be too far ahead of the slowest.",
    reference=bounded_staleness,
    cases=cases,
    run=run,
    difference=difference,
)
