"""Which stages to recompute, so that a chain fits into its memory and loses the least time."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.compare import NOTHING
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn.train.recompute import recompute_peak, recompute_plan
from gpulearn_lessons.training.trial import Seen, same

answers = Answers(recompute_plan)
GREEDY = (
    "stages are taken one after the other, the {} first, until it fits. That is often not the "
    "quickest choice: two small stages may cost less time than one large one. Compare all."
)


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
        ("two stages that are no neighbours", (2, 2, 2, 2), (60, 30, 60, 10), (3, 5, 3, 1), 104),
        ("two stages almost as quick", (2, 2, 2, 2), (70, 70, 5, 5), (9.5, 10, 3, 3), 144),
        ("three stages or four", (2,) * 6, (40, 20, 60, 10, 30, 90), (9, 4, 8, 9, 7, 5), 143),
    )  # fmt: skip
    return [Case(label, (list(a), list(b), list(c), limit)) for label, a, b, c, limit in work]


def run(answer: Answer, case: Case) -> Seen:
    """What a plan comes to: whether there is one, its peak against the limit, its seconds."""
    inputs, inside, seconds, limit = copy.deepcopy(case.args)
    plan = answer(*case.args)
    if plan is None:
        return Seen({"the plan": "none"})
    numbers = set(range(len(inputs)))
    if not isinstance(plan, Collection) or isinstance(plan, str) or not set(plan) <= numbers:
        return Seen({"the plan": f"{shown(plan)}, no set of stages"})
    chosen = set(plan)
    peak = recompute_peak(inputs, inside, chosen)
    facts: dict[str, Any] = {
        "the plan": "a set of stages",
        "the peak of memory": f"within {limit:,} bytes" if peak <= limit else f"{peak:,} bytes",
        "the seconds that are computed again": sum(seconds[s] for s in chosen),
    }
    return Seen(facts, ways=tuple(sorted(chosen)))


def difference(got: Any, expected: Any) -> str | None:
    """The first fact that differs; a plan of other stages that is as quick is right, too."""
    return NOTHING if got is None else same(got, expected)


def alike(one: Any, other: Any) -> bool:
    return bool(one.facts == other.facts and one.ways == other.ways)


def greedy(inputs: Any, inside: Any, limit: Any, order: Any) -> Any:
    """Take stages in an order until it fits."""
    plan: set[int] = set()
    for stage in order:
        if recompute_peak(inputs, inside, plan) <= limit:
            break
        plan.add(stage)
    return plan if recompute_peak(inputs, inside, plan) <= limit else None


FIT = "recompute_peak(inputs, inside, some) <= limit"

answers.edit(
    {FIT: "recompute_peak(inputs, inside, some) < limit"},
    "a plan that needs just as many bytes as the limit is left out: it fits.",
)
answers.edit(
    {"key=lambda some: sum(seconds[s] for s in some)": "key=len"},
    "it takes the fewest stages; asked for are the fewest seconds.",
)
answers.edit(
    {"key=lambda some: sum(seconds[s] for s in some)": (
        "key=lambda some: recompute_peak(inputs, inside, some)"
    )},
    "it takes the plan with the least memory: whatever fits is good enough, and the quickest wins.",
)  # fmt: skip
answers.edit(
    {"sum(seconds[s] for s in some)": "sum(inside[s] for s in some)"},
    "it takes the plan that recomputes the fewest bytes; asked for are the fewest seconds.",
)
answers.edit(
    {"sum(seconds[s] for s in some)": "max((seconds[s] for s in some), default=0)"},
    "it looks at the slowest of the recomputed stages alone: their seconds add up.",
)
answers.edit(
    {"sum(seconds[s] for s in some)": "(len(some), sum(seconds[s] for s in some))"},
    "it takes the fewest stages, and looks at the seconds among those alone: three quick stages "
    "may cost less time than two.",
)
answers.edit(
    {", default=None)": ", default=None) or None"},
    "where nothing needs to be recomputed it returns None: a plan without stages is false in "
    "Python, and it is a plan. Compare with None.",
)
answers.edit(
    {"default=None": "default=()"},
    "where no plan fits it returns a plan without stages, which says that everything fits as it "
    "is: return None.",
)
answers.edit(
    {
        "return min(": "plan = min(",
        ", default=None)": (
            ", default=None)\n    return plan if plan is None else set(range(len(inputs))) - plan"
        ),
    },
    "those are the stages that are not recomputed: return the others.",
)
answers.edit(
    {", default=None": ""},
    "where no plan fits, min() of nothing raises ValueError: return None there.",
)
answers.edit(
    {"min(fitting": "max(fitting"},
    "it takes the slowest plan that fits, which recomputes every stage.",
)
answers.edit(
    {FIT: (
        "sum(inputs) + sum(b for s, b in enumerate(inside) if s not in some) <= limit"
    )},
    "a plan is judged by what is kept when the forward pass ends; when a stage is recomputed, "
    "what is inside it is there again: ask recompute_peak.",
)  # fmt: skip
answers.edit(
    {FIT: f"some and {FIT}"},
    "the plan that recomputes nothing is never tried.",
)
answers.edit(
    {FIT: f"len(some) < 2 and {FIT}"},
    "only plans with one stage are tried; it may take several.",
)
answers.edit(
    {FIT: f"len(some) < 3 and {FIT}"},
    "only plans with up to two stages are tried; it may take more.",
)


@answers.wrong(GREEDY.format("largest"))
def largest_first(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    return greedy(inputs, inside, limit, sorted(range(len(inputs)), key=lambda s: -inside[s]))


@answers.wrong(GREEDY.format("quickest"))
def quickest_first(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    return greedy(inputs, inside, limit, sorted(range(len(inputs)), key=lambda s: seconds[s]))


@answers.wrong(GREEDY.format("one with the most bytes a second"))
def most_for_its_time_first(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    order = sorted(range(len(inputs)), key=lambda s: -inside[s] / seconds[s])
    return greedy(inputs, inside, limit, order)


@answers.wrong(GREEDY.format("first one"))
def in_order(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    return greedy(inputs, inside, limit, range(len(inputs)))


@answers.wrong(
    "all stages are recomputed at first, and then the slowest are taken out one after the other "
    "while it fits. That is often not the quickest choice: who takes out the slowest may have to "
    "keep several others. Compare all."
)
def slowest_out_first(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    plan = set(range(len(inputs)))
    for stage in sorted(plan, key=lambda s: -seconds[s]):
        if recompute_peak(inputs, inside, plan - {stage}) <= limit:
            plan.remove(stage)
    return plan if recompute_peak(inputs, inside, plan) <= limit else None


answers.variant({"in range(len(inputs)):": "in range(len(inputs) - 1):"})  # never the last


@answers.right
def stage_by_stage(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    best: Any = None

    def go(stage: int, kept: int, lost: float, plan: list[int]) -> None:
        nonlocal best
        if stage == len(inputs):
            if best is None or lost < best[0]:
                best = lost, list(plan)
            return
        here = kept + inputs[stage]
        if here + inside[stage] > limit:
            return
        go(stage + 1, here + inside[stage], lost, plan)
        go(stage + 1, here, lost + seconds[stage], [*plan, stage])

    go(0, 0, 0.0, [])
    return None if best is None else tuple(best[1])


@answers.right
def by_bits(inputs: Any, inside: Any, seconds: Any, limit: Any) -> Any:
    best, found = float("inf"), None
    for number in range(2 ** len(inputs)):
        plan = {s for s in range(len(inputs)) if number >> s & 1}
        lost = sum(seconds[s] for s in plan)
        if lost < best and recompute_peak(inputs, inside, plan) <= limit:
            best, found = lost, plan
    return found


EXERCISE = Exercise(
    task="Choose the stages to recompute: within the limit, with the fewest seconds more.",
    reference=recompute_plan,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(alike,),
)
