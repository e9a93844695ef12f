"""One step of gradient descent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.optim.optimizers import gradient_step
from gpulearn.require import shown
from gpulearn_lessons.gradient_descent import descents

answers = Answers(gradient_step)

STEP = "lr * gradient"
NEW = f"theta - {STEP}"
BOTH = f"{NEW}, state"
RETURN = f"return {NEW}"


def cases() -> list[Case]:
    """Shapes, rates and dtypes in which no factor is one, and no two entries are alike."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 3),
        descents.descent("a matrix of parameters", (2, 3), seed=2, rates=[0.1] * 2),
        descents.descent("parameters of three axes", (2, 1, 3), seed=7, rates=[0.2] * 2),
        descents.descent("a rate that changes", (2,), seed=3, rates=[0.5, 0.05, 2.0]),
        descents.descent("a rate that falls to 0", (2,), seed=11, rates=[0.5, 0.0, 0.2]),
        descents.descent("a slope of zero", (2,), seed=4, rates=[0.3] * 2, zero=True),
        descents.descent("steep slopes", (4,), seed=5, rates=[0.01] * 3, size=1e3),
        descents.descent("float32 parameters", (3,), seed=6, rates=[0.2] * 2, dtype=np.float32),
        descents.descent("a state of its own", (2,), seed=8, rates=[0.3] * 2, state=4),
        descents.descent("a state that is empty", (2,), seed=9, rates=[0.3] * 2, state={}),
        descents.descent(
            "a state that is a list", (2,), seed=10, rates=[0.3] * 2, state=[4.0, 1.0]
        ),
    ]


def run(answer: Callable[..., Any], case: Case) -> list[Any]:
    """Make the steps; this method has nothing to remember, so the state stays as it is.

    Raises:
        Refused: as in `descents.run`, or another state comes back than went in.
    """

    @functools.wraps(answer)
    def watched(theta: Any, gradient: Any, state: Any, **options: Any) -> Any:
        made = answer(theta, gradient, state, **options)
        if isinstance(made, tuple | list) and len(made) == 2:
            new, back = made
            if back is not state and isinstance(new, np.ndarray):
                raise Refused(
                    f"it returns {shown(back)} as state, where {shown(state)} came in: this method "
                    "remembers nothing, so return state as it is"
                )
        return made

    return descents.run(watched, case)


answers.edit(
    {"- lr": "+ lr"}, "that walks uphill: the gradient points up, so its step is subtracted."
)
answers.edit({"lr * ": ""}, "the rate is missing: it says which part of the gradient is the step.")
answers.edit({"lr * ": "lr**2 * "}, "the rate is in there twice.")
answers.edit(
    {STEP: "gradient / lr"}, "that divides by the rate: a smaller rate must make a smaller step."
)
answers.edit(
    {STEP: "(lr or 0.01) * gradient"},
    "a rate of 0, to which a rate that falls may come, is taken for none at all: `or` puts another "
    "in its place. Use lr as it is.",
)
answers.edit({"theta - ": "-"}, "that is the step alone: subtract it from theta.")
answers.edit({"theta - ": ""}, "that is what is subtracted, lr · gradient: theta is missing.")
answers.edit(
    {NEW: f"{STEP} - theta"},
    "the terms are swapped: from theta the step is subtracted, not theta from the step.",
)
answers.edit({STEP: "lr * theta"}, "the rate multiplies theta: it belongs to the gradient.")
answers.edit(
    {NEW: "lr * (theta - gradient)"},
    "the rate multiplies the difference too: it belongs to the gradient only.",
)
answers.edit(
    {STEP: f"{STEP} / np.linalg.norm(gradient)"},
    "each step has the same length: that divides the gradient by its norm. Where it is "
    "flatter, steps become shorter by themselves.",
)
answers.edit(
    {STEP: "lr * np.sign(gradient)"},
    "that takes the sign of the slope only: a steeper slope makes a longer step.",
)
answers.edit(
    {STEP: f"{STEP}.mean()"}, "all parameters make the mean step: each has a slope of its own."
)
answers.edit(
    {STEP: f"{STEP}.sum()"},
    "all parameters make the sum of the steps: each has a slope of its own.",
)
answers.edit(
    {STEP: f"{STEP}.flat[0]"},
    "that takes the first slope for all: each parameter has a slope of its own.",
)
answers.edit(
    {RETURN: f"theta -= {STEP}\n    return theta"},
    "-= changes the array that the caller holds, and the path behind it: write "
    "theta - lr * gradient, which makes a new one.",
)
answers.edit(
    {RETURN: "gradient *= lr\n    return theta - gradient"},
    "*= changes the gradient that the caller holds: write lr * gradient.",
)
answers.edit(
    {BOTH: NEW}, "that returns theta alone; return theta and state, as every step function does."
)
answers.edit({BOTH: f"state, {NEW}"}, "the two results are swapped: theta comes first, then state.")
answers.edit(
    {BOTH: f"{NEW}, lr"},
    "the rate comes back as state: this method remembers nothing, so return state as it is.",
)
answers.edit(
    {BOTH: f"{NEW}, None"},
    "None comes back as state, whatever came in: this method remembers nothing, so return state "
    "as it is.",
)
answers.edit(
    {BOTH: f"{NEW}, state or None"},
    "an empty state, or one of 0, comes back as None: `or` takes what is empty for missing. "
    "Return state as it is.",
)
answers.edit(
    {"return theta": "return np.array(theta, dtype=float)"},
    "float32 parameters come back as float64, twice the bytes: keep their dtype.",
)

answers.variant({RETURN: f"theta = theta.copy()\n    theta -= {STEP}\n    return theta"})


@answers.right
def entry_by_entry(theta: Any, gradient: Any, state: Any, lr: float) -> Any:
    new = np.empty_like(theta)
    for i in np.ndindex(theta.shape):
        new[i] = theta[i] - lr * gradient[i]
    return new, state


answers.variant({BOTH: "theta + lr * (-gradient), state"})


EXERCISE = Exercise(
    task="Make one step downhill: θ ← θ − η·g.",
    reference=gradient_step,
    cases=cases,
    run=run,
    difference=descents.difference,
    answers=answers,
)
