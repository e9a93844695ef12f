"""One step of gradient descent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise, Refused
from gpulearn.exercise.gradient_descent import descents
from gpulearn.optim.optimizers import gradient_step

__all__ = ["EXERCISE"]

ANOTHER_STATE = "it returns another state than it was given"

answers = Answers()


def cases() -> list[Case]:
    """Shapes, rates and dtypes in which no factor is one, and no two entries are alike."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 3),
        descents.descent("a matrix of parameters", (2, 3), seed=2, rates=[0.1] * 2),
        descents.descent("a rate that changes", (2,), seed=3, rates=[0.5, 0.05, 2.0]),
        descents.descent("a slope of zero", (2,), seed=4, rates=[0.3] * 2, zero=True),
        descents.descent("steep slopes", (4,), seed=5, rates=[0.01] * 3, size=1e3),
        descents.descent("float32 parameters", (3,), seed=6, rates=[0.2] * 2, dtype=np.float32),
    ]


def run(answer: Callable[..., Any], case: Case) -> list[Any]:
    """Make the steps; this method has nothing to remember, so the state stays None.

    Raises:
        Refused: as in `descents.run`, or another state comes back than went in.
    """

    @functools.wraps(answer)
    def watched(*given: Any, **options: Any) -> Any:
        made = answer(*given, **options)
        if isinstance(made, tuple | list) and len(made) == 2:
            theta, state = made
            if state is not None and isinstance(theta, np.ndarray):
                raise Refused(ANOTHER_STATE)
        return made

    return descents.run(watched, case)


@answers.wrong("that walks uphill: the gradient points up, so its step is subtracted.")
def uphill(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta + lr * gradient, state


@answers.wrong("the rate is missing: it says which part of the gradient is the step.")
def no_rate(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - gradient, state


@answers.wrong("the rate is in there twice.")
def rate_squared(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr**2 * gradient, state


@answers.wrong("that divides by the rate: a smaller rate must make a smaller step.")
def divided(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - gradient / lr, state


@answers.wrong("that is the step alone: subtract it from theta.")
def step_alone(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return -lr * gradient, state


@answers.wrong("that is what is subtracted, lr · gradient: theta is missing.")
def product_alone(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return lr * gradient, state


@answers.wrong("the terms are swapped: from theta the step is subtracted, not theta from the step.")
def swapped_terms(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return lr * gradient - theta, state


@answers.wrong("the rate multiplies theta: it belongs to the gradient.")
def shrinks(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * theta, state


@answers.wrong("the rate multiplies the difference too: it belongs to the gradient only.")
def brackets(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return lr * (theta - gradient), state


@answers.wrong(
    "each step has the same length: that divides the gradient by its norm. Where it is "
    "flatter, steps become shorter by themselves."
)
def normalized(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient / np.linalg.norm(gradient), state


@answers.wrong("that takes the sign of the slope only: a steeper slope makes a longer step.")
def sign_only(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * np.sign(gradient), state


@answers.wrong("all parameters make the mean step: each has a slope of its own.")
def mean_slope(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient.mean(), state


@answers.wrong("all parameters make the sum of the steps: each has a slope of its own.")
def sum_of_slopes(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient.sum(), state


@answers.wrong("that takes the first slope for all: each parameter has a slope of its own.")
def first_slope(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient.flat[0], state


@answers.wrong(
    "-= changes the array that the caller holds, and the path behind it: write "
    "theta - lr * gradient, which makes a new one."
)
def in_place(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    theta -= lr * gradient
    return theta, state


@answers.wrong("*= changes the gradient that the caller holds: write lr * gradient.")
def scales_in_place(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    gradient *= lr
    return theta - gradient, state


@answers.wrong("that returns theta alone; return theta and state, as every step function does.")
def theta_alone(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient


@answers.wrong("the two results are swapped: theta comes first, then state.")
def swapped_results(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return state, theta - lr * gradient


@answers.wrong(
    "what comes back as state is not what came in: this method remembers nothing, so return "
    "state as it is."
)
def another_state(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta - lr * gradient, lr


@answers.wrong("float32 parameters come back as float64, twice the bytes: keep their dtype.")
def dtype_lost(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return np.array(theta, dtype=float) - lr * gradient, state


@answers.right
def on_a_copy(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    theta = theta.copy()
    theta -= lr * gradient
    return theta, state


@answers.right
def entry_by_entry(theta: Any, gradient: Any, state: Any, lr: float) -> Any:
    new = np.empty_like(theta)
    for i in np.ndindex(theta.shape):
        new[i] = theta[i] - lr * gradient[i]
    return new, None


@answers.right
def adds_the_opposite(theta: Any, gradient: Any, state: Any, *, lr: float) -> Any:
    return theta + lr * (-gradient), None


EXERCISE = Exercise(
    name="gradient_step",
    notebook="10_gradient_descent",
    task="Make one step downhill: θ ← θ − η·g.",
    reference=gradient_step,
    cases=cases,
    run=run,
    difference=descents.difference,
    answers=answers,
)
