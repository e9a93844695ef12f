"""The layout with the shortest step, found with no look at one that cannot be."""

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import best_layout


@dataclass(frozen=True)
class Cluster:
    """What is asked about, and how long a step takes on it."""

    gpus: int  # all of them
    layers: int  # of the model
    heads: int  # of its attention
    machine: int  # GPUs of one machine
    tensor: float  # seconds for each doubling of tensor-parallel GPUs
    pipeline: float  # seconds for each stage
    data: float  # seconds for each doubling of replicas
    least: int = 1  # GPUs that have to share a replica; where fewer do, it does not fit

    def seconds(self, tensor: int, pipeline: int, data: int) -> float | None:
        """Of a step; None where fewer than `least` GPUs share a replica."""
        if tensor * pipeline < self.least:
            return None
        return (
            1.0
            + self.tensor * math.log2(tensor)
            + self.pipeline * (pipeline - 1)
            + self.data * math.log2(max(1, data))
        )


WORKS = (
    Cluster(1, 4, 4, 8, 0.1, 0.1, 0.1),
    Cluster(8, 4, 8, 8, 0.1, 0.2, 0.3),
    Cluster(8, 8, 8, 8, 0.3, 0.01, 0.2),
    Cluster(64, 16, 16, 8, 0.05, 0.02, 0.2),
    Cluster(64, 12, 6, 8, 0.01, 0.5, 0.4),  # tensor 4 and 8 do not divide the heads
    Cluster(64, 12, 48, 8, 0.01, 0.5, 0.4),
    Cluster(96, 10, 12, 8, 0.2, 0.001, 0.2),  # 3, 6 and 12 stages do not divide the layers
    Cluster(64, 64, 64, 4, 0.001, 0.9, 0.9),  # machines of four
    Cluster(6, 6, 6, 2, 0.001, 0.9, 0.9),  # one GPU more than a machine has divides the heads
    Cluster(16, 8, 8, 8, 0.3, 0.2, 0.01, least=8),  # few GPUs for a replica do not fit
    Cluster(16, 2, 2, 8, 0.1, 0.1, 0.1, least=8),  # nothing fits
    Cluster(32, 8, 8, 8, 0.0, 0.0, 0.0),  # all are equal
    Cluster(7, 7, 7, 8, 0.1, 0.3, 0.2),
    Cluster(16, 4, 4, 8, 0.0, 0.0, 0.0, least=2),  # two stages and a tensor of two are equal
    Cluster(48, 12, 12, 8, 0.5, 0.01, 0.2),  # 12 stages are the fastest
    Cluster(48, 12, 6, 8, 0.01, 0.5, 0.2),  # 6 tensor-parallel GPUs are the fastest
    Cluster(64, 16, 1, 8, 0.0, -0.03, -0.09),  # a few stages are slower than one, 16 are faster
    Cluster(4, 4, 1, 8, 0.0, -0.01, 0.0),  # each layout is only a little faster than the one before
    Cluster(4, 4, 2, 8, -7 / 32, -1 / 8, -5 / 32),  # four stages and a tensor of two are equal
)


def cases() -> list[Case]:
    """Clusters on which each rule of a layout counts."""
    return [
        Case(
            f"{cluster.gpus} GPU{'s' * (cluster.gpus > 1)} in machines of {cluster.machine}, "
            f"{cluster.layers} layers, {cluster.heads} head{'s' * (cluster.heads > 1)}",
            (cluster,),
        )
        for cluster in WORKS
    ]


def run(answer: Answer, case: Case) -> Any:
    """Call an answer; what it chose, and what it asked for that cannot be."""
    work: Cluster = case.args[0]
    calls: list[tuple[int, int, int]] = []

    def seconds(tensor: int, pipeline: int, data: int) -> float | None:
        calls.append((tensor, pipeline, data))
        return work.seconds(tensor, pipeline, data)

    layout = answer(work.gpus, work.layers, work.heads, seconds, work.machine)
    return as_layout(layout), allowed(work, calls)


def as_layout(got: Any) -> Any:
    """A layout as a tuple of whole numbers; anything else as it is."""
    try:
        return tuple(int(part) if part == int(part) else part for part in got)
    except (TypeError, ValueError):
        return got


def allowed(work: Cluster, calls: Sequence[tuple[int, int, int]]) -> str | None:
    """The first question about a layout that cannot be, or that was asked twice."""
    for number, layout in enumerate(calls):
        tensor, pipeline, data = layout
        if tensor * pipeline * data != work.gpus:
            return f"{layout} has {tensor * pipeline * data:g} GPUs, and there are {work.gpus}"
        if tensor > work.machine:
            return f"{layout} has more tensor-parallel GPUs than the {work.machine} of a machine"
        if work.heads % tensor:
            return f"{layout} has {tensor} tensor-parallel GPUs for {work.heads} heads"
        if work.layers % pipeline:
            return f"{layout} has {pipeline} stages for {work.layers} layers"
        if layout in calls[:number]:
            return f"{layout} is asked for more than once"
    return None


def same_choice(one: Any, other: Any) -> bool:
    """Whether two answers choose the same, and break the same rule first, if any."""
    (chose, complaint), (choice, what) = one, other
    return bool(chose == choice) and rule(complaint) == rule(what)


def rule(complaint: str | None) -> str:
    """A broken rule without its numbers."""
    return re.sub(r"\d+", "", complaint or "")


def difference(got: Any, want: Any) -> str | None:
    (choice, complaint), (right, _) = got, want
    if choice != right:
        return f"it returns {shown(choice)}, expected {right}"
    if complaint is None:
        return None
    advice = "keep what it returned" if "more than once" in complaint else "leave it out"
    return f"the layout is right, but {complaint}: {advice}"


EXERCISE = Exercise(
    task="Find the layout with the shortest step among those that are allowed.",
    reference=best_layout,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(operator.eq, same_choice),
)
