"""Whether a pipeline schedule can be carried out: each pass once, in order, and no deadlock."""

from __future__ import annotations

from collections import Counter, deque

from gpulearn.errors import BadInput
from gpulearn_lessons.pipeline_parallel.actions import Action, Schedule


def needs(action: Action, schedule: Schedule) -> int | None:
    """The stage whose result has to be there first; None where there is none."""
    return _neighbor(action.stage + (-1 if action.kind == "F" else 1), schedule)


def needed_by(action: Action, schedule: Schedule) -> int | None:
    """The stage that waits for the result of an action; None where there is none."""
    return _neighbor(action.stage + (1 if action.kind == "F" else -1), schedule)


def _neighbor(stage: int, schedule: Schedule) -> int | None:
    return stage if 0 <= stage < schedule.stages else None


def check_schedule(schedule: Schedule) -> None:
    """Refuse a schedule that leaves a pass out, does it too early, or would never end.

    Each rank receives just before the pass that needs the message, and begins to send just after
    the one that makes it, as by `isend`.

    >>> from gpulearn_lessons.pipeline_parallel.actions import schedule_of
    >>> check_schedule(schedule_of("", [[("F", 0), ("B", 0)], [("F", 0)]]))
    Traceback (most recent call last):
    ...
    simt.errors.BadInput: micro-batch 0 on rank 1 lacks B0.
    """
    _check_passes(schedule)
    for rank in range(len(schedule.ranks)):
        _check_order(rank, schedule)
    if waiting := _stuck(schedule):
        raise BadInput(_ring(waiting, schedule))


def _check_passes(schedule: Schedule) -> None:
    """Every pass of every micro-batch once on each stage."""
    m, count = schedule.micro_batches, schedule.stages
    if not count:
        raise BadInput(f"the schedule {schedule.name!r} is empty: no rank does anything.")
    for rank, actions in enumerate(schedule.ranks):
        if twice := [action for action, n in Counter(actions).items() if n > 1]:
            raise BadInput(f"rank {rank} does {twice[0]} twice.")
    every = {action for actions in schedule.ranks for action in actions}
    for stage in range(count):
        if stage not in schedule.place:
            raise BadInput(f"stage {stage} is on no rank, and there are {count}.")
        for micro in range(m):
            there = {a.kind for a in every if a.stage == stage and a.micro == micro}
            for missing in (kind for kind in "FB" if kind not in there):
                raise BadInput(
                    f"micro-batch {micro} on rank {schedule.place[stage]} lacks "
                    f"{Action(missing, micro, stage)}."
                )


def _check_order(rank: int, schedule: Schedule) -> None:
    """What a rank can see by itself: forward before backward."""
    done: set[Action] = set()
    for action in schedule.ranks[rank]:
        forward = action._replace(kind="F")
        if action.kind == "B" and forward not in done:
            raise BadInput(
                f"rank {rank} does {action} before {forward}: a backward pass needs what its "
                f"forward pass kept."
            )
        done.add(action)


def _stuck(schedule: Schedule) -> dict[int, Action]:
    """Go through the orders without any work: where each rank stops that cannot go on."""
    done: set[Action | None] = {None}  # what needs nothing can begin
    orders = {rank: deque(actions) for rank, actions in enumerate(schedule.ranks)}
    moved = True
    while moved:
        moved = False
        for order in orders.values():
            while order and _giver(order[0], schedule) in done:
                done.add(order.popleft())
                moved = True
    return {rank: order[0] for rank, order in orders.items() if order}


def _giver(action: Action, schedule: Schedule) -> Action | None:
    """The pass whose result an action needs."""
    source = needs(action, schedule)
    return None if source is None else action._replace(stage=source)


def _ring(waiting: dict[int, Action], schedule: Schedule) -> str:
    """The ranks of which each waits for the next and the last for the first, in one sentence."""
    path: list[int] = []
    parts: list[str] = []
    rank = min(waiting)
    while rank not in path:
        action, giver = waiting[rank], _giver(waiting[rank], schedule)
        assert giver is not None  # else it would go on
        peer = schedule.place[giver.stage]
        parts.append(f"rank {rank} needs {giver} of rank {peer} for {action}")
        path.append(rank)
        rank = peer
    ring = ", and ".join(parts[path.index(rank) :])
    return f"deadlock: {ring}: each comes before what the next one waits for."
