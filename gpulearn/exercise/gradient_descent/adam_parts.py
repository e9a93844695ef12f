"""How Adam is tried, and Adam in parts, each of which a known answer may get wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker.exercise import Case
from gpulearn.exercise.gradient_descent import descents

__all__ = [
    "adam_with",
    "cases",
    "direction",
    "filled",
    "first_moment",
    "returning",
    "second_moment",
]

Part = Callable[..., Any]


def cases() -> list[Case]:
    """Several steps each; slopes that are tiny or zero, where ε decides; other β; other rates."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 5),
        descents.descent(
            "β₁ = 0.5, β₂ = 0.8", (2, 2), seed=2, rates=[0.2] * 5, beta1=0.5, beta2=0.8
        ),
        descents.descent("ε = 0.1", (2,), seed=3, rates=[0.3] * 4, epsilon=0.1),
        descents.descent("tiny slopes", (3,), seed=4, rates=[0.3] * 4, size=1e-6),
        descents.descent("a slope of zero", (2,), seed=5, rates=[0.3] * 3, zero=True),
        descents.descent("a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 2.0, 0.1]),
        descents.descent("float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32),
    ]


def filled(given: dict[str, float]) -> tuple[float, float, float]:
    """β₁, β₂ and ε, with Adam's own where one is not given."""
    return given.get("beta1", 0.9), given.get("beta2", 0.999), given.get("epsilon", 1e-8)


def first_moment(m: Any, g: Any, beta1: float, beta2: float) -> Any:
    return beta1 * m + (1 - beta1) * g


def second_moment(v: Any, g: Any, beta1: float, beta2: float) -> Any:
    return beta2 * v + (1 - beta2) * g**2


def direction(m: Any, v: Any, t: int, beta1: float, beta2: float, epsilon: float) -> Any:
    """The step of the formula, to be multiplied by the rate."""
    return m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)


def adam_with(
    mean: Part = first_moment,
    square: Part = second_moment,
    step: Part = direction,
    start: Callable[[Any], Any] = lambda theta: 0.0,
    count: int = 1,
    rest: Part = lambda epsilon: 0.0,
) -> Part:
    """Adam with one of its parts replaced by a mistake."""

    def adam_step(
        theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
    ) -> Any:
        beta1, beta2, epsilon = filled(given)
        t, m, v = (0, start(theta), start(theta)) if state is None else state
        t = t + count
        m = mean(m, gradient, beta1, beta2)
        v = square(v, gradient, beta1, beta2)
        theta = theta - rate * step(m, v, t, beta1, beta2, epsilon) + rest(epsilon)
        return theta, (t, m, v)

    return adam_step


def returning(change: Part) -> Part:
    """Adam whose results are changed before they are returned."""

    def changed(
        theta: Any, gradient: Any, state: Any = None, *, rate: float, **given: float
    ) -> Any:
        beta1, beta2, _ = filled(given)
        new, state = adam_with()(theta, gradient, state, rate=rate, **given)
        return change(theta, new, state, beta1, beta2)

    return changed
