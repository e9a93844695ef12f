"""The mean of all ranks' gradients: replicas on which an answer is tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gpulearn.checker.answers import Answer
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.data_parallel.averaging_answers import answers
from gpulearn.exercise.data_parallel.defaults import demand_defaults
from gpulearn.exercise.data_parallel.trial import (
    KINSHIPS,
    Step,
    convolution,
    difference,
    expected,
    on_real_ranks,
    simulated,
    tied,
)
from gpulearn.parallel.averaging import average_gradients

__all__ = ["EXERCISE"]


def cases() -> list[Case]:
    """Equal shards and not, a rank without samples, layers that some ranks do not use."""
    steps = {
        "2 ranks with 1 sample each": Step((1, 1)),
        "2 ranks with 3 samples and 1": Step((3, 1)),
        "3 ranks with 8 samples each": Step((8, 8, 8), convolution),
        "4 ranks with 5, 2, 4 and 1 samples": Step((5, 2, 4, 1), convolution),
        "1 rank with 6 samples": Step((6,)),
        "3 ranks, of which rank 1 has no samples": Step((4, 0, 2)),
        "2 ranks, of which rank 1 did not use the first layer": Step(
            (2, 2), unused=((1, 0), (1, 1))
        ),
        "3 ranks, of which one alone used the last layer": Step(
            (2, 1, 3), unused=((0, 2), (0, 3), (2, 2), (2, 3)), dtype=torch.float64
        ),
        "2 ranks and a last parameter that one of them used": Step(
            (1, 2), convolution, unused=((0, 3),)
        ),
        "2 ranks and a parameter that none has used": Step((3, 2), unused=((0, 3), (1, 3))),
        "2 ranks and a first layer that is frozen": Step((2, 3), frozen=(0, 1)),
        "2 ranks and a weight that two layers share": Step((1, 3), tied),
        "2 ranks with 70000 samples and 3": Step((70_000, 3)),
        "2 ranks and large gradients in float64": Step((7, 2), dtype=torch.float64, scale=1e60),
    }
    return [Case(label, (step,)) for label, step in steps.items()]


def real(count: int) -> list[Step]:
    """What real ranks average, one after another."""
    uneven = tuple(range(1, count + 1))
    return [
        Step((4,) * count, convolution),
        Step(uneven, dtype=torch.float64),
        Step((*uneven[1:], 0), convolution),
        Step(uneven, unused=((0, 0), (count - 1, 3))),
    ]


REAL = on_real_ranks((2, 3), real)


def on_real_ranks_too(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked: the stub's default, and to be right on real ranks."""
    said = demand_defaults(average_gradients)(answer, outcomes)
    return said or REAL(answer, outcomes)


EXERCISE = Exercise(
    name="average_gradients",
    notebook="14_data_parallel",
    task="Replace each gradient, on every rank, by that of the mean loss over all samples.",
    reference=average_gradients,
    cases=cases,
    answers=answers,
    run=simulated,
    expect=expected,
    difference=difference,
    demand=on_real_ranks_too,
    kinships=KINSHIPS,
)
