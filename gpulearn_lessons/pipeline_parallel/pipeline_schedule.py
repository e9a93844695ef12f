"""The order of one rank's passes in 1F1B: legal, as short as can be, and holding the least."""

from dataclasses import dataclass, field
from typing import Any

from gpulearn.errors import BadInput
from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import NOTHING, odd
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.pipeline_parallel.actions import schedule_of
from gpulearn_lessons.pipeline_parallel.clock import time_schedule
from gpulearn_lessons.pipeline_parallel.orders import pipeline_schedule
from gpulearn_lessons.pipeline_parallel.validity import check_schedule


@dataclass(frozen=True)
class OrdersOfRanks:
    """What an answer lets the ranks do."""

    micro_batches: int  # how many there are
    orders: list[Any] = field(default_factory=list)  # of all ranks
    refused: str = ""  # why they cannot be carried out, if so
    seconds: float = 0.0  # on the simulated clock; a forward pass takes 1 and a backward pass 2
    # forward passes whose activations each rank holds at most
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
    schedule = schedule_of("yours", orders)
    try:
        if not any(orders):
            raise BadInput("no rank does anything.")
        check_schedule(schedule)
    except BadInput as error:
        return OrdersOfRanks(m, orders, str(error).rstrip("."))
    return OrdersOfRanks(m, orders, "", time_schedule(schedule).seconds, schedule.most_held)


def listed(order: Any) -> Any:
    """An order as a list of pairs; what is wrong with it, in words, if it is none."""
    if order is None:
        return NOTHING
    if strange := odd(order):
        return strange
    if not isinstance(order, list | tuple):
        return f"it returns {shown(order)}, expected a list of pairs such as ('F', 0)"
    pairs = []
    for entry in order:
        pair = isinstance(entry, list | tuple) and len(entry) == 2
        if not pair or entry[0] not in ("F", "B") or type(entry[1]) is not int:
            return f"{shown(entry)} is in its list: expected pairs such as ('F', 0) and ('B', 0)"
        pairs.append((entry[0], entry[1]))
    return pairs


def difference(got: OrdersOfRanks, want: OrdersOfRanks) -> str | None:
    if got.refused:
        return got.refused
    if got.seconds > want.seconds * (1 + 1e-9):
        return (
            f"it can be carried out, and takes {got.seconds:g} s on the simulated clock (forward "
            f"1 s, backward 2 s), where {want.seconds:g} s are enough"
        )
    for rank, (held, enough) in enumerate(zip(got.held, want.held, strict=True)):
        if held > enough:
            return (
                f"it takes no longer than it has to, and rank {rank} holds the activations of "
                f"{held} micro-batches at a time, where {enough} would do"
            )
    return None


def same_orders(one: OrdersOfRanks, other: OrdersOfRanks) -> bool:
    return bool(one.orders == other.orders)


def same_outcome(one: OrdersOfRanks, other: OrdersOfRanks) -> bool:
    """Whether the same becomes of two answers: refused alike, or as long and holding as much."""
    if one.refused or other.refused:
        return one.refused == other.refused
    return one.seconds == other.seconds and one.held == other.held


EXERCISE = Exercise(
    task="Write the order of one rank's passes in 1F1B.",
    reference=pipeline_schedule,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(same_orders, same_outcome),
    by_hand=False,
)
