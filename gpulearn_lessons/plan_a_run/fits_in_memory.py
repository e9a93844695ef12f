"""Whether a GPU of the first stage holds its part of a training."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import fits_in_memory

# parameters, activations, micro-batches, tensor, pipeline, data, stage; and what it takes
PLANS = (
    (1_000_000_000, 0.0, 1, 1, 1, 1, 0, 18e9),
    (8_000_000_000, 3e9, 4, 1, 1, 1, 0, 147e9),
    (50_000_000_000, 0.0, 1, 1, 1, 1, 0, 900e9),  # of which 80 GB do not hold the weights
    (1_000_000_000, 66e9, 1, 1, 1, 1, 0, 84e9),  # more than 80e9 bytes, less than 80·2³⁰
    (8_000_000_000, 3e9, 32, 4, 2, 1, 0, 24e9),
    (8_000_000_000, 2e9, 32, 1, 4, 1, 0, 44e9),
    (8_000_000_000, 2e9, 3, 1, 8, 1, 0, 24e9),  # fewer micro-batches than stages
    (8_000_000_000, 1e9, 8, 1, 1, 8, 0, 145e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 1, 61e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 2, 33e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 3, 19e9),
    (16_000_000_000, 1e9, 8, 2, 4, 4, 1, 22e9),
    (1_001, 0.0, 1, 4, 1, 1, 0, 251 * 18.0),  # rounded up: 250.25 parameters are 251
    (1_001, 0.0, 1, 1, 4, 1, 0, 251 * 18.0),
    (1_001, 10.0, 5, 2, 5, 3, 3, 34 * 18.0 + 50.0),
)


def cases() -> list[Case]:
    """Each plan in a memory that holds it to the last byte, and in one that lacks one byte."""
    result = []
    for *plan, needed in PLANS:
        p, activations, micro, t, stages, d, s = plan
        work = f"{micro} × {activations:.3g} bytes"
        layout = f"{p:,.0f} parameters as {t} × {stages} × {d}, stage {s}, {work}"
        memories = {"just enough": needed, "one byte too little": needed - 1, "80 GB": 80e9}
        for room, memory in memories.items():
            args = (p, activations, micro, t, stages, d, s, memory)
            result.append(Case(f"{layout}, {room}", args))
    return result


@dataclass(frozen=True)
class FitOutcome:
    """An answer's verdict on each memory."""

    fits: Any  # in the memory of the case
    around: tuple[Any, ...]  # in smaller and larger ones, by which wrong answers are told apart


def run(answer: Answer, case: Case) -> FitOutcome | None:
    parameters, activations, micro, tensor, pipeline, data, stage, memory = case.args
    within = partial(
        partial(answer, parameters, activations, micro),
        tensor=tensor, pipeline=pipeline, data=data, stage=stage,
    )  # fmt: skip
    fits = within(memory=memory)
    if not isinstance(fits, bool | np.bool_):
        return None if fits is None else FitOutcome(shown(fits), ())
    return FitOutcome(bool(fits), tuple(bool(within(memory=memory * k / 18)) for k in range(1, 37)))


def difference(got: FitOutcome | None, want: FitOutcome) -> str | None:
    if got is None:
        return compare.NOTHING
    if not isinstance(got.fits, bool):
        return f"it returns {got.fits}, expected True or False"
    if got.fits == want.fits:
        return None
    if want.fits:
        return "it fits, but the answer is False"
    return "it does not fit, but the answer is True"


EXERCISE = Exercise(
    task="Say whether a GPU of the first stage can hold its share of a training run.",
    reference=fits_in_memory,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(operator.eq,),
)
