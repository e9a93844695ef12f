"""The number of steps that a descent takes, foreseen from its curvatures and its rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.numerical import steps_needed
from gpulearn_lessons.gradient_descent import descents

answers = Answers(steps_needed)

# what stands in the solution
SLOWEST = "np.abs(1 - lr * curvatures).max()"
NEVER = "    if slowest >= 1:\n        return np.inf\n"
AT_ONCE = "    if slowest == 0:\n        return 1\n"
STEPS = "int(np.ceil(np.log(share) / np.log(slowest)))"


def cases() -> list[Case]:
    """The flattest or the steepest direction last; one step, many, or none that is enough."""
    tries = (
        ("curvatures 1 and 25, a small rate", [1.0, 25.0], 0.01, 0.01),
        ("curvatures 1 and 25, just below the limit", [1.0, 25.0], 0.0799, 0.01),
        ("curvatures 25, 1 and 4, the best single rate", [25.0, 1.0, 4.0], 2 / 26, 1e-3),
        ("curvatures 4, 25, 1 and 9, near the limit", [4.0, 25.0, 1.0, 9.0], 0.0795, 0.1),
        ("curvatures 9, 1, 25 and 4, a small rate", [9.0, 1.0, 25.0, 4.0], 0.02, 0.1),
        ("a single direction", [3.0], 0.1, 0.3),
        ("a single direction, half of the limit", [4.0], 0.25, 0.3),
        ("a round bowl, crossed in each step", [2.0, 2.0], 0.9, 0.05),
        ("curvatures 1 and 25, exactly at the limit", [1.0, 25.0], 0.08, 0.5),
        ("curvatures 1 and 25, above the limit", [1.0, 25.0], 0.1, 0.5),
        ("a direction that is level", [0.0, 2.0], 0.1, 0.5),
        ("a direction that falls away", [-1.0, 2.0], 0.1, 0.5),
        ("a ravine of κ = 10,000", [1e-3, 10.0], 0.1, 0.01),
        ("a share of 0.9", [1.0, 25.0], 0.04, 0.9),
        ("a quarter, by halves", [1.0], 0.5, 0.25),
        ("a direction that is nearly level", [1e-6, 1.0], 1.0, 0.9999),
    )
    return [Case(label, (np.array(c), lr, share)) for label, c, lr, share in tries]


answers.edit(
    {SLOWEST: "abs(1 - lr * min(curvatures))"},
    "that follows the flattest direction only: near the limit the steepest is slower still. The "
    "largest |1 − ηλ| of all decides.",
)
answers.edit(
    {SLOWEST: "abs(1 - lr * max(curvatures))"},
    "that follows the steepest direction only, and with a small rate the flattest is the last to "
    "arrive: the largest |1 − ηλ| of all decides.",
)
answers.edit(
    {"max()": "min()"},
    "that follows the quickest direction: all of them have to arrive, so the largest |1 − ηλ| "
    "decides.",
)
answers.edit(
    {"np.abs(1 - lr * curvatures)": "(1 - lr * curvatures)"},
    "a factor of −0.99 is as slow as one of 0.99: take its size, abs(1 − ηλ).",
)
answers.edit(
    {"max()": "mean()"},
    "that is the mean of the factors: the slowest direction does not hurry because another is "
    "quick.",
)
answers.edit(
    {"max()": "prod()"},
    "that multiplies the factors of all directions: each direction has its own, and the largest "
    "decides.",
)
answers.edit(
    {
        SLOWEST: "(max(curvatures) - min(curvatures)) / (max(curvatures) + min(curvatures))",
        NEVER: "",
    },
    "that is (κ − 1)/(κ + 1), the factor of the best single rate: here the rate is given, lr.",
)
answers.edit(
    {"ceil": "floor"},
    "that is one step too few: before the last one more than share is left. Round up.",
)
answers.edit({"ceil": "round"}, "that rounds to the nearest number: a part of a step is one.")
answers.edit({STEPS: "np.log(share) / np.log(slowest)"}, "steps are whole: round up.")
answers.edit({STEPS: f"{STEPS} + 1"}, "that is one step too many.")
answers.edit(
    {STEPS: f"{STEPS.replace('ceil', 'floor')} + 1"},
    "where a step ends at share exactly, that is one step too many: at most share is asked for, "
    "not less. (Of a quotient of logarithms: round up, which leaves a whole number as it is.)",
)
answers.edit(
    {"share) / np.log(slowest)": "share**0.5) / np.log(slowest)"},
    "that is when the loss has fallen to that share: the loss falls with the square of the "
    "distance, and it is the distance that is asked for.",
)
answers.edit(
    {"np.log(share) / np.log(slowest)": "(1 - share) / (1 - slowest)"},
    "that takes the same length off in each step: what is taken off is the same part of what is "
    "left, so the factors multiply, slowestᵏ ≤ share.",
)
answers.edit(
    {"np.log(slowest)": "(slowest - 1)"},
    "that takes factor − 1 for its logarithm, which is near enough only where the factor is "
    "nearly 1: divide by log(slowest).",
)
answers.edit(
    {"np.log(share) / np.log(slowest)": "np.log(slowest) / np.log(share)"},
    "the quotient is upside down: k·log(slowest) = log(share).",
)
answers.edit(
    {"np.log(share)": "np.log10(share)"},
    "two kinds of logarithm are mixed: take np.log above and below the line.",
)
NONE = (
    "where the factor is 1 or more, no number of steps is enough, and the logarithms have no "
    "answer: return np.inf there."
)
answers.edit({NEVER: ""}, NONE)
answers.edit(
    {">= 1": "> 1"},
    "with a factor of exactly 1 the distance stays as it is, for ever: that is np.inf too.",
)
answers.edit(
    {">= 1": "> 1 - 1e-5"},
    "a factor that is only nearly 1 is taken for 1: however slowly, that direction arrives.",
)
answers.edit({"np.inf": "None"}, "where no number of steps is enough, return np.inf, and not None.")
answers.edit(
    {NEVER: "    if lr >= 2 / max(curvatures):\n        return np.inf\n"},
    "the limit 2/λmax is asked after, and yet a direction that is level or falls away does not "
    "arrive either: ask whether the largest factor is 1 or more.",
)
answers.edit({AT_ONCE: ""}, "with a factor of 0 the first step arrives: that takes 1 step, not 0.")
answers.edit({"return 1": "return np.inf"}, "with a factor of 0 the first step arrives: return 1.")


@answers.right
def by_walking(curvatures: Sequence[float], lr: float, share: float) -> float:
    left, steps = np.ones(len(curvatures)), 0
    if np.abs(1 - lr * np.asarray(curvatures)).max() >= 1:
        return math.inf
    while np.abs(left).max() > share:
        left = left * (1 - lr * np.asarray(curvatures))
        steps += 1
    return steps


@answers.right
def by_ends(curvatures: Sequence[float], lr: float, share: float) -> float:
    ends = np.array([min(curvatures), max(curvatures)])
    factor = float(np.max(np.abs(1 - lr * ends)))
    if factor >= 1:
        return float("inf")
    return int(np.ceil(np.log(share) / np.log(max(factor, 1e-300))))


EXERCISE = Exercise(
    task="Foresee how many steps it takes until each direction has a share of its distance left.",
    reference=steps_needed,
    cases=cases,
    run=descents.quietly,
    answers=answers,
)
