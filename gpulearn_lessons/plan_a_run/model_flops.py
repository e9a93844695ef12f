"""Operations of a training, the model's and the hardware's."""

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import model_flops


def cases() -> list[Case]:
    """Short rows and long ones, wide models and deep ones; with and without recomputation."""
    plans: list[tuple[float, int, int, int, float, dict[str, bool]]] = [
        (1000.0, 1, 8, 4, 10, {}),
        (1000.0, 1, 8, 4, 10, {"recompute": True}),
        (174.6e9, 96, 12288, 2048, 300e9, {}),
        (174.6e9, 96, 12288, 2048, 300e9, {"recompute": True}),
        (7e9, 32, 4096, 131_072, 1e12, {}),  # attention is more than all parameters
        (7e9, 32, 4096, 131_072, 1e12, {"recompute": True}),
        (540e9, 118, 18432, 2048, 780e9, {"recompute": False}),
        (5_000_000.0, 3, 96, 1, 1, {"recompute": True}),
    ]
    return [
        Case(
            f"{parameters:,.0f} parameters, sequences of {sequence:,}"
            f"{', recomputed' if any(more.values()) else ''}",
            (parameters, layers, hidden, sequence, tokens, more),
        )
        for parameters, layers, hidden, sequence, tokens, more in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    *numbers, more = case.args
    return partial(answer, *numbers)(**more)


def difference(got: Any, want: Any) -> str | None:
    if isinstance(got, np.ndarray) and got.shape == (2,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"it returns {shown(got)}, expected two numbers: the model's, the hardware's"
    for name, value, right in zip(("model", "hardware"), got, want, strict=True):
        if compare.numbers_or_none(value, right) is not None:
            return f"the operations of the {name} are {shown(value)}, expected {shown(right)}"
    return None


EXERCISE = Exercise(
    task="Count the operations of a training run: the model's, and those the hardware performs.",
    reference=model_flops,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(compare.same_numbers,),
)
