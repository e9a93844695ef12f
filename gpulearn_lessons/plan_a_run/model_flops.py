"""Operations of a training, the model's and the hardware's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import model_flops

answers = Answers(model_flops)


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
            f"{parameters:,.0f} parameters, rows of {sequence:,}"
            f"{', recomputed' if any(more.values()) else ''}",
            (parameters, layers, hidden, sequence, tokens, more),
        )
        for parameters, layers, hidden, sequence, tokens, more in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    """Call an answer, with or without saying whether it recomputes."""
    *numbers, more = case.args
    return partial(answer, *numbers)(**more)


def difference(got: Any, wanted: Any) -> str | None:
    """Two numbers, by what they are for."""
    if isinstance(got, np.ndarray) and got.shape == (2,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 2:
        return f"it returns {shown(got)}, expected two numbers: the model's, the hardware's"
    for name, found, right in zip(("model", "hardware"), got, wanted, strict=True):
        if compare.numbers_or_none(found, right) is not None:
            return f"the operations of the {name} are {shown(found)}, expected {shown(right)}"
    return None


FORWARD = "2 * parameters + 4 * layers * hidden * sequence"
MODEL = "3 * forward * tokens"
HARDWARE = "4 * forward * tokens if recompute else model"

answers.edit(
    {MODEL: "(6 * parameters + 4 * layers * hidden * sequence) * tokens"},
    "attention has a backward pass too, with twice the operations of its forward pass.",
)
for wrong_too in ("model * 4 / 3 if recompute else model", "model + forward * tokens * recompute"):
    answers.edit(
        {MODEL: "(6 * parameters + 4 * layers * hidden * sequence) * tokens", HARDWARE: wrong_too},
        "attention has a backward pass too, with twice the operations of its forward pass.",
    )
answers.edit(
    {
        MODEL: "6 * parameters * tokens + 12 * layers * hidden * sequence",
        HARDWARE: "model * 4 / 3 if recompute else model",
    },
    "attention's operations are those of one token here: multiply them by `tokens` as well.",
)
answers.edit(
    {HARDWARE: "model + 4 * layers * hidden * sequence * tokens * recompute"},
    "that recomputes attention alone: here all of the forward pass is carried out again.",
)
answers.edit(
    {MODEL: "forward * tokens"},
    "that is the forward pass alone: backward takes twice as many operations.",
)
answers.edit(
    {FORWARD: "2 * parameters"},
    "attention is left out: Q·Kᵀ and shares·V have no parameters, and take 4·s·h operations for "
    "each token in each layer.",
)
answers.edit(
    {FORWARD: "parameters + 4 * layers * hidden * sequence"},
    "each parameter makes two operations for a token, a multiplication and an addition.",
)
answers.edit(
    {FORWARD: "2 * parameters + 2 * layers * hidden * sequence"},
    "attention has two products, Q·Kᵀ and shares·V, each with 2·s·h operations for a token; whole "
    "products are counted, also where the causal half would do.",
)
answers.edit(
    {FORWARD: "2 * parameters + 4 * hidden * sequence"},
    "every layer has attention: its operations are needed l times.",
)
answers.edit(
    {FORWARD: "2 * parameters + 4 * layers * hidden * sequence**2"},
    "s² are the operations of attention for a whole row; for each of its s tokens they are 4·s·h.",
)
answers.edit(
    {"model = 3 * forward * tokens": "model = 2 * forward * tokens"},
    "backward takes twice as many operations as forward: with forward that is three times.",
)
answers.edit(
    {
        "model = 3 * forward * tokens": "model = forward * tokens",
        HARDWARE: "2 * forward * tokens if recompute else model",
    },
    "that is forward alone: training goes backward too, with twice as many operations.",
)
answers.edit(
    {HARDWARE: "model"},
    "what is recomputed is carried out as well: the hardware makes one more forward pass.",
)
answers.edit(
    {"model = 3 * forward * tokens": "model = (4 if recompute else 3) * forward * tokens"},
    "the model does not need what is recomputed: its operations are the same either way.",
)
answers.edit(
    {HARDWARE: "4 * forward * tokens"},
    "without recomputation the hardware carries out what the model needs, and no more.",
)
answers.edit(
    {HARDWARE: "2 * model if recompute else model"},
    "the forward pass alone is carried out again, a third of the model's operations, not all of "
    "them.",
)
answers.edit(
    {"return model, hardware": "return hardware, model"},
    "the two are in the other order: the model's operations come first.",
)
answers.edit(
    {"return model, hardware": "return model / 1e12, hardware / 1e12"},
    "these are teraFLOP: return operations, not millions of millions of them.",
)
answers.edit(
    {"hardware = 4 * forward * tokens if recompute else model":
     "hardware = model + 2 * parameters * tokens if recompute else model"},
    "the recomputed pass has attention too: all of forward is carried out again.",
)  # fmt: skip
answers.variant({HARDWARE: "model + forward * tokens * bool(recompute)"})
answers.variant({"return model, hardware": "return [model, hardware]"})


@answers.right
def by_the_usual_letters(
    parameters: Any, layers: Any, hidden: Any, sequence: Any, tokens: Any, *, recompute: Any = False
) -> Any:
    each = 6 * parameters + 12 * layers * hidden * sequence
    return np.array([1, 4 / 3 if recompute else 1]) * each * tokens


EXERCISE = Exercise(
    task="Count the operations of a training: those of the model, and those that are carried out.",
    reference=model_flops,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(compare.same_numbers,),
)
