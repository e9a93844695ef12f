"""Make one step of Adam with a weight decay that Adam does not divide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.gradient_descent import descents
from gpulearn.exercise.gradient_descent.adam_formula import MISTAKES
from gpulearn.exercise.gradient_descent.adam_parts import adam_with, filled
from gpulearn.optim.optimizers import adamw_step

__all__ = ["EXERCISE"]

answers = Answers()

Part = Callable[..., Any]


def cases() -> list[Case]:
    """Several steps each, with slopes that differ from the parameters in size, and none."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descents.descent("a decay of 0.5", (2, 2), seed=2, rates=[0.2] * 4, weight_decay=0.5),
        descents.descent("no decay", (2,), seed=3, rates=[0.3] * 3, weight_decay=0.0),
        descents.descent("tiny slopes", (3,), seed=8, rates=[0.3] * 3, size=1e-6, epsilon=1e-5),
        descents.descent(
            "a slope of zero", (2,), seed=4, rates=[0.3] * 3, zero=True, weight_decay=0.2
        ),
        descents.descent(
            "other β and ε",
            (2,),
            seed=5,
            rates=[0.2] * 4,
            beta1=0.5,
            beta2=0.8,
            epsilon=0.1,
            weight_decay=0.2,
        ),
        descents.descent(
            "a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 1.5], weight_decay=0.3
        ),
        descents.descent(
            "float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32, weight_decay=0.1
        ),
    ]


def shrink(theta: Any, rate: float, decay: float) -> Any:
    return theta - rate * decay * theta


def adamw_with(
    before: Part = shrink,
    gradient: Part = lambda g, theta, decay: g,
    after: Part = lambda theta, rate, decay: theta,
    adam: Part | None = None,
    returned: Part = lambda theta, state: (theta, state),
) -> Part:
    """AdamW with one of its parts replaced by a mistake."""
    adam = adam or adam_with()

    def adamw_step(
        theta: Any,
        slopes: Any,
        state: Any = None,
        *,
        rate: float,
        weight_decay: float = 0.01,
        **given: float,
    ) -> Any:
        slopes = gradient(slopes, theta, weight_decay)
        new, state = adam(before(theta, rate, weight_decay), slopes, state, rate=rate, **given)
        return returned(after(new, rate, weight_decay), state)

    return adamw_step


def as_it_is(theta: Any, rate: float, decay: float) -> Any:
    return theta


answers.wrong(
    "the decay is coupled: weight_decay · theta is added to the gradient, goes through m and v, "
    "and is divided by √v̂. That is Adam; in AdamW it goes to theta directly, rate · weight_decay "
    "· theta."
)(adamw_with(as_it_is, lambda g, theta, decay: g + decay * theta))

answers.wrong("the decay is in there twice: in the gradient and in theta. It goes to theta only.")(
    adamw_with(shrink, lambda g, theta, decay: g + decay * theta)
)

answers.wrong("there is no decay, which is plain Adam: take rate · weight_decay · theta off.")(
    adamw_with(as_it_is)
)

answers.wrong("the decay lacks the rate: take rate · weight_decay · theta off.")(
    adamw_with(lambda theta, rate, decay: theta - decay * theta)
)

answers.wrong("the decay has the rate twice: take rate · weight_decay · theta off.")(
    adamw_with(lambda theta, rate, decay: theta - rate**2 * decay * theta)
)

answers.wrong("the parameters grow: the decay is subtracted.")(
    adamw_with(lambda theta, rate, decay: theta + rate * decay * theta)
)

answers.wrong("the decay comes after Adam's step, and shrinks that too: let theta decay first.")(
    adamw_with(as_it_is, after=shrink)
)

answers.wrong(
    "theta is multiplied by weight_decay: that times the rate is the part that is taken off."
)(adamw_with(lambda theta, rate, decay: theta * decay))

answers.wrong(
    "the decay takes the same amount off every parameter: it takes the same part, "
    "rate · weight_decay · theta."
)(adamw_with(lambda theta, rate, decay: theta - rate * decay * np.sign(theta)))

answers.wrong("the decay lacks theta: take rate · weight_decay · theta off.")(
    adamw_with(lambda theta, rate, decay: theta - rate * decay)
)

answers.wrong("the decay is 0.01, whatever is given: use the argument, weight_decay.")(
    adamw_with(lambda theta, rate, decay: theta - rate * 0.01 * theta)
)

answers.wrong(
    "theta keeps only the part rate · weight_decay of itself: that is the part that is taken off."
)(adamw_with(lambda theta, rate, decay: rate * decay * theta))

for mistake in MISTAKES:
    answers.wrong(mistake.hint)(adamw_with(adam=mistake.answer))

answers.wrong("t is 0 again in each step: return the t that you have counted up, (t, m, v).")(
    adamw_with(returned=lambda theta, state: (theta, (0, *state[1:])))
)

answers.wrong("each step begins anew: take t, m and v from state, and return the new ones.")(
    adamw_with(returned=lambda theta, state: (theta, None))
)

answers.wrong("that returns theta alone: t, m and v must come back for the next step.")(
    adamw_with(returned=lambda theta, state: theta)
)


@answers.wrong("the decay is divided by √v̂ too: it must stand outside of the fraction.")
def inside_the_fraction(
    theta: Any,
    gradient: Any,
    state: Any = None,
    *,
    rate: float,
    weight_decay: float = 0.01,
    **given: float,
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    push = m / (1 - beta1**t) + weight_decay * theta
    return theta - rate * push / (np.sqrt(v / (1 - beta2**t)) + epsilon), (t, m, v)


@answers.wrong("*= changes the theta that the caller holds: let it decay into a new array.")
def in_place(
    theta: Any,
    gradient: Any,
    state: Any = None,
    *,
    rate: float,
    weight_decay: float = 0.01,
    **given: float,
) -> Any:
    theta *= 1 - rate * weight_decay
    return adam_with()(theta, gradient, state, rate=rate, **given)


@answers.right
def shrinks_first(
    theta: Any,
    gradient: Any,
    state: Any = None,
    *,
    rate: float,
    weight_decay: float = 0.01,
    **given: float,
) -> Any:
    return adam_with()((1 - rate * weight_decay) * theta, gradient, state, rate=rate, **given)


@answers.right
def in_one_line(
    theta: Any,
    gradient: Any,
    state: Any,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> Any:
    t, m, v = state or (0, 0 * theta, 0 * theta)
    t, m, v = t + 1, m + (1 - beta1) * (gradient - m), v + (1 - beta2) * (gradient**2 - v)
    step = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return theta - rate * (step + weight_decay * theta), (t, m, v)


EXERCISE = Exercise(
    name="adamw_step",
    notebook="10_gradient_descent",
    task="Make one step of AdamW: Adam's, from a θ that has decayed by η·λ·θ.",
    reference=adamw_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    answers=answers,
)
