"""The learning rate of a larger batch, with warm-up."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.schedules import scaled_learning_rate
from gpulearn_lessons.data_parallel.defaults import demand_defaults

answers = Answers(scaled_learning_rate)

TARGET = "lr * factor"
OVER = "step >= warm_up"
GROWING = "lr + (target - lr) * step / warm_up"


def cases() -> list[Case]:
    """Every step of a warm-up and after it; no warm-up; factors below and above 1; small rates."""
    works = [
        *((step, 0.1, 8, 4) for step in (0, 1, 2, 3, 4, 5, 9, 100, 50_000)),
        *((step, 0.3, 2.5, 0) for step in (0, 1, 7, 10_000)),
        *((step, 0.02, 4, 1) for step in (0, 1, 2)),
        *((step, 0.5, 1, 10) for step in (0, 5, 20)),
        *((step, 1.6, 0.25, 5) for step in (0, 2, 5, 6)),
        *((step, 0.1, 32, 500) for step in (1, 499, 501)),
        *((step, 3e-7, 6, 7) for step in (1, 3, 8)),
    ]
    return [
        Case(f"step {step}, rate {lr}, factor {factor} and warm_up {warm_up}", work)
        for work in works
        for step, lr, factor, warm_up in [work]
    ]


answers.edit(
    {TARGET: "lr * factor**0.5"},
    "that is the square-root rule: here the rate grows as the batch does, lr · factor.",
)
answers.edit(
    {"step / warm_up": "step / max(warm_up - 1, 1)"},
    "lr · factor is reached one step early, at warm_up − 1: the parts are 1 / warm_up.",
)
answers.edit(
    {GROWING: f"min(target, {GROWING})"},
    "a factor may be below 1, and the rate then goes down: the smaller of two rates is not always "
    "the right one.",
)
answers.edit(
    {GROWING: "target * step / warm_up"},
    "the warm-up begins at 0: its first step has the rate of the small batch.",
)
answers.edit(
    {GROWING: "target * (step + 1) / warm_up"},
    "the warm-up begins one part above 0, at lr · factor / warm_up: it begins at lr.",
)
answers.edit(
    {"* step": "* (step + 1)"},
    "the warm-up is one step ahead, (step + 1) / warm_up: step 0 has lr, step warm_up has lr · "
    "factor.",
)
answers.edit(
    {OVER: "step >= warm_up - 1", "/ warm_up": "/ (warm_up - 1)"},
    "the warm-up ends one step too early, step / (warm_up − 1): lr · factor comes at step number "
    "warm_up.",
)
answers.edit(
    {OVER: "step > warm_up or warm_up == 0", "/ warm_up": "/ (warm_up + 1)"},
    "the warm-up ends one step too late, step / (warm_up + 1): lr · factor comes at step number "
    "warm_up.",
)
answers.edit(
    {OVER: "warm_up == 0"},
    "the rate goes on growing after the warm-up: it stays at lr · factor.",
)
answers.edit(
    {TARGET: "lr * factor**2"},
    "the factor is applied twice, lr · factor²: once for a batch that is factor times as large.",
)
answers.edit(
    {"(target - lr)": "target"},
    "in the warm-up the factor is applied twice: rate + target · step / warm_up, and target has "
    "rate in it already. It grows by target − lr.",
)
answers.edit(
    {"return target": "return lr"},
    "after the warm-up the rate is that of the small batch again: there it is lr · factor.",
)
answers.edit(
    {GROWING: "lr"},
    "the rate does not grow in the warm-up: it goes up in equal parts from lr. (With // instead "
    "of /, step // warm_up is 0 until the end.)",
)
answers.edit(
    {GROWING: "target"},
    "the warm-up is missing: before step number warm_up the rate is still growing.",
)
answers.edit(
    {TARGET: "lr"},
    "the rate stays as it is: a batch that is factor times as large has lr · factor.",
)
answers.edit(
    {TARGET: "lr / factor"},
    "the rate goes down, lr / factor: with a larger batch there are fewer steps, and each is "
    "longer.",
)
answers.edit(
    {GROWING: "lr * factor ** (step / warm_up)"},
    "the rate grows by equal factors, factor ** (step / warm_up): it grows by equal parts.",
)
answers.edit(
    {
        "    if step >= warm_up:\n        return target\n": "",
        "step / warm_up": "min(1, step / warm_up)",
    },
    "warm_up may be 0, and step / warm_up has no value there: lr · factor at once.",
)
answers.edit(
    {TARGET: f"{TARGET}\n    warm_up = max(1, warm_up)"},
    "without a warm-up the first step has the rate of the small batch: with warm_up=0 it is lr · "
    "factor from step 0 on.",
)
answers.edit(
    {TARGET: f"max(lr, {TARGET})"},
    "a factor below 1, for a smaller batch, makes the rate smaller: the growth is cut off at the "
    "larger of the two.",
)
answers.edit(
    {OVER: "warm_up == 0", GROWING: f"min(target, {GROWING})"},
    "min(target, …) ends the warm-up at the smaller of the two, and with a factor below 1 target "
    "is smaller from the first step on: compare step with warm_up.",
)
answers.edit(
    {"return target": "return round(target, 6)", GROWING: f"round({GROWING}, 6)"},
    "the rate is rounded, and small ones with it: return it as it is.",
)

answers.variant({GROWING: "lr * (1 + (factor - 1) * step / warm_up)"})
answers.variant({GROWING: "((warm_up - step) * lr + step * target) / warm_up"})


EXERCISE = Exercise(
    task="Give a step's learning rate for a batch that is factor times as large, with warm-up.",
    reference=scaled_learning_rate,
    cases=cases,
    answers=answers,
    demand=demand_defaults(scaled_learning_rate),
)
