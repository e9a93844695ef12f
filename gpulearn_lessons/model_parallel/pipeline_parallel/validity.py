"""Whether a pipeline schedule can be carried out: each pass once, in order, and no deadlock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gpulearn.errors import BadInput
from gpulearn_lessons.model_parallel.pipeline_parallel.schedule import Action, Schedule

# of one micro-batch on one stage: the passes that there are, in order
WHOLE, SPLIT = ("F", "B"), ("F", "I", "W")


def needs(action: Action, schedule: Schedule) -> int | None:
    """The stage whose result has to be there first; None where there is none."""
    if action.kind == "F":
        return action.stage - 1 if action.stage else None
    return action.stage + 1 if action.goes_back and action.stage + 1 < schedule.stages else None


def needed_by(action: Action, schedule: Schedule) -> int | None:
    """The stage that waits for the result of an action; None where there is none."""
    if action.kind == "F":
        return action.stage + 1 if action.stage + 1 < schedule.stages else None
    return action.stage - 1 if action.goes_back and action.stage else None


def check_schedule(schedule: Schedule, *, blocking: bool = False) -> None:
    """Refuse a schedule that leaves a pass out, does it too early, or would never end.

    Each rank receives just before the pass that needs the message, and sends just after the one
    that makes it. A blocking send ends only when the other side receives, as `gl.parallel.send`;
    else it lets its rank go on at once, as `isend`.

    >>> check_schedule(Schedule("", [[("F", 0), ("B", 0)], [("F", 0)]]))
    Traceback (most recent call last):
    ...
    simt.errors.BadInput: micro-batch 0 on rank 1 lacks B0.
    """
    _check_passes(schedule)
    for rank in range(len(schedule.ranks)):
        _check_order(rank, schedule)
    if waiting := _stuck(schedule, blocking):
        raise BadInput(_ring(waiting, schedule))


def _check_passes(schedule: Schedule) -> None:
    """Each stage on one rank, with every pass of every micro-batch once."""
    m, count = schedule.micro_batches, schedule.stages
    if not count:
        raise BadInput(f"the schedule {schedule.name!r} is empty: no rank does anything.")
    for rank, actions in enumerate(schedule.ranks):
        for stage in {a.stage for a in actions}:
            if (other := schedule.place[stage]) != rank:
                raise BadInput(
                    f"stage {stage} is on rank {rank} and on rank {other}: it can be on one alone."
                )
        if twice := [action for action, n in Counter(actions).items() if n > 1]:
            raise BadInput(f"rank {rank} does {_phrase(twice[0], schedule)} twice.")
    every = {action for actions in schedule.ranks for action in actions}
    for stage in range(count):
        if stage not in schedule.place:
            raise BadInput(f"stage {stage} is on no rank, and there are {count}.")
        for micro in range(m):
            there = {a.kind for a in every if a.stage == stage and a.micro == micro}
            if there in (set(WHOLE), set(SPLIT)):
                continue
            where = f"micro-batch {micro} on rank {schedule.place[stage]}"
            if "B" in there and there & {"I", "W"}:
                raise BadInput(f"{where} has a whole backward pass and a half one: take either.")
            kinds = SPLIT if there & {"I", "W"} else WHOLE
            missing = next(kind for kind in kinds if kind not in there)
            raise BadInput(f"{where} lacks {_phrase(Action(missing, micro, stage), schedule)}.")


def _check_order(rank: int, schedule: Schedule) -> None:
    """What a rank can see by itself: forward before backward, and the halves in order."""
    done: set[Action] = set()
    for action in schedule.ranks[rank]:
        first = {"B": "F", "I": "F", "W": "I"}.get(action.kind)
        if first and action._replace(kind=first) not in done:
            early, late = (_phrase(a, schedule) for a in (action, action._replace(kind=first)))
            why = (
                "a backward pass needs what its forward pass kept"
                if first == "F"
                else "the half for the weights needs what the half for the input found"
            )
            raise BadInput(f"rank {rank} does {early} before {late}: {why}.")
        done.add(action)


@dataclass(frozen=True)
class _Wait:
    """A rank that cannot go on: at which action, on which rank, for whose pass if it receives."""

    action: Action
    peer: int
    giver: Action | None = None


def _stuck(schedule: Schedule, blocking: bool) -> dict[int, _Wait]:
    """Carry the schedule out without any work; who waits when nobody can go on."""
    results: set[tuple[int, Action]] = set()  # (stage that needs it, action)
    waits: dict[int, _Wait] = {}
    receiving: set[Action] = set()  # what their ranks have come to

    def steps(rank: int) -> Iterator[_Wait]:
        """Be one rank; yields where it has to wait."""
        for action in schedule.ranks[rank]:
            source, target = needs(action, schedule), needed_by(action, schedule)
            if source is not None:
                giver = _same_pass(action, source, schedule)
                receiving.add(action)
                while (action.stage, giver) not in results:
                    yield _Wait(action, schedule.place[source], giver)
                receiving.discard(action)
            if target is not None:
                taker, peer = _same_pass(action, target, schedule), schedule.place[target]
                while blocking and peer != rank and taker not in receiving:
                    yield _Wait(action, peer)
                results.add((target, action))

    running = {rank: steps(rank) for rank in range(len(schedule.ranks))}
    moved = True
    while moved:
        moved = False
        for rank, passes in list(running.items()):
            before = (len(results), waits.get(rank))
            wait = next(passes, None)
            if wait is None:
                del running[rank]
                waits.pop(rank, None)
                moved = True
                continue
            waits[rank] = wait
            moved |= before != (len(results), wait)
    return waits


def _same_pass(action: Action, stage: int, schedule: Schedule) -> Action:
    """The pass of another stage in the same direction: its backward may be whole or split."""
    if action.kind == "F":
        return action._replace(stage=stage)
    there = schedule.ranks[schedule.place[stage]]
    halved = Action("I", action.micro, stage)
    return halved if halved in there else Action("B", action.micro, stage)


def _ring(waiting: dict[int, _Wait], schedule: Schedule) -> str:
    """The ranks of which each waits for the next and the last for the first, in one sentence."""
    path: list[int] = []
    rank = min(waiting)
    while rank not in path:
        path.append(rank)
        rank = waiting[rank].peer
    ring = {rank: waiting[rank] for rank in path[path.index(rank) :]}
    parts = [
        f"rank {rank} needs {_phrase(wait.giver, schedule)} of rank {wait.peer} for "
        f"{_phrase(wait.action, schedule)}"
        if wait.giver
        else f"rank {rank} sends the result of {_phrase(wait.action, schedule)} to rank {wait.peer}"
        for rank, wait in ring.items()
    ]
    end = (
        "each comes before what the next one waits for"
        if all(wait.giver for wait in ring.values())
        else "a send ends when the other side receives"
    )
    return f"deadlock: {', and '.join(parts)}: {end}."


def _phrase(action: Action, schedule: Schedule) -> str:
    """An action in a sentence; with its stage where its rank has several."""
    rank = schedule.place[action.stage]
    several = len(schedule.stages_of(rank)) > 1
    return f"{action}" + (f" of stage {action.stage}" if several else "")
