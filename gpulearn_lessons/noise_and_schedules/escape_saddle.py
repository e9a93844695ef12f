"""The number of steps that a descent waits on a saddle, foreseen from where it starts."""

from __future__ import annotations

import math

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.numerical import escape_saddle
from gpulearn_lessons.gradient_descent import descents

answers = Answers(escape_saddle)

# what stands in the solution
ALREADY = "    if distance >= far:\n        return 0\n"
NEVER = "    if distance == 0 or curvature >= 0:\n        return np.inf\n"
STEPS = "int(np.ceil(np.log(far / distance) / np.log(1 - lr * curvature)))"


def cases() -> list[Case]:
    """Near and far, gentle and steep, short steps and long; and starts that never leave."""
    tries = (
        ("one millionth beside the ridge", 1e-6, -1.0, 0.1, 0.5),
        ("one ten-thousandth beside the ridge", 1e-4, -1.0, 0.1, 0.5),
        ("a ridge of curvature −4", 1e-6, -4.0, 0.1, 0.3),
        ("a ridge of curvature −0.02", 0.01, -0.02, 0.5, 2.0),
        ("a rate of 3", 1e-3, -1.0, 3.0, 100.0),
        ("four times as far, by doubling", 0.25, -1.0, 1.0, 1.0),
        ("a trillionth beside the ridge", 1e-12, -1.0, 0.1, 0.5),
        ("a ridge that is nearly level", 1e-6, -0.05, 0.1, 0.5),
        ("a ridge of curvature −10⁻⁶, and nearly far", 0.4999, -1e-6, 0.5, 0.5),
        ("a ridge of curvature −0.0015", 1e-6, -0.0015, 0.1, 0.5),
        ("a start on the ridge itself", 0.0, -1.0, 0.1, 0.5),
        ("a direction that curves up", 0.1, 2.0, 0.1, 0.5),
        ("a level direction", 0.1, 0.0, 0.1, 0.5),
        ("a start that is far away already", 0.7, -1.0, 0.1, 0.5),
        ("a start that is just far enough", 0.5, -1.0, 0.1, 0.5),
        ("a start far away in a direction that curves up", 0.7, 2.0, 0.1, 0.5),
    )
    return [Case(label, tuple(rest)) for label, *rest in tries]


answers.edit(
    {"1 - lr": "1 + lr"},
    "the factor is 1 − ηλ, and λ is below zero, so that it is above one: with + the walk would "
    "come back to the ridge.",
)
answers.edit(
    {"1 - lr * curvature": "1 + lr"},
    "that leaves the curvature out: a steeper ridge is left sooner, by 1 − ηλ for each step.",
)
answers.edit(
    {"np.log(1 - lr * curvature)": "(-lr * curvature)"},
    "that takes −ηλ for the logarithm of 1 − ηλ, which is near enough for very short steps only.",
)
answers.edit(
    {STEPS: "int(np.ceil((far - distance) / (-lr * curvature * distance)))"},
    "that adds the first step again and again: the steps grow with the distance, by the same "
    "factor each time.",
)
answers.edit(
    {STEPS: "int(np.ceil(far / distance / (1 - lr * curvature)))"},
    "the factors multiply, so the number of steps is a quotient of logarithms.",
)
answers.edit(
    {"far / distance": "distance / far"}, "the quotient is upside down, and its logarithm negative."
)
answers.edit(
    {"np.log(far / distance)": "np.log(far - distance)"},
    "that is the logarithm of a difference: the distance has to grow far/distance times.",
)
answers.edit(
    {"np.log(far / distance)": "-np.log(distance)"},
    "that is the way to a distance of 1: it ends at far.",
)
answers.edit(
    {"np.log(far / distance)": "np.log10(far / distance)"},
    "two kinds of logarithm are mixed: take np.log above and below the line.",
)
answers.edit(
    {"ceil": "floor"}, "that is one step too few: before the last one it is not yet far. Round up."
)
answers.edit({"ceil": "round"}, "that rounds to the nearest number: a part of a step is one.")
answers.edit(
    {STEPS: "np.log(far / distance) / np.log(1 - lr * curvature)"}, "steps are whole: round up."
)
answers.edit({STEPS: f"{STEPS} + 1"}, "that is one step too many.")
answers.edit(
    {STEPS: f"{STEPS.replace('ceil', 'floor')} + 1"},
    "where a step ends at far exactly, that is one step too many: at least far is asked for, not "
    "farther. (Of a quotient of logarithms: round up, which leaves a whole number as it is.)",
)
answers.edit(
    {STEPS: f"steps if (steps := {STEPS}) <= 1000 else np.inf"},
    "a long wait is not for ever: it gives up after a number of steps of its own.",
)
answers.edit(
    {"distance == 0 or ": ""},
    "from the ridge itself the slope is zero, and the walk never leaves: return np.inf there.",
)
answers.edit(
    {" or curvature >= 0": ""},
    "where the direction does not bend down the walk never gets away: return np.inf there.",
)
answers.edit(
    {NEVER: ""},
    "from the ridge itself, and where the direction does not bend down, the walk never gets away: "
    "return np.inf there.",
)
answers.edit(
    {NEVER: "    if curvature >= 0:\n        return 0\n"},
    "where the direction does not bend down, 0 says that it is far away at once: return np.inf.",
)
answers.edit(
    {"curvature >= 0": "curvature > -1e-5"},
    "a direction that hardly bends down is taken for level: however slowly, the walk gets away.",
)
answers.edit({ALREADY: ""}, "a start that is far away already needs no step: return 0.")
answers.edit(
    {
        ALREADY: "",
        "int(np.ceil(np.log(far / distance)": "max(0, int(np.ceil(np.log(far / distance)",
        "1 - lr * curvature)))": "1 - lr * curvature))))",
    },
    "a start that is far away needs no step, whichever way the ground bends there: ask that first.",
)
answers.edit(
    {
        "distance >= far": "distance > far",
        "int(np.ceil(np.log(far / distance)": "max(1, int(np.ceil(np.log(far / distance)",
        "1 - lr * curvature)))": "1 - lr * curvature))))",
    },
    "a start that is just far enough needs no step either.",
)
answers.edit(
    {"return np.inf": "return None"}, "where it never leaves, return np.inf, and not None."
)


@answers.right
def by_walking(distance: float, curvature: float, lr: float, far: float) -> float:
    steps = 0
    while distance < far:
        there = distance - lr * curvature * distance
        if there <= distance:
            return math.inf
        distance, steps = there, steps + 1
    return steps


@answers.right
def by_powers(distance: float, curvature: float, lr: float, far: float) -> float:
    grows = 1 + lr * abs(min(curvature, 0.0))
    if far <= distance:
        return 0
    if grows == 1 or not distance:
        return float("inf")
    return -int((math.log(distance) - math.log(far)) / math.log(grows) // 1)


EXERCISE = Exercise(
    task="Foresee after how many steps a walk that starts beside a ridge is far away from it.",
    reference=escape_saddle,
    cases=cases,
    run=descents.quietly,
    answers=answers,
)
