"""One step of AdamW, given with two bugs to fix."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import adamw_step
from gpulearn_lessons.gradient_descent.adam_step import LATE_STATE, STATE, THIRD
from gpulearn_lessons.gradient_descent.descents import descent, difference, hands_back, run


def cases() -> list[Case]:
    """Several steps each; slopes and parameters of different size, zero slopes, other options."""
    return [
        descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descent("a decay of 0.5", (2, 2), seed=2, rates=[0.2] * 4, weight_decay=0.5),
        descent("no decay", (2,), seed=3, rates=[0.3] * 3, weight_decay=0.0),
        descent("tiny slopes", (3,), seed=8, rates=[0.3] * 3, size=1e-6, epsilon=1e-5),
        descent("a slope of zero", (2,), seed=4, rates=[0.3] * 3, zero=True, weight_decay=0.2),
        descent(
            "other β and ε",
            (2,),
            seed=5,
            rates=[0.2] * 4,
            beta1=0.5,
            beta2=0.8,
            epsilon=0.1,
            weight_decay=0.2,
        ),
        descent("a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 1.5], weight_decay=0.3),
        descent(
            "float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32, weight_decay=0.1
        ),
        descent(
            "a descent that continues after three steps", (2,), seed=9, rates=[0.2] * 2, state=THIRD
        ),
        descent(
            "a descent that continues after 1,000 steps",
            (2,),
            seed=10,
            rates=[0.2, 0.0, 0.2],
            state=LATE_STATE,
        ),
    ]


EXERCISE = Exercise(
    task="Fix AdamW: θ decays by η·δ·θ, then makes Adam's step.",
    reference=adamw_step,
    cases=cases,
    run=run,
    difference=difference,
    demand=hands_back(STATE, adamw_step),
)
