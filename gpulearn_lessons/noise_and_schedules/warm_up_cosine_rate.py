"""A schedule that is given with two mistakes, to be mended from its curve."""

from __future__ import annotations

import math
from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.schedules import warm_up_cosine_rate

answers = Answers(warm_up_cosine_rate)

# what stands in the solution
WARM = "(step + 1) / warm_up"
PART = "(step - warm_up) / (steps - warm_up)"
DONE = f"min({PART}, 1.0)"
WAVE = "(1 + math.cos(math.pi * done)) / 2"
FALLS = f"lowest + (lr - lowest) * {WAVE}"

answers.give({WARM: "step / warm_up", PART: "step / steps"})


def cases() -> list[Case]:
    """The first step, the last of the warm-up, the one after it, on the way, the end and beyond."""
    steps = (0, 3, 9, 10, 11, 60, 109, 110, 125)
    usual = [Case(f"step {k} of 110, 10 of them warm-up", (k, 0.3, 10, 110)) for k in steps]
    floor = [Case(f"step {k} of 40, down to 0.1", (k, 0.5, 4, 40, 0.1)) for k in (0, 4, 22, 40, 99)]
    one = [Case(f"step {k} of 5, one of them warm-up", (k, 2.0, 1, 5)) for k in (0, 1, 4)]
    high = [Case(f"step {k} of 30, down to 0.2", (k, 0.5, 5, 30, 0.2)) for k in (0, 1, 5, 29)]
    return usual + floor + one + high


def difference(got: Any, expected: Any) -> str | None:
    """Compare two rates; at the end of a cosine rounding may leave a trace of one."""
    if compare.is_number(got) and compare.is_number(expected) and abs(got - expected) < 1e-12:
        return None
    return compare.numbers_or_none(got, expected)


answers.edit(
    {WARM: "step / warm_up"},
    "the first step has the rate 0, and is lost: step k of the warm-up has lr·(k + 1)/warm_up.",
)
answers.edit(
    {PART: "step / steps"},
    "the rate jumps down at the end of the warm-up, since the cosine counts the steps before it "
    "too: begin it at step warm_up, with the steps that are left.",
)
answers.edit(
    {WARM: "step / warm_up", PART: "step / steps"},
    "the first step has the rate 0, and is lost; and where the warm-up ends the rate jumps down, "
    "where it should begin to fall gently.",
)
answers.edit(
    {PART: "(step - warm_up) / steps"},
    "the cosine does not come to its end: steps − warm_up steps are left for it.",
)
answers.edit(
    {PART: "step / (steps - warm_up)"},
    "the cosine has run for warm_up steps when its turn comes: count from there, step − warm_up.",
)
answers.edit(
    {WARM: "(step + 1) / (warm_up + 1)"},
    "the warm-up ends one part below lr: its last step, number warm_up − 1, has the whole rate.",
)
answers.edit(
    {f"lr * {WARM}": f"lowest + (lr - lowest) * {WARM}"},
    "the warm-up begins at lowest: it grows from zero in equal parts, and lowest is the end of "
    "the cosine.",
)
answers.edit(
    {"step < warm_up": "step <= warm_up"},
    "step number warm_up is still in the warm-up, and gets more than lr: that is where the cosine "
    "begins.",
)
answers.edit(
    {DONE: PART},
    "beyond the last step the cosine rises again: from there on the rate stays at lowest.",
)
answers.edit(
    {FALLS: f"lr * {WAVE}"}, "the rate falls to zero, whatever lowest is: end there, at lowest."
)
answers.edit(
    {FALLS: f"(lr - lowest) * {WAVE}"},
    "lowest is taken off and never added: lowest + (lr − lowest) · ½ (1 + cos).",
)
answers.edit(
    {FALLS: f"lowest + lr * {WAVE}"},
    "that begins at lr + lowest: what falls is what stands above lowest, lr − lowest.",
)
answers.edit(
    {FALLS: f"max(lowest, lr * {WAVE})"},
    "that cuts the cosine off at lowest: its lower end is to be lowest.",
)
answers.edit(
    {WAVE: "math.cos(math.pi / 2 * done)"},
    "that is a quarter of a wave: half of one, ½ (1 + cos(π · done)), is level at both ends.",
)
answers.edit(
    {WAVE: "(1 - math.cos(math.pi * done)) / 2"}, "that rises from lowest to lr: 1 + cos falls."
)
answers.edit({WAVE: "(1 - done)"}, "that falls along a straight line: take half a cosine.")
answers.edit({WAVE: "(1 + math.cos(math.pi * done))"}, "that begins at twice the rate: halve it.")
answers.edit(
    {"math.pi * done": "180 * done"}, "math.cos takes its angle in radians: half a turn is math.pi."
)
answers.edit(
    {f"return lr * {WARM}": "return lr"},
    "the warm-up has the whole rate from its first step: it has to grow.",
)

answers.variant({DONE: PART, "    return lowest": "    done = min(done, 1)\n    return lowest"})


@answers.right
def by_branches(step: int, lr: float, warm_up: int, steps: int, lowest: float = 0.0) -> float:
    if step >= steps:
        return lowest
    if step + 1 <= warm_up:
        return (1 + step) * (lr / warm_up)
    angle = math.pi * (step - warm_up) / (steps - warm_up)
    return lr * math.cos(angle / 2) ** 2 + lowest * math.sin(angle / 2) ** 2


EXERCISE = Exercise(
    task="Mend the schedule: it grows to lr in the warm-up, then falls along a cosine to lowest.",
    reference=warm_up_cosine_rate,
    cases=cases,
    difference=difference,
    answers=answers,
)
