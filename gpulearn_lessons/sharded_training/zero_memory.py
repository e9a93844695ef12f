"""Bytes that a rank keeps in each stage of sharding."""

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.sharded_training.memory import zero_memory

SIZES: dict[str, float] = {"weights": 4, "gradients": 4, "state": 8}


def cases() -> list[Case]:
    """Each stage; counts that N divides and that it does not; fewer numbers than ranks."""
    plans: list[tuple[list[int], int, int, dict[str, float]]] = [
        *(([1000], 4, stage, SIZES) for stage in range(4)),
        *(([7_500_000_000], 64, stage, {}) for stage in range(4)),
        *(([10, 7, 1], 4, stage, SIZES) for stage in range(4)),
        ([5, 3], 1, 3, {}),
        ([9, 9, 2], 4, 3, {}),
        ([3], 8, 3, {"weights": 2, "gradients": 4, "state": 16}),
        ([100, 100], 8, 2, {"weights": 4, "gradients": 4, "state": 0}),
    ]
    return [
        Case(
            f"{shown(counts)} parameters, {ranks} rank{'s' * (ranks > 1)}, stage {stage}",
            (counts, ranks, stage, sizes),
        )
        for counts, ranks, stage, sizes in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    counts, ranks, stage, sizes = case.args
    return partial(answer, list(counts), ranks, stage)(**sizes)


def difference(got: Any, want: Any) -> str | None:
    if isinstance(got, np.ndarray) and got.shape == (3,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 3:
        return f"it returns {shown(got)}, expected three numbers: weights, gradients, state"
    for name, value, right in zip(("weights", "gradients", "state"), got, want, strict=True):
        if compare.numbers_or_none(value, right) is not None:
            size = f"{value:,.12g}" if compare.is_number(value) else shown(value)
            take = "takes" if name == "state" else "take"
            return f"the {name} {take} {size} bytes, expected {right:,.0f}"
    return None


EXERCISE = Exercise(
    task="Compute the bytes of weights, gradients and state that one rank keeps in each stage.",
    reference=zero_memory,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(partial(compare.same_numbers, relative=1e-12),),
)
