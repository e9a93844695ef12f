"""Reports of trainings on many ranks: which mistakes explain each is to be said."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.evidence import (
    MISTAKES,
    StepReport,
    case_reports,
    step_report,
)

PLANS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "4 ranks, nothing amiss": ((), 4, 1),
    "4 ranks and 2 micro-batches, nothing amiss": ((), 4, 2),
    "4 ranks that exchange nothing": (("no exchange",), 4, 1),
    "3 ranks that exchange nothing": (("no exchange",), 3, 2),
    "4 ranks with starts of their own": (("own starts",), 4, 1),
    "3 ranks with starts of their own and no exchange": (("own starts", "no exchange"), 3, 1),
    "4 ranks that exchange too early": (("exchange too early",), 4, 3),
    "4 ranks with starts of their own, too early": (("own starts", "exchange too early"), 4, 2),
    "4 ranks and 2 micro-batches, twice the bytes": (("exchange each time",), 4, 2),
    "4 ranks and 3 micro-batches, three times the bytes": (("exchange each time",), 4, 3),
    "4 ranks, twice the bytes": (("whole tensors",), 4, 1),
    "5 ranks and 2 micro-batches, 2.5 times the bytes": (("whole tensors",), 5, 2),
    "4 ranks and 2 micro-batches, four times the bytes": (
        ("exchange each time", "whole tensors"), 4, 2,
    ),
    "3 ranks and 3 micro-batches, 4.5 times the bytes": (
        ("exchange each time", "whole tensors"), 3, 3,
    ),
    "2 ranks that send whole tensors, as many bytes as a ring": (("whole tensors",), 2, 1),
    "4 ranks, an update 4 times as long": (("sum over ranks",), 4, 1),
    "4 ranks and 2 micro-batches, 4 times as long": (("sum over ranks",), 4, 2),
    "2 ranks and 3 micro-batches, 3 times as long": (("sum over micro-batches",), 2, 3),
    "2 ranks and 2 micro-batches, twice as long": (("sum over micro-batches",), 2, 2),
    "4 ranks and 2 micro-batches, 8 times as long": (
        ("sum over ranks", "sum over micro-batches"), 4, 2,
    ),
    "3 ranks and 3 micro-batches, 9 times as long": (
        ("sum over ranks", "sum over micro-batches"), 3, 3,
    ),
    "3 ranks whose shards overlap": (("shards overlap",), 3, 1),
    "4 ranks with several mistakes": (("own starts", "shards overlap", "whole tensors"), 4, 1),
    "4 ranks, too early and in whole tensors": (("exchange too early", "whole tensors"), 4, 2),
    "6 ranks, one way round and added up": (("whole tensors", "sum over ranks"), 6, 1),
}  # fmt: skip
# what is too large to be measured, or comes about by chance
WRITTEN = {
    "1,024 ranks, an update 1,024 times as long": StepReport(
        1024, 1, 4_096_000, 2 * 1023 * 4_000, 0.0, 0.0, 1024.0, (1,) * 1024
    ),
    "4 ranks that part, and by chance go 4 times as far": StepReport(
        4, 2, 400, 0, 0.0, 0.7, 4.0, (1,) * 8
    ),
    "3 ranks that part, and by chance go 2 times as far": StepReport(
        3, 2, 300, 400, 0.0, 0.2, 2.0, (1,) * 6
    ),
}


@cache
def measured(label: str) -> StepReport:
    """A step on simulated ranks."""
    mistakes, ranks, micro_batches = PLANS[label]
    return step_report(*mistakes, ranks=ranks, micro_batches=micro_batches)


def cases() -> list[Case]:
    """Each mistake alone, several together, and what cannot be told apart."""
    reports = {label: measured(label) for label in PLANS} | WRITTEN
    return [Case(label, (report,)) for label, report in reports.items()]


def difference(got: Any, want: list[str]) -> str | None:
    if isinstance(got, str) or not isinstance(got, list | tuple | set | frozenset):
        return f"it returns {shown(got)}, expected a list of mistakes"
    for mistake in got:
        if mistake not in MISTAKES:
            return f"it returns {shown(mistake)}, which is none of the eight mistakes"
    if missed := [mistake for mistake in want if mistake not in got]:
        return f"“{missed[0]}” would explain what is amiss, and is not in the list"
    if added := [mistake for mistake in got if mistake not in want]:
        return f"“{added[0]}” is in the list, and does not fit the report"
    return None


EXERCISE = Exercise(
    task="Say of each report which mistakes would explain what is amiss.",
    reference=case_reports,
    cases=cases,
    difference=difference,
)
