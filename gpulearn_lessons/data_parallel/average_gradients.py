"""Gradient averaging: the mean over all samples, on replicas with equal shards and not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import demand_on_real_ranks
from gpulearn.parallel.averaging import average_gradients
from gpulearn_lessons.data_parallel import trial
from gpulearn_lessons.data_parallel.defaults import demand_defaults
from gpulearn_lessons.data_parallel.trial import ReplicaStep


def cases() -> list[Case]:
    """Equal shards and not, a rank without samples, layers that some ranks do not use."""
    steps = {
        "2 ranks with 1 sample each": ReplicaStep((1, 1)),
        "2 ranks with 3 samples and 1": ReplicaStep((3, 1)),
        "3 ranks with 8 samples each": ReplicaStep((8, 8, 8), trial.convolution),
        "4 ranks with 5, 2, 4 and 1 samples": ReplicaStep((5, 2, 4, 1), trial.convolution),
        "1 rank with 6 samples": ReplicaStep((6,)),
        "3 ranks, of which rank 1 has no samples": ReplicaStep((4, 0, 2)),
        "2 ranks, of which rank 1 did not use the first layer": ReplicaStep(
            (2, 2), unused=((1, 0), (1, 1))
        ),
        "3 ranks, of which only one used the last layer": ReplicaStep(
            (2, 1, 3), unused=((0, 2), (0, 3), (2, 2), (2, 3)), dtype=torch.float64
        ),
        "2 ranks and a last parameter that one of them used": ReplicaStep(
            (1, 2), trial.convolution, unused=((0, 3),)
        ),
        "2 ranks and a parameter that none has used": ReplicaStep((3, 2), unused=((0, 3), (1, 3))),
        "2 ranks and a first layer that is frozen": ReplicaStep((2, 3), frozen=(0, 1)),
        "2 ranks and a weight that two layers share": ReplicaStep((1, 3), trial.tied),
        "2 ranks and a filter whose channels lie side by side": ReplicaStep(
            (3, 1), trial.channels_last
        ),
        "2 ranks with 70000 samples and 3": ReplicaStep((70_000, 3)),
        "2 ranks and large gradients in float64": ReplicaStep(
            (7, 2), dtype=torch.float64, scale=1e60
        ),
    }
    return [Case(label, (step,)) for label, step in steps.items()]


def real(count: int) -> list[ReplicaStep]:
    """What real ranks average, one after another."""
    uneven = tuple(range(1, count + 1))
    return [
        ReplicaStep((4,) * count, trial.convolution),
        ReplicaStep(uneven, dtype=torch.float64),
        ReplicaStep((*uneven[1:], 0), trial.convolution),
        ReplicaStep(uneven, unused=((0, 0), (count - 1, 3))),
    ]


REAL = demand_on_real_ranks(trial.act, (2, 3), real, trial.judge)


def on_real_ranks_too(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked: the stub's default, and to be right on real ranks."""
    sentence = demand_defaults(average_gradients)(answer, outcomes)
    return sentence or REAL(answer, outcomes)


EXERCISE = Exercise(
    task="Replace each gradient, on every rank, by that of the mean loss over all samples.",
    reference=average_gradients,
    cases=cases,
    run=trial.simulated,
    by_hand=False,
    expect=trial.expected,
    difference=trial.difference,
    demand=on_real_ranks_too,
    kinships=trial.KINSHIPS,
)
