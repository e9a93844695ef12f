"""One step of gradient descent with heavy-ball momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.gradient_descent import descents
from gpulearn.optim.optimizers import momentum_step

__all__ = ["EXERCISE"]

answers = Answers()

Part = Callable[..., Any]


def cases() -> list[Case]:
    """Several steps each, with the rate and what is kept of the velocity varied."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descents.descent("a momentum of 0.4", (2, 2), seed=2, rates=[0.2] * 4, momentum=0.4),
        descents.descent("no momentum", (2,), seed=3, rates=[0.3] * 3, momentum=0.0),
        descents.descent("a rate that changes", (2,), seed=4, rates=[0.5, 0.05, 2.0, 0.1]),
        descents.descent("float32 parameters", (3,), seed=5, rates=[0.2] * 3, dtype=np.float32),
    ]


def ball(
    velocity: Part = lambda v, g, mu, lr: mu * v + g,
    step: Part = lambda v, g, mu, lr: lr * v,
    returned: Part = lambda theta, v, g, lr: (theta, v),
    start: Callable[[Any], Any] = lambda theta: 0.0,
) -> Part:
    """Momentum with one of its parts replaced by a mistake."""

    def momentum_step(
        theta: Any, gradient: Any, state: Any = None, *, lr: float, momentum: float = 0.9
    ) -> Any:
        v = start(theta) if state is None else state
        v = velocity(v, gradient, momentum, lr)
        return returned(theta - step(v, gradient, momentum, lr), v, gradient, lr)

    return momentum_step


answers.wrong(
    "the gradient is scaled by (1 − momentum), which makes v a mean of the gradients: here, as "
    "in torch.optim.SGD, it goes in whole."
)(ball(lambda v, g, mu, lr: mu * v + (1 - mu) * g))

answers.wrong(
    "that is plain gradient descent: the old velocity has no part in the step. Take it from state, "
    "put the gradient in, step along the new velocity, and return that."
)(ball(returned=lambda theta, v, g, lr: (theta, None)))

answers.wrong(
    "that walks uphill: with v = momentum · v + gradient, it is lr · v that is subtracted."
)(ball(step=lambda v, g, mu, lr: -lr * v))

answers.wrong("the old velocity is subtracted, so it brakes: add momentum · velocity.")(
    ball(lambda v, g, mu, lr: g - mu * v)
)

answers.wrong("the velocity is never slowed down: keep momentum · velocity, a part of it.")(
    ball(lambda v, g, mu, lr: v + g)
)

answers.wrong("momentum multiplies the gradient: it says how much of the old velocity is kept.")(
    ball(lambda v, g, mu, lr: v + mu * g)
)

answers.wrong("momentum multiplies the sum: it belongs to the old velocity only.")(
    ball(lambda v, g, mu, lr: mu * (v + g))
)

answers.wrong(
    "momentum and 1 − momentum are swapped, and the gradient needs no factor: "
    "v = momentum · v + gradient."
)(ball(lambda v, g, mu, lr: (1 - mu) * v + mu * g))

answers.wrong("1 − momentum of the velocity is kept: momentum itself is the part that is kept.")(
    ball(lambda v, g, mu, lr: (1 - mu) * v + g)
)

answers.wrong("that looks one step ahead, which is Nesterov's form: here the step is lr · v.")(
    ball(step=lambda v, g, mu, lr: lr * (g + mu * v))
)

answers.wrong(
    "the rate is part of the velocity, so that old steps keep their old rate when it changes: "
    "v collects gradients, and the rate multiplies v."
)(ball(lambda v, g, mu, lr: mu * v + lr * g, lambda v, g, mu, lr: v))

answers.wrong("0.9 of the velocity is kept, whatever momentum says: use the argument.")(
    ball(lambda v, g, mu, lr: 0.9 * v + g)
)

answers.wrong("the rate is in there twice: in the velocity and in the step.")(
    ball(lambda v, g, mu, lr: mu * v + lr * g)
)

answers.wrong("the rate is missing: the step is lr · velocity.")(ball(step=lambda v, g, mu, lr: v))

answers.wrong(
    "the rate multiplies the gradient only: the step is rate times the whole velocity, old part "
    "included."
)(ball(step=lambda v, g, mu, lr: v - g + lr * g))

answers.wrong("what is returned as state is the step; the next step needs the velocity itself.")(
    ball(returned=lambda theta, v, g, lr: (theta, lr * v))
)

answers.wrong("what is returned as state is the gradient: older gradients are forgotten.")(
    ball(returned=lambda theta, v, g, lr: (theta, g))
)

answers.wrong("what is returned as state is theta: return the velocity.")(
    ball(returned=lambda theta, v, g, lr: (theta, theta))
)

answers.wrong("the two results are swapped: theta comes first, then the velocity.")(
    ball(returned=lambda theta, v, g, lr: (v, theta))
)

answers.wrong("that returns theta alone: the velocity must come back for the next step.")(
    ball(returned=lambda theta, v, g, lr: theta)
)

answers.wrong("float32 parameters come back as float64: np.zeros_like(theta) keeps their dtype.")(
    ball(start=lambda theta: np.zeros(theta.shape))
)

answers.wrong(
    "before the first step there is no velocity, and state is None: begin with 0.0 in its place."
)(ball(start=lambda theta: None))


@answers.wrong("the step is made with the old velocity: the new gradient must be in it already.")
def old_velocity(theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9) -> Any:
    velocity = np.zeros_like(theta) if state is None else state
    theta = theta - lr * velocity
    return theta, momentum * velocity + gradient


@answers.wrong(
    "-= changes the theta that the caller holds, and the path behind it: write "
    "theta - lr * velocity, which makes a new one."
)
def in_place(theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9) -> Any:
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    theta -= lr * velocity
    return theta, velocity


@answers.wrong(
    "it changes the velocity that the caller holds, as *= and += do: write "
    "momentum * velocity + gradient, which makes a new one."
)
def velocity_in_place(
    theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9
) -> Any:
    velocity = np.zeros_like(theta) if state is None else state
    velocity *= momentum
    velocity += gradient
    return theta - lr * velocity, velocity


elsewhere: dict[str, Any] = {}


@answers.wrong(
    "it remembers the velocity outside of state, where a second descent changes it: take it from "
    "state, and return it."
)
def remembers_elsewhere(
    theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9
) -> Any:
    old = 0.0 if state is None else elsewhere["velocity"]
    elsewhere["velocity"] = momentum * old + gradient
    return theta - lr * elsewhere["velocity"], "elsewhere"


@answers.right
def with_zeros(theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9) -> Any:
    if state is None:
        state = np.zeros_like(theta)
    velocity = momentum * state + gradient
    return theta - lr * velocity, velocity


@answers.right
def velocity_downhill(
    theta: Any, gradient: Any, state: Any, *, lr: float, momentum: float = 0.9
) -> Any:
    velocity = -gradient if state is None else momentum * state - gradient
    return theta + lr * velocity, velocity


@answers.right
def in_a_tuple(theta: Any, gradient: Any, state: Any, lr: float, momentum: float = 0.9) -> Any:
    (velocity,) = state or (0 * theta,)
    velocity = momentum * velocity + gradient
    return theta - lr * velocity, (velocity,)


EXERCISE = Exercise(
    name="momentum_step",
    notebook="10_gradient_descent",
    task="Make one step with momentum: v ← μ·v + g, then θ ← θ − η·v, and return θ and v.",
    reference=momentum_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    answers=answers,
)
