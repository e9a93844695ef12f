"""The order of one rank's passes in 1F1B: legal, as short as can be, and holding the least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpulearn.errors import BadInput
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.compare import NOTHING, odd
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.model_parallel.pipeline_parallel.clock import time_schedule
from gpulearn_lessons.model_parallel.pipeline_parallel.orders import pipeline_schedule
from gpulearn_lessons.model_parallel.pipeline_parallel.schedule import Schedule
from gpulearn_lessons.model_parallel.pipeline_parallel.validity import check_schedule

answers = Answers(pipeline_schedule)

WARM = "min(ranks - rank, micro_batches)"
BACK = 'order.append(("B", micro))'
MORE = "if micro + warm < micro_batches:"
THEN = 'order.append(("F", micro + warm))'
PAIR = f"        {BACK}\n        {MORE}\n            {THEN}\n"


@dataclass(frozen=True)
class OrdersOfRanks:
    """What an answer lets the ranks do.

    Attributes:
        micro_batches: how many there are.
        orders: of all ranks.
        refused: why they cannot be carried out, if so.
        seconds: on the simulated clock; a forward pass takes 1 and a backward pass 2.
        held: forward passes whose activations each rank holds at most.
    """

    micro_batches: int
    orders: list[Any] = field(default_factory=list)
    refused: str = ""
    seconds: float = 0.0
    held: list[int] = field(default_factory=list)


def cases() -> list[Case]:
    """One rank and many, fewer micro-batches than ranks, as many, more."""
    plans = [(2, 4), (4, 8), (1, 3), (3, 3), (4, 2), (5, 1), (6, 7)]
    return [
        Case(f"{p} rank{'s' if p > 1 else ''} and {m} micro-batch{'es' if m > 1 else ''}", (p, m))
        for p, m in plans
    ]


def run(answer: Answer, case: Case) -> OrdersOfRanks:
    """Ask for each rank's order, and carry all of them out."""
    p, m = case.args
    orders = [listed(answer(rank, p, m)) for rank in range(p)]
    for rank, order in enumerate(orders):
        if isinstance(order, str):
            return OrdersOfRanks(m, orders, f"for rank {rank} {order}")
        if strange := [pair for pair in order if not 0 <= pair[1] < m]:
            kind, micro = strange[0]
            return OrdersOfRanks(
                m, orders, f"rank {rank} does {kind}{micro}: micro-batches are 0 to {m - 1}"
            )
    schedule = Schedule("yours", orders)
    try:
        if not any(orders):
            raise BadInput("no rank does anything.")
        check_schedule(schedule)
    except BadInput as error:
        return OrdersOfRanks(m, orders, str(error).rstrip("."))
    return OrdersOfRanks(m, orders, "", time_schedule(schedule).seconds, schedule.most_held)


def listed(given: Any) -> Any:
    """An order as a list of pairs; what is wrong with it, in words, if it is none."""
    if given is None:
        return NOTHING
    if strange := odd(given):
        return strange
    if not isinstance(given, list | tuple):
        return f"it returns {shown(given)}, expected a list of pairs such as ('F', 0)"
    found = []
    for one in given:
        pair = isinstance(one, list | tuple) and len(one) == 2
        if not pair or one[0] not in ("F", "B") or type(one[1]) is not int:
            return f"{shown(one)} is in its list: expected pairs such as ('F', 0) and ('B', 0)"
        found.append((one[0], one[1]))
    return found


def difference(got: OrdersOfRanks, wanted: OrdersOfRanks) -> str | None:
    """One sentence: what cannot be carried out, takes too long, or holds too much; or None."""
    if got.refused:
        return got.refused
    if got.seconds > wanted.seconds * (1 + 1e-9):
        return (
            f"it can be carried out, and takes {got.seconds:g} s on the simulated clock (forward "
            f"1 s, backward 2 s), where {wanted.seconds:g} s are enough"
        )
    for rank, (held, enough) in enumerate(zip(got.held, wanted.held, strict=True)):
        if held > enough:
            return (
                f"it takes no longer than it has to, and rank {rank} holds the activations of "
                f"{held} micro-batches at a time, where {enough} would do"
            )
    return None


def same_orders(one: OrdersOfRanks, other: OrdersOfRanks) -> bool:
    """Whether two answers give the same lists."""
    return bool(one.orders == other.orders)


def same_outcome(one: OrdersOfRanks, other: OrdersOfRanks) -> bool:
    """Whether the same becomes of two answers: refused alike, or as long and holding as much."""
    if one.refused or other.refused:
        return one.refused == other.refused
    return one.seconds == other.seconds and one.held == other.held


TOO_SHORT = (
    "the warm-up is one pass too short: rank r needs p − r forward passes before its first "
    "gradient can be there, one for itself and one for each rank behind it."
)
ONE_MORE = (
    "each rank holds one micro-batch more than it has to: after p − r forward passes the gradient "
    "of the oldest can come, so the backward pass is next."
)

