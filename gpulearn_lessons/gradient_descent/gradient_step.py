"""One step of gradient descent."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.optim.optimizers import gradient_step
from gpulearn.require import shown
from gpulearn_lessons.gradient_descent import descents
from gpulearn_lessons.gradient_descent.descents import descent


def cases() -> list[Case]:
    """Shapes, rates and dtypes; no factor is one, and no two entries are equal."""
    return [
        descent("three parameters", (3,), seed=1, rates=[0.3] * 3),
        descent("a matrix of parameters", (2, 3), seed=2, rates=[0.1] * 2),
        descent("parameters of three axes", (2, 1, 3), seed=7, rates=[0.2] * 2),
        descent("a rate that changes", (2,), seed=3, rates=[0.5, 0.05, 2.0]),
        descent("a rate that decreases to 0", (2,), seed=11, rates=[0.5, 0.0, 0.2]),
        descent("a slope of zero", (2,), seed=4, rates=[0.3] * 2, zero=True),
        descent("steep slopes", (4,), seed=5, rates=[0.01] * 3, size=1e3),
        descent("float32 parameters", (3,), seed=6, rates=[0.2] * 2, dtype=np.float32),
        descent("a state of its own", (2,), seed=8, rates=[0.3] * 2, state=4),
        descent("an empty state", (2,), seed=9, rates=[0.3] * 2, state={}),
        descent("a state that is a list", (2,), seed=10, rates=[0.3] * 2, state=[4.0, 1.0]),
    ]


def run(answer: Callable[..., Any], case: Case) -> list[Any]:
    """Make the steps; this method remembers nothing, so the state must come back as it is."""

    @functools.wraps(answer)
    def watched(theta: Any, gradient: Any, state: Any, **options: Any) -> Any:
        result = answer(theta, gradient, state, **options)
        if isinstance(result, tuple | list) and len(result) == 2:
            new, back = result
            if back is not state and isinstance(new, np.ndarray):
                raise Violation(
                    f"it returns {shown(back)} as state, but was given {shown(state)}: this method "
                    "remembers nothing, so return state as it is"
                )
        return result

    return descents.run(watched, case)


EXERCISE = Exercise(
    task="Take one step downhill: θ ← θ − η·g.",
    reference=gradient_step,
    cases=cases,
    run=run,
    difference=descents.difference,
)
