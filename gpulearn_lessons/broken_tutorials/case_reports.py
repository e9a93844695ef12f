"""Reports of trainings on many ranks: which mistakes explain each is to be said."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.evidence import (
    MISTAKES,
    StepReport,
    case_reports,
    step_report,
)

answers = Answers(case_reports)

PLANS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "4 ranks, nothing amiss": ((), 4, 1),
    "4 ranks and 2 micro-batches, nothing amiss": ((), 4, 2),
    "4 ranks that exchange nothing": (("no exchange",), 4, 1),
    "3 ranks that exchange nothing": (("no exchange",), 3, 2),
    "4 ranks with starts of their own": (("own starts",), 4, 1),
    "3 ranks with starts of their own and no exchange": (("own starts", "no exchange"), 3, 1),
    "4 ranks that exchange too early": (("exchange too early",), 4, 3),
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


def difference(got: Any, wanted: list[str]) -> str | None:
    """One sentence on the first suspect too many or too few, or None."""
    if isinstance(got, str) or not isinstance(got, list | tuple | set | frozenset):
        return f"it returns {shown(got)}, expected a list of mistakes"
    for one in got:
        if one not in MISTAKES:
            return f"it returns {shown(one)}, which is none of the eight mistakes"
    if missed := [one for one in wanted if one not in got]:
        return f"“{missed[0]}” would explain what is amiss, and is not in the list"
    if added := [one for one in got if one not in wanted]:
        return f"“{added[0]}” is in the list, and does not fit the report"
    return None


PARTING = "not same(report.apart_before, report.apart_after)"
NO_EXCHANGE = "parting and report.sent == 0"
EARLY = "parting and report.sent > 0"
EACH = "m > 1 and any(same(report.sent, k) for k in (m * ring, m * whole))"
RANKS = "n > 1 and any(same(report.update, k) for k in (n, n * m))"
MICRO = "m > 1 and any(same(report.update, k) for k in (m, n * m))"
WHOLE = "n > 2 and any(same(report.sent, k) for k in (whole, m * whole))"
EACH_ALONE, WHOLE_ALONE = (
    "m > 1 and same(report.sent, m * ring)",
    "n > 2 and same(report.sent, whole)",
)
RING = "2 * (n - 1) / n * report.gradient_bytes"
TOGETHER = "not parting and n > 1"
TOGETHER_TOO = "not parting and m > 1"
OVERLAP = "any(visits != 1 for visits in report.visits)"

answers.edit(
    {PARTING: "report.apart_after > 1e-6"},
    "ranks that begin apart and take the same steps stay as far apart: only a distance that "
    "changes in the step tells about the exchange.",
)
answers.edit(
    {NO_EXCHANGE: "report.sent == 0", EARLY: "parting"},
    "where nothing was sent, no exchange came too early.",
)
answers.edit(
    {NO_EXCHANGE: "parting"},
    "ranks that part although they send have exchanged something: there is an exchange, and at "
    "the wrong time.",
)
answers.edit(
    {NO_EXCHANGE: "parting", EARLY: "parting"},
    "the bytes tell the two apart: where nothing was sent there is no exchange, and where "
    "something was sent it came too early.",
)
TWO_RANKS = "for two ranks (N − 1)·S and 2(N − 1)/N·S are the same number: nothing is amiss there."
answers.edit({WHOLE: WHOLE.removeprefix("n > 2 and ")}, TWO_RANKS)
answers.edit({EACH: EACH_ALONE, WHOLE: WHOLE_ALONE.removeprefix("n > 2 and ")}, TWO_RANKS)
ONE_BATCH = "with one micro-batch, an exchange after each is the right one."
answers.edit({EACH: EACH.removeprefix("m > 1 and ")}, ONE_BATCH)
answers.edit({EACH: EACH_ALONE.removeprefix("m > 1 and "), WHOLE: WHOLE_ALONE}, ONE_BATCH)
BOTH_BYTES = (
    "whole tensors after each micro-batch make M·(N − 1)·S bytes: then both are suspects, and "
    "neither alone explains so many."
)
answers.edit({EACH: EACH_ALONE, WHOLE: WHOLE_ALONE}, BOTH_BYTES)
answers.edit({EACH: EACH_ALONE}, BOTH_BYTES)
answers.edit({WHOLE: WHOLE_ALONE}, BOTH_BYTES)
TWO_FIT = (
    "one number of bytes may have two explanations, as twice a ring's for 4 ranks with 2 "
    "micro-batches: name both."
)
answers.edit({WHOLE: f"not same(report.sent, m * ring) and {WHOLE}"}, TWO_FIT)
answers.edit({EACH: f"not same(report.sent, whole) and {EACH}"}, TWO_FIT)
answers.edit(
    {EACH: "m > 1 and report.sent > 1.001 * ring"},
    "more bytes than a ring's are not always M times as many: each explanation has its own number.",
)
answers.edit(
    {WHOLE: "n > 2 and report.sent > 1.001 * ring"},
    "more bytes than a ring's are not always (N − 1)·S: each explanation has its own number.",
)
answers.edit(
    {RING: "2 * (n - 1) * report.gradient_bytes"},
    "that is sent in a ring by all ranks together: what goes round are parts, each an N-th of the "
    "gradient, and one rank sends 2(N − 1)/N·S.",
)
answers.edit(
    {RING: "2 * report.gradient_bytes"},
    "a ring sends 2(N − 1)/N·S from each rank; 2·S is where that goes for many ranks.",
)
answers.edit(
    {RANKS: "n > 1 and same(report.update, n)"},
    "both sums together make the update N·M times as long: then the one over the ranks is a "
    "suspect, too.",
)
answers.edit(
    {MICRO: "m > 1 and same(report.update, m)"},
    "both sums together make the update N·M times as long: then the one over the micro-batches is "
    "a suspect, too.",
)
answers.edit(
    {RANKS: "n > 1 and same(report.update, n)", MICRO: "m > 1 and same(report.update, m)"},
    "both sums together make the update N·M times as long: then both are suspects.",
)
answers.edit(
    {EACH: EACH.removeprefix("m > 1 and "), MICRO: MICRO.removeprefix("m > 1 and ")},
    "with one micro-batch, an exchange after each is the right one, and a sum over one is its "
    "mean: neither leaves a trace.",
)
answers.edit(
    {RANKS: "same(report.update, n)", MICRO: "same(report.update, m)"},
    "an update of the right length is suspected where N or M is 1, and one that is N·M times as "
    "long is not.",
)
answers.edit(
    {RANKS: "report.update > 1.001", MICRO: "m > 1 and report.update > 1.001"},
    "an update that is a little too long, as of a rank that steps alone, is no sum: a sum over N "
    "is N times as long.",
)
SAME_LENGTH = (
    "where N and M are the same number, the length tells neither from the other: name both."
)
answers.edit(
    {MICRO: "m > 1 and m != n and any(same(report.update, k) for k in (m, n * m))"}, SAME_LENGTH
)
answers.edit({MICRO: f"not same(report.update, n) and {MICRO}"}, SAME_LENGTH)
answers.edit({RANKS: f"not same(report.update, m) and {RANKS}"}, SAME_LENGTH)
answers.edit(
    {TOGETHER: "n > 1", TOGETHER_TOO: "m > 1"},
    "where ranks part in the step, each makes an update of its own, and its length says nothing: "
    "suspect a sum only where they stay together.",
)
answers.edit(
    {OVERLAP: "any(visits > 2 for visits in report.visits)"},
    "a sample that is used twice, or never, says that shards overlap.",
)
answers.edit(
    {"not same(report.apart_before, 0)": "not same(report.apart_after, 0)"},
    "ranks that part in the step are apart after it, too: whether their starts differ is seen "
    "before it.",
)
answers.edit(
    {'own starts": not': 'own starts": parting and not'},
    "ranks that begin apart have starts of their own, whether or not they part further.",
)
answers.edit(
    {"return [mistake for mistake in MISTAKES if explains[mistake]]": (
        "return [mistake for mistake in MISTAKES if explains[mistake]][:1]"
    )},
    "it names one mistake where several explain the report: return all.",
)  # fmt: skip

answers.variant(
    {"return [mistake for mistake in MISTAKES if explains[mistake]]": (
        "return {mistake for mistake, fits in explains.items() if fits}"
    )}
)  # fmt: skip
answers.variant(
    {OVERLAP: "set(report.visits) != {1}", PARTING: (
        "abs(report.apart_before - report.apart_after) > 1e-9"
    )}
)  # fmt: skip


@answers.right
def by_ifs(report: Any) -> list[str]:
    found = []
    n, m, s = report.ranks, report.micro_batches, report.gradient_bytes
    if report.apart_before:
        found.append("own starts")
    if report.apart_before != report.apart_after:
        found.append("exchange too early" if report.sent else "no exchange")
    if report.sent in ((n - 1) * s, m * (n - 1) * s) and n != 2:
        found.append("whole tensors")
    if m > 1 and (
        np.isclose(report.sent, m * 2 * (n - 1) / n * s) or report.sent == m * (n - 1) * s
    ):
        found.append("exchange each time")
    length = report.update if report.apart_before == report.apart_after else 0
    if n > 1 and (math.isclose(length, n) or math.isclose(length, n * m)):
        found += ["sum over ranks"]
    if m > 1 and (math.isclose(length, m) or math.isclose(length, n * m)):
        found += ["sum over micro-batches"]
    if min(report.visits) < 1 or max(report.visits) > 1:
        found.append("shards overlap")
    return found


EXERCISE = Exercise(
    task="Say of each report which mistakes would explain what is amiss.",
    reference=case_reports,
    cases=cases,
    answers=answers,
    difference=difference,
)
