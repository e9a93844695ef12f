"""One step of gradient descent with heavy-ball momentum."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import momentum_step
from gpulearn_lessons.gradient_descent.descents import descent, difference, hands_back, run


def cases() -> list[Case]:
    """Several steps each, with different rates and momenta."""
    return [
        descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descent("a momentum of 0.4", (2, 2), seed=2, rates=[0.2] * 4, momentum=0.4),
        descent("no momentum", (2,), seed=3, rates=[0.3] * 3, momentum=0.0),
        descent("a rate that changes", (2,), seed=4, rates=[0.5, 0.05, 2.0, 0.1]),
        descent("a momentum of 0.99", (2, 1, 2), seed=6, rates=[0.2] * 4, momentum=0.99),
        descent("a rate that decreases to 0", (2,), seed=9, rates=[0.5, 0.0, 0.2]),
        descent("steep slopes", (3,), seed=7, rates=[0.01] * 4, size=1e4),
        descent("float32 parameters", (3,), seed=5, rates=[0.2] * 3, dtype=np.float32),
        descent(
            "a descent that continues with a velocity",
            (2,),
            seed=8,
            rates=[0.2] * 2,
            state=np.array([1.5, -0.5]),
        ),
    ]


EXERCISE = Exercise(
    task="Take one step with momentum: u ← μ·u + g, then θ ← θ − η·u, and return θ and u.",
    reference=momentum_step,
    cases=cases,
    run=run,
    difference=difference,
    demand=hands_back("the velocity itself, an array", momentum_step),
)
