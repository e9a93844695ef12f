"""One step of LARS: how far a layer moves is measured by its own weights."""

from __future__ import annotations

import math

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.layerwise import lars_step
from gpulearn_lessons.gradient_descent import descents

answers = Answers(lars_step)

LENGTHS = "np.linalg.norm(theta), np.linalg.norm(gradient)"
RATIO = "trust * length / slope"
GUARD = " if length > 0 and slope > 0 else 1.0"
VELOCITY = "momentum * velocity + ratio * gradient"
STEP = "theta - lr * velocity"
RETURNED = ", velocity"


def cases() -> list[Case]:
    """A layer with long and short gradients, of two axes and four; weights or slopes of zero."""
    start, slopes = np.zeros(3), np.array([[0.5, -1.0, 0.25], [0.0, 1.0, 1.0], [1.0, 0.5, -2.0]])
    rest = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, 1.0], [0.0, 0.0]])
    return [
        descents.descent("five weights", (5,), seed=1, rates=[0.5] * 3, trust=0.02),
        descents.descent("a gradient of 1e-6", (4,), seed=2, rates=[1.0] * 3, size=1e-6),
        descents.descent("a gradient of 1000", (4,), seed=3, rates=[1.0] * 3, size=1e3),
        descents.descent("no momentum", (3, 2), seed=4, rates=[0.5] * 3, momentum=0.0, trust=0.1),
        descents.descent("a rate that changes", (3,), seed=5, rates=[0.5, 0.1, 2.0], trust=0.05),
        descents.descent("a rate that falls to 0", (3,), seed=8, rates=[0.5, 0.0, 0.2], trust=0.05),
        descents.descent("a filter of four axes", (2, 1, 3, 3), seed=6, rates=[0.5] * 2, trust=0.1),
        descents.descent("float32 weights", (6,), seed=7, rates=[0.5] * 3, dtype=np.float32),
        Case("biases that begin at zero", (start, slopes, (0.1, 0.1, 0.1), {"trust": 0.02})),
        Case("gradients of zero on the way", (1 + start[:2], rest, (0.1,) * 4, {"trust": 0.02})),
    ]


answers.edit(
    {RATIO: "trust * slope / length"},
    "the ratio is upside down: trust · ‖θ‖ / ‖g‖, so that a long gradient is made shorter.",
)
answers.edit(
    {RATIO: "trust / slope"},
    "the gradient's length is divided out and the weights' is not put in: the step of a layer is "
    "to be a part of its own length ‖θ‖.",
)
answers.edit(
    {RATIO: "trust * length"},
    "the gradient's length is still in the step: divide by ‖g‖.",
)
answers.edit(
    {RATIO: "length / slope"},
    "trust is not used: the layer would move by its whole length where η is 1.",
)
answers.edit(
    {LENGTHS: "(theta**2).sum(), (gradient**2).sum()"},
    "‖θ‖ and ‖g‖ are the roots of the sums of squares: the root is missing.",
)
answers.edit(
    {LENGTHS: "np.abs(theta).sum(), np.abs(gradient).sum()"},
    "‖θ‖ and ‖g‖ are roots of sums of squares, not sums of magnitudes: np.linalg.norm of the whole "
    "array, which for a matrix has no ord.",
)
answers.edit(
    {LENGTHS: "np.abs(theta).max(), np.abs(gradient).max()"},
    "the largest magnitude is taken for the length: ‖θ‖ is the root of the sum of all squares.",
)
answers.edit(
    {RATIO: "trust * np.abs(theta) / np.abs(gradient)", GUARD: ""},
    "each number has a ratio of its own: LARS has one ratio for the whole layer, from the lengths "
    "of all its weights and of all its slopes.",
)
answers.edit(
    {GUARD: ""},
    "where all weights or all slopes are 0, the quotient is 0 or no number: r is 1 there.",
)
answers.edit(
    {GUARD: " if slope > 0 else 1.0"},
    "a layer whose weights are all 0, as biases often are at the start, would never move: r is 1 "
    "there.",
)
answers.edit(
    {GUARD: " if length > 0 else 1.0"},
    "it divides by a gradient of length 0: r is 1 there.",
)
answers.edit(
    {GUARD: " if length > 0 and slope > 0 else trust"},
    "where all weights or all slopes are 0, r is 1, not trust.",
)
answers.edit(
    {RATIO: "trust * length / (slope + 1)", GUARD: ""},
    "1 is added to the gradient's length, which matters where it is short: divide by ‖g‖ itself, "
    "and take r = 1 where it is 0.",
)
answers.edit(
    {RATIO: "min(1.0, trust * length / slope)"},
    "the ratio is cut off at 1: short gradients are to be made longer, too.",
)
answers.edit(
    {VELOCITY: "ratio * (momentum * velocity + gradient)"},
    "the old velocity gets the new ratio as well: r belongs to this step's gradient alone.",
)
answers.edit(
    {VELOCITY: "momentum * velocity + gradient", STEP: "theta - lr * ratio * velocity"},
    "the ratio multiplies the whole velocity in the step: it belongs to the gradient, before it "
    "goes into the velocity.",
)
answers.edit(
    {VELOCITY: "momentum * velocity + lr * ratio * gradient", STEP: "theta - velocity"},
    "the rate is part of the velocity, so that old steps keep their old rate when it changes: here "
    "the rate multiplies v.",
)
answers.edit(
    {VELOCITY: "momentum * velocity + (1 - momentum) * ratio * gradient"},
    "the gradient is scaled by (1 − momentum): it goes in as r · g.",
)
answers.edit({STEP: "theta + lr * velocity"}, "that walks uphill: it is η·v that is subtracted.")
answers.edit(
    {RETURNED: ", None"},
    "the old velocity has no part in the step: return it, and take it from state the next time.",
)
answers.edit(
    {RETURNED: ", ratio * gradient"},
    "what is returned as state is the newest part alone: return the velocity.",
)
answers.edit(
    {f"{STEP}{RETURNED}": f"velocity, {STEP}"},
    "the two are in the other order: θ comes first, then the velocity.",
)
answers.edit({STEP: "theta - velocity"}, "the rate is missing: the step is η·v.")
answers.edit(
    {"trust *": "0.001 *"},
    "0.001 is taken whatever trust says: use the argument.",
)
answers.edit(
    {VELOCITY: "momentum * velocity + gradient"},
    "that is momentum without LARS: the gradient goes in as r · g, with r = trust · ‖θ‖ / ‖g‖.",
)
answers.edit(
    {LENGTHS: "np.linalg.norm(theta, axis=0), np.linalg.norm(gradient, axis=0)", GUARD: ""},
    "the norms are those of columns, by axis: take one for the whole layer, of all axes.",
)

answers.variant({LENGTHS: "np.sqrt((theta**2).sum()), np.sqrt((gradient**2).sum())"})
answers.variant(
    {
        LENGTHS: "math.hypot(*theta.flat), math.hypot(*gradient.flat)",
        RATIO: "length / slope * trust",
    },
    math=math,
)
answers.variant(
    {
        "0.0 if state is None": "0 * theta if state is None",
        STEP: "theta + -lr * velocity",
    }
)

EXERCISE = Exercise(
    task="Make one step of LARS for one layer: r = trust·‖θ‖/‖g‖, v ← μ·v + r·g, θ ← θ − η·v.",
    reference=lars_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    demand=descents.hands_back("the velocity itself, an array", lars_step),
    answers=answers,
)
