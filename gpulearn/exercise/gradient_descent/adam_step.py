"""Make one step of Adam."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.checker.exercise import Exercise
from gpulearn.exercise.gradient_descent import descents
from gpulearn.exercise.gradient_descent.adam_formula import answers
from gpulearn.exercise.gradient_descent.adam_parts import (
    adam_with,
    cases,
    direction,
    filled,
    first_moment,
    returning,
    second_moment,
)
from gpulearn.optim.optimizers import adam_step

__all__ = ["EXERCISE"]

answers.wrong(
    "each step is corrected like the first, by 1 − beta: take the power, 1 − beta**t, and return "
    "the t that you have counted up."
)(returning(lambda theta, new, state, beta1, beta2: (new, (0, *state[1:]))))

answers.wrong("float32 parameters come back as float64: np.zeros_like(theta) keeps their dtype.")(
    adam_with(start=lambda theta: np.zeros(theta.shape))
)

answers.wrong("that returns theta alone: t, m and v must come back for the next step.")(
    returning(lambda theta, new, state, beta1, beta2: new)
)

answers.wrong(
    "that returns theta, t, m and v one by one: put the last three in a tuple, (t, m, v)."
)(returning(lambda theta, new, state, beta1, beta2: (new, *state)))

answers.wrong("the two results are swapped: theta comes first, then (t, m, v).")(
    returning(lambda theta, new, state, beta1, beta2: (state, new))
)

answers.wrong(
    "each step begins with t, m and v at zero, and goes a whole rate along each slope's sign: "
    "take them from state, and return the new ones."
)(returning(lambda theta, new, state, beta1, beta2: (new, None)))

answers.wrong("the corrected m and v are returned: return those without correction.")(
    returning(
        lambda theta, new, state, beta1, beta2: (
            new,
            (state[0], state[1] / (1 - beta1 ** state[0]), state[2] / (1 - beta2 ** state[0])),
        )
    )
)

answers.wrong("the corrected m is returned: return m without correction.")(
    returning(
        lambda theta, new, state, beta1, beta2: (
            new,
            (state[0], state[1] / (1 - beta1 ** state[0]), state[2]),
        )
    )
)

answers.wrong("the corrected v is returned: return v without correction.")(
    returning(
        lambda theta, new, state, beta1, beta2: (
            new,
            (*state[:2], state[2] / (1 - beta2 ** state[0])),
        )
    )
)

answers.wrong("t grows by 2 from step to step: add 1 to it once, and return that.")(
    returning(lambda theta, new, state, beta1, beta2: (new, (state[0] + 1, *state[1:])))
)

answers.wrong("m and v are returned in the wrong order: (t, m, v).")(
    returning(lambda theta, new, state, beta1, beta2: (new, (state[0], state[2], state[1])))
)


@answers.wrong("-= changes the theta that the caller holds: subtract into a new array.")
def theta_in_place(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = first_moment(m, gradient, beta1, beta2)
    v = second_moment(v, gradient, beta1, beta2)
    theta -= rate * direction(m, v, t, beta1, beta2, epsilon)
    return theta, (t, m, v)


@answers.wrong(
    "it changes the m and v that the caller holds, as *= and += do: write m = beta1 * m + …, which "
    "makes new arrays."
)
def state_in_place(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, np.zeros_like(theta), np.zeros_like(theta)) if state is None else state
    t = t + 1
    m *= beta1
    m += (1 - beta1) * gradient
    v *= beta2
    v += (1 - beta2) * gradient**2
    return theta - rate * direction(m, v, t, beta1, beta2, epsilon), (t, m, v)


@answers.wrong("*= changes the gradient that the caller holds: write gradient**2.")
def gradient_in_place(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = first_moment(m, gradient, beta1, beta2)
    gradient *= gradient
    v = beta2 * v + (1 - beta2) * gradient
    return theta - rate * direction(m, v, t, beta1, beta2, epsilon), (t, m, v)


elsewhere: dict[str, Any] = {}


@answers.wrong(
    "it remembers t, m and v outside of state, where a second descent changes them: take them "
    "from state, and return them."
)
def remembers_elsewhere(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    old = None if state is None else elsewhere["state"]
    new, elsewhere["state"] = adam_with()(theta, gradient, old, rate=rate, **given)
    return new, "elsewhere"


@answers.right
def in_a_dict(
    theta: Any,
    gradient: Any,
    state: Any = None,
    *,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> Any:
    memory = state or {"t": 0, "m": np.zeros_like(theta), "v": np.zeros_like(theta)}
    t = memory["t"] + 1
    m = memory["m"] + (1 - beta1) * (gradient - memory["m"])
    v = memory["v"] + (1 - beta2) * (gradient * gradient - memory["v"])
    step = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return theta - rate * step, {"t": t, "m": m, "v": v}


@answers.right
def as_torch_does(
    theta: Any,
    gradient: Any,
    state: Any,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> Any:
    t, m, v = (0, 0, 0) if state is None else state
    t += 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * np.square(gradient)
    divisor = np.sqrt(v) / (1 - beta2**t) ** 0.5 + epsilon
    return theta - rate / (1 - beta1**t) * m / divisor, [t, m, v]


EXERCISE = Exercise(
    name="adam_step",
    notebook="10_gradient_descent",
    task="Make one step of Adam from its formula, and return θ and (t, m, v).",
    reference=adam_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    answers=answers,
)
