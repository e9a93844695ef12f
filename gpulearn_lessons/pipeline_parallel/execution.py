"""A pipeline schedule carried out: each rank receives, does its pass and sends, in order."""

from typing import Protocol

import torch
from torch import Tensor

from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import Handle, isend, rank, recv, world_size
from gpulearn.require import shown
from gpulearn_lessons.pipeline_parallel.actions import Action, Schedule
from gpulearn_lessons.pipeline_parallel.validity import (
    check_schedule,
    needed_by,
    needs,
)

# of what travels between stages, by their number in a header
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
MAX_AXES = 6


class PassWork(Protocol):
    """What a rank does in a pass; with `tells_shapes` a forward result's shape travels first."""

    tells_shapes: bool

    def landing(self, action: Action) -> Tensor:
        """A tensor for what an action receives, where no shape has come."""

    def do(self, action: Action, given: Tensor | None) -> Tensor | None:
        """Carry an action out: from what was received to what is to be sent."""


def carry_out(schedule: Schedule, work: PassWork) -> None:
    """Go through this rank's actions: receive, do, begin to send.

    A send lets its rank go on at once, so that a schedule without a circle comes to its end; one
    that `check_schedule` refuses does not begin.
    """
    check_schedule(schedule)
    if world_size() != len(schedule.ranks):
        raise BadInput(
            f"the schedule {schedule.name!r} is for {len(schedule.ranks)} ranks, and there are "
            f"{world_size()}."
        )
    me = rank()
    local: dict[int, Tensor] = {}  # results of one stage of this rank for another, by tag
    leaving: dict[int, list[Handle]] = {}
    for action in schedule.ranks[me]:
        received = None
        source, target = needs(action, schedule), needed_by(action, schedule)
        if source is not None:
            tag = _tag(action, action.stage, schedule)
            place = schedule.place[source]
            received = local.pop(tag) if place == me else _received(work, action, place, tag)
            if action.kind == "B":  # then what this stage has sent is there, and can be let go
                for handle in leaving.pop(_tag(action._replace(kind="F"), source, schedule), []):
                    handle.wait()
        result = work.do(action, received)
        if target is None or result is None:
            continue
        tag = _tag(action, target, schedule)
        if schedule.place[target] == me:
            local[tag] = result
            continue
        to = schedule.place[target]
        tells = work.tells_shapes and action.kind == "F"
        header = [isend(_header(result), to, tag)] if tells else []
        leaving[tag] = [*header, isend(result, to, tag)]
    for handles in leaving.values():
        for handle in handles:
            handle.wait()


def _tag(action: Action, target: int, schedule: Schedule) -> int:
    """A number for an action's result or input, as stage `target` receives it."""
    return 2 * (action.micro * schedule.stages + target) + (action.kind == "B")


def _received(work: PassWork, action: Action, source: int, tag: int) -> Tensor:
    if not (work.tells_shapes and action.kind == "F"):
        return recv(work.landing(action), source, tag)
    header = recv(torch.empty(2 + MAX_AXES, dtype=torch.int64), source, tag)
    kind, axes, *shape = header.tolist()
    return recv(torch.empty(shape[:axes], dtype=DTYPES[kind]), source, tag)


def _header(result: Tensor) -> Tensor:
    """Dtype, number of axes, and shape: what a receiver has to know."""
    if result.dtype not in DTYPES or result.ndim > MAX_AXES:
        raise BadInput(
            f"a stage makes {shown(result)} of {result.dtype}: the next one takes floating-point "
            f"numbers with at most {MAX_AXES} axes."
        )
    padding = [0] * (MAX_AXES - result.ndim)
    return torch.tensor([DTYPES.index(result.dtype), result.ndim, *result.shape, *padding])
