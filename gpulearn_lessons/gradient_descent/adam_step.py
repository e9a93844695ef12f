"""One step of Adam."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import adam_step
from gpulearn_lessons.gradient_descent.descents import descent, difference, hands_back, run

STATE = "(t, m, v), where t counts the steps made so far"
LATE_STATE = (1000, np.array([0.3, -0.1]), np.array([0.02, 0.01]))  # after a thousand steps
THIRD = (3, np.array([0.3, -0.1]), np.array([0.02, 0.01]))  # after three steps


def cases() -> list[Case]:
    """Several steps each; tiny or zero slopes, where ε matters; other β and rates."""
    return [
        descent("three parameters", (3,), seed=1, rates=[0.3] * 5),
        descent("β₁ = 0.5, β₂ = 0.8", (2, 2), seed=2, rates=[0.2] * 5, beta1=0.5, beta2=0.8),
        descent("ε = 0.1", (2,), seed=3, rates=[0.3] * 4, epsilon=0.1),
        descent("tiny slopes", (3,), seed=4, rates=[0.3] * 4, size=1e-6),
        descent("a slope of zero", (2,), seed=5, rates=[0.3] * 3, zero=True),
        descent("a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 2.0, 0.1]),
        descent("float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32),
        descent(
            "a descent that continues after three steps", (2,), seed=8, rates=[0.2] * 2, state=THIRD
        ),
        descent(
            "a descent that continues after 1,000 steps",
            (2,),
            seed=9,
            rates=[0.2, 0.0, 0.2],
            state=LATE_STATE,
        ),
    ]


EXERCISE = Exercise(
    task="Take one step of Adam from its formula, and return θ and (t, m, v).",
    reference=adam_step,
    cases=cases,
    run=run,
    difference=difference,
    demand=hands_back(STATE, adam_step),
)