answers.edit({WARM: "min(ranks - rank - 1, micro_batches)"}, TOO_SHORT)
answers.edit(
    {WARM: "max(1, min(ranks - rank - 1, micro_batches))"},
    f"{TOO_SHORT} As it is, each rank waits for a gradient while it could go forwards.",
)
answers.edit({WARM: "min(ranks - rank + 1, micro_batches)"}, ONE_MORE)
answers.edit(
    {PAIR: f"        {MORE}\n            {THEN}\n        {BACK}\n"},
    ONE_MORE,
)
answers.edit(
    {WARM: "min(rank + 1, micro_batches)"},
    "the ranks are taken in the wrong order: rank 0 is the farthest from the loss, so its "
    "warm-up is the longest, p passes, and the last rank's is one.",
)
answers.edit(
    {WARM: "min(rank, micro_batches)"},
    "the warm-up grows with the rank, and rank 0 has none: rank 0 is the farthest from the loss "
    "and needs p passes, the last rank one.",
)
answers.edit(
    {WARM: "micro_batches"},
    "that is GPipe, all forward passes first: it takes as long, and each rank holds all "
    "micro-batches. Let a backward pass come as soon as its gradient can be there.",
)
answers.edit(
    {WARM: "1"},
    "each rank goes back with a micro-batch before it takes the next one: that is the naive order, "
    "in which one rank works at a time. Let rank r do p − r forward passes first.",
)
answers.edit(
    {WARM: "min(ranks, micro_batches)"},
    "every rank does p forward passes first: that is right for rank 0, and rank r is r steps "
    "nearer to the loss.",
)
answers.edit(
    {WARM: "ranks - rank"},
    "with fewer micro-batches than ranks the warm-up goes on past the last one: it has at most m.",
)
answers.edit(
    {BACK: 'order.append(("B", micro_batches - 1 - micro))'},
    "the backward passes begin with the last micro-batch, which has not gone forwards yet: take "
    "the oldest first.",
)
answers.edit(
    {BACK: 'order.append(("B", min(micro + warm, micro_batches) - 1))'},
    "the backward pass is that of the newest micro-batch: its gradient comes last, since the "
    "oldest is the first to reach the loss.",
)
answers.edit(
    {BACK: 'order.append(("B", micro + 1))'},
    "the backward pass is that of the next micro-batch: begin with micro-batch 0.",
)
answers.edit(
    {"for micro in range(micro_batches):": "for micro in range(micro_batches - warm):"},
    "the cool-down is missing: when no forward pass is left, the gradients of the last "
    "micro-batches are still to come.",
)
answers.edit(
    {MORE: "if micro + warm <= micro_batches:"},
    "there is one forward pass too many: the last micro-batch is m − 1.",
)
answers.edit(
    {THEN: 'order.append(("F", micro))'},
    "after the warm-up the forward passes begin again with micro-batch 0: the next one is that "
    "after those of the warm-up.",
)
answers.edit(
    {THEN: 'order.append(("F", micro + 1))'},
    "the forward pass after a backward pass of micro-batch i is that of i + 1: rank r has done "
    "p − r by then, and the next one is i + p − r.",
)
answers.edit(
    {f"        {MORE}\n            {THEN}\n": ""},
    "there are no forward passes after the warm-up: each backward pass is followed by one, as "
    "long as there are any.",
)
answers.edit(
    {WARM: "min(ranks - rank - 1, micro_batches)", PAIR: f"        {BACK}\n        {THEN}\n"},
    "the warm-up is one pass too short, and forward passes go on past the last micro-batch.",
)
answers.edit(
    {
        "for micro in range(warm)]": "for micro in range(1, warm + 1)]",
        BACK: 'order.append(("B", micro + 1))',
        THEN: 'order.append(("F", micro + warm + 1))',
    },
    "micro-batches are counted from 0.",
)

answers.variant(
    {
        WARM: "min(ranks - rank - 1, micro_batches)",
        f"    for micro in range(micro_batches):\n{PAIR}": (
            "    for micro in range(micro_batches - warm):\n"
            '        order += [("F", micro + warm), ("B", micro)]\n'
            '    order += [("B", micro) for micro in range(micro_batches - warm, micro_batches)]\n'
        ),
    }
)


@answers.right
def by_counting(rank: int, ranks: int, micro_batches: int) -> list[tuple[str, int]]:
    order, ahead, done = [], 0, 0
    while done < micro_batches:
        if ahead < micro_batches and ahead - done < ranks - rank:
            order.append(("F", ahead))
            ahead += 1
        else:
            order.append(("B", done))
            done += 1
    return order


KINSHIPS: tuple[Callable[[Any, Any], bool], ...] = (same_orders, same_outcome)

EXERCISE = Exercise(
    task="Write the order of one rank's passes in 1F1B.",
    reference=pipeline_schedule,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=KINSHIPS,
    by_hand=False,
)
