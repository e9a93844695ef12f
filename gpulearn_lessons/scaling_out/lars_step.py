"""One step of LARS: how far a layer moves is measured by its own weights."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import lars_step
from gpulearn_lessons.gradient_descent import descents


def cases() -> list[Case]:
    """A layer with long and short gradients, of two axes and four; weights or slopes of zero."""
    start, slopes = np.zeros(3), np.array([[0.5, -1.0, 0.25], [0.0, 1.0, 1.0], [1.0, 0.5, -2.0]])
    usual = {"trust": 0.02}
    rest = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, 1.0], [0.0, 0.0]])
    return [
        descents.descent("five weights", (5,), seed=1, rates=[0.5] * 3, trust=0.02),
        descents.descent("a gradient of 1e-6", (4,), seed=2, rates=[1.0] * 3, size=1e-6),
        descents.descent("a gradient of 1e-12", (4,), seed=2, rates=[1.0] * 3, size=1e-12),
        descents.descent("a gradient of 1000", (4,), seed=3, rates=[1.0] * 3, size=1e3),
        descents.descent("no momentum", (3, 2), seed=4, rates=[0.5] * 3, momentum=0.0, trust=0.1),
        descents.descent("a rate that changes", (3,), seed=5, rates=[0.5, 0.1, 2.0], trust=0.05),
        descents.descent("a rate that falls to 0", (3,), seed=8, rates=[0.5, 0.0, 0.2], trust=0.05),
        descents.descent("a filter of four axes", (2, 1, 3, 3), seed=6, rates=[0.5] * 2, trust=0.1),
        descents.descent("float32 weights", (6,), seed=7, rates=[0.5] * 3, dtype=np.float32),
        Case("biases that begin at zero", (start, slopes, (0.1,) * 3, usual, None)),
        Case("gradients of zero on the way", (1 + start[:2], rest, (0.1,) * 4, usual, None)),
    ]


EXERCISE = Exercise(
    task="Take one step of LARS for one layer: r = trust·‖θ‖/‖g‖, v ← μ·v + r·g, θ ← θ − η·v.",
    reference=lars_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    demand=descents.hands_back("the velocity itself, an array", lars_step),
)
