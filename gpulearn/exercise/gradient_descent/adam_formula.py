"""Known answers to `adam_step` whose formula is not Adam's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.exercise.gradient_descent.adam_parts import (
    adam_with,
    direction,
    filled,
    first_moment,
    second_moment,
)

__all__ = ["MISTAKES", "answers"]

answers = Answers()


def rate_in_the_mean(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = first_moment(m, rate * gradient, beta1, beta2)
    v = second_moment(v, gradient, beta1, beta2)
    return theta - direction(m, v, t, beta1, beta2, epsilon), (t, m, v)


answers.wrong(
    "m and v are used as they are: they begin at zero, and are too small at first. Divide m by "
    "1 − beta1**t and v by 1 − beta2**t."
)(adam_with(step=lambda m, v, t, beta1, beta2, epsilon: m / (np.sqrt(v) + epsilon)))

answers.wrong("v is not corrected: divide it by 1 − beta2**t, as m by 1 − beta1**t.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: m / (1 - beta1**t) / (np.sqrt(v) + epsilon)
    )
)

answers.wrong("m is not corrected: divide it by 1 − beta1**t, as v by 1 − beta2**t.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: m / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    )
)

answers.wrong("ε stands inside the root: it is added to the root, √v̂ + ε.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t) + epsilon)
        )
    )
)

answers.wrong("ε is missing: where a slope is always zero, that divides zero by zero.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t))
    )
)

answers.wrong(
    "ε is added before v is corrected, as in the paper's shorter form, whose ε is another: "
    "correct v first, then take the root, then add ε."
)(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) * np.sqrt(1 - beta2**t) / (np.sqrt(v) + epsilon)
        )
    )
)

answers.wrong("brackets are missing, and ε is added to theta: divide by the sum (√v̂ + ε).")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t))
        ),
        rest=lambda epsilon: epsilon,
    )
)

answers.wrong("brackets are missing, and ε is taken off theta: divide by the sum (√v̂ + ε).")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t))
        ),
        rest=lambda epsilon: -epsilon,
    )
)

answers.wrong(
    "ε is there twice, inside of the root and behind it: add it to the root only, √v̂ + ε."
)(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t) + epsilon) + epsilon)
        )
    )
)

answers.wrong("ε stands in for roots that are smaller: it is added to every root, √v̂ + ε.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / np.maximum(np.sqrt(v / (1 - beta2**t)), epsilon)
        )
    )
)

answers.wrong(
    "ε is missing, and 0 put in where zero is divided by zero: add ε to the root, √v̂ + ε, and "
    "there is nothing to mend."
)(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: np.nan_to_num(
            m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t))
        )
    )
)

answers.wrong("ε is 1e-8, whatever is given: use the argument, epsilon.")(
    adam_with(step=lambda m, v, t, beta1, beta2, epsilon: direction(m, v, t, beta1, beta2, 1e-8))
)

answers.wrong("beta1 and beta2 are 0.9 and 0.999, whatever is given: use the arguments.")(
    adam_with(
        mean=lambda m, g, beta1, beta2: 0.9 * m + 0.1 * g,
        square=lambda v, g, beta1, beta2: 0.999 * v + 0.001 * g**2,
        step=lambda m, v, t, beta1, beta2, epsilon: direction(m, v, t, 0.9, 0.999, epsilon),
    )
)

answers.wrong("the power is taken of the bracket: divide by 1 − beta**t, not by (1 − beta)**t.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1) ** t / (np.sqrt(v / (1 - beta2) ** t) + epsilon)
        )
    )
)

answers.wrong("ε is subtracted: add it, so that the divisor is never zero.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: direction(m, v, t, beta1, beta2, -epsilon)
    )
)

answers.wrong(
    "all parameters are nan after the first step. Either a correction is 0 there: t is still 0 "
    "(add 1 to t before the corrections), or base and power are swapped (take beta1**t). Or the "
    "root is taken of a number below zero: v / (1 − beta2**t) needs its brackets."
)(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            np.divide(m, 1 - beta1 ** (t - 1))
            / (np.sqrt(np.divide(v, 1 - beta2 ** (t - 1))) + epsilon)
        )
    )
)

answers.wrong("the first step is counted as t = 2: add 1 to t once.")(adam_with(count=2))

answers.wrong("the corrections multiply by t: take the power, beta**t.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1 * t) / (np.sqrt(v / (1 - beta2 * t)) + epsilon)
        )
    )
)

answers.wrong("the corrections are swapped: m is divided by 1 − beta1**t, v by 1 − beta2**t.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta2**t) / (np.sqrt(v / (1 - beta1**t)) + epsilon)
        )
    )
)

answers.wrong("the corrections multiply: divide by 1 − beta**t, which makes m and v larger.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m * (1 - beta1**t) / (np.sqrt(v * (1 - beta2**t)) + epsilon)
        )
    )
)

answers.wrong("beta1 and beta2 are swapped: m is kept with beta1, v with beta2.")(
    adam_with(
        mean=lambda m, g, beta1, beta2: beta2 * m + (1 - beta2) * g,
        square=lambda v, g, beta1, beta2: beta1 * v + (1 - beta1) * g**2,
        step=lambda m, v, t, beta1, beta2, epsilon: direction(m, v, t, beta2, beta1, epsilon),
    )
)

answers.wrong(
    "beta and 1 − beta are swapped in m and v: beta is the part of the old that is kept."
)(
    adam_with(
        mean=lambda m, g, beta1, beta2: (1 - beta1) * m + beta1 * g,
        square=lambda v, g, beta1, beta2: (1 - beta2) * v + beta2 * g**2,
    )
)

answers.wrong(
    "the gradient goes into m whole, as with momentum: here m is a mean, so the gradient gets "
    "the factor 1 − beta1."
)(adam_with(mean=lambda m, g, beta1, beta2: beta1 * m + g))

answers.wrong("the square goes into v whole: v is a mean too, with the factor 1 − beta2.")(
    adam_with(square=lambda v, g, beta1, beta2: beta2 * v + g**2)
)

answers.wrong(
    "gradient and square go in whole: m and v are means, with the factors 1 − beta1 and 1 − beta2."
)(
    adam_with(
        mean=lambda m, g, beta1, beta2: beta1 * m + g,
        square=lambda v, g, beta1, beta2: beta2 * v + g**2,
    )
)

answers.wrong("v takes the gradient without its square; a negative v has no root.")(
    adam_with(square=lambda v, g, beta1, beta2: beta2 * v + (1 - beta2) * g)
)

answers.wrong("v takes the size of the gradient: take its square.")(
    adam_with(square=lambda v, g, beta1, beta2: beta2 * v + (1 - beta2) * np.abs(g))
)

answers.wrong("v is the square of the sum: square the gradient alone.")(
    adam_with(square=lambda v, g, beta1, beta2: (beta2 * v + (1 - beta2) * g) ** 2)
)

answers.wrong("the squares are averaged over the parameters: each parameter has a v of its own.")(
    adam_with(square=lambda v, g, beta1, beta2: beta2 * v + (1 - beta2) * (g**2).mean())
)

answers.wrong("the root is missing: divide by √v̂ + ε.")(
    adam_with(
        step=lambda m, v, t, beta1, beta2, epsilon: (
            m / (1 - beta1**t) / (v / (1 - beta2**t) + epsilon)
        )
    )
)

answers.wrong("that walks uphill: subtract the step.")(
    adam_with(step=lambda *parts: -direction(*parts))
)


answers.wrong(
    "the rate is part of m, so that old slopes keep their old rate when it changes: m is a mean of "
    "slopes, and the rate multiplies the step."
)(rate_in_the_mean)


@answers.wrong("v takes the square of m: take that of the gradient.")
def square_of_the_mean(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    beta1, beta2, epsilon = filled(given)
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = first_moment(m, gradient, beta1, beta2)
    v = second_moment(v, m, beta1, beta2)
    return theta - rate * direction(m, v, t, beta1, beta2, epsilon), (t, m, v)


@answers.wrong("the gradient itself is divided, as in RMSProp: the step goes along m̂.")
def without_momentum(
    theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
) -> Any:
    _, beta2, epsilon = filled(given)
    t, v = (0, 0.0) if state is None else state
    t, v = t + 1, second_moment(v, gradient, 0.0, beta2)
    return theta - rate * gradient / (np.sqrt(v / (1 - beta2**t)) + epsilon), (t, v)


@answers.wrong("the rate is missing: the step is rate · m̂/(√v̂ + ε).")
def no_rate(theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float) -> Any:
    return adam_with()(theta, gradient, state, rate=1.0, **given)


MISTAKES = tuple(answers.wrongs)  # which AdamW's m, v and step may have as well
