"""The learning rate of a larger batch, with warm-up."""

from __future__ import annotations

from typing import Any

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.data_parallel.defaults import demand_defaults
from gpulearn.optim.schedules import scaled_learning_rate

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """Every step of a warm-up and after it; no warm-up; factors below and above 1; small rates."""
    works = [
        *((step, 0.1, 8, 4) for step in (0, 1, 2, 3, 4, 5, 9, 100)),
        *((step, 0.3, 2.5, 0) for step in (0, 1, 7)),
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


def grown(step: int, warm_up: int) -> float:
    """The part of the warm-up that is over."""
    return min(1.0, step / warm_up) if warm_up else 1.0


@answers.wrong("that is the square-root rule: here the rate grows as the batch does, lr · factor.")
def square_root(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor**0.5, warm_up)


@answers.wrong("the warm-up begins at 0: its first step has the rate of the small batch.")
def from_zero(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * factor * grown(step, warm_up)


@answers.wrong("the warm-up begins one part above 0, at lr · factor / warm_up: it begins at lr.")
def from_one_part(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * factor * grown(step + 1, warm_up)


@answers.wrong(
    "the warm-up is one step ahead, (step + 1) / warm_up: step 0 has lr, step warm_up has lr · "
    "factor."
)
def one_step_ahead(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step + 1, lr, factor, warm_up)


@answers.wrong(
    "the warm-up ends one step too early, step / (warm_up − 1): lr · factor comes at step number "
    "warm_up."
)
def ends_early(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor, max(0, warm_up - 1))


@answers.wrong(
    "the warm-up ends one step too late, step / (warm_up + 1): lr · factor comes at step number "
    "warm_up."
)
def ends_late(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor, warm_up + 1 if warm_up else 0)


@answers.wrong("the rate goes on growing after the warm-up: it stays at lr · factor.")
def grows_on(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr + lr * (factor - 1) * (step / warm_up if warm_up else 1)


@answers.wrong(
    "the factor is applied twice, lr · factor²: once for a batch that is factor times as large."
)
def factor_twice(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor**2, warm_up)


@answers.wrong(
    "in the warm-up the factor is applied twice: rate + target · step / warm_up, and target has "
    "rate in it already. It grows by target − lr."
)
def grows_by_target(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * factor if step >= warm_up else lr + lr * factor * step / warm_up


@answers.wrong(
    "after the warm-up the rate is that of the small batch again: there it is lr · factor."
)
def falls_back(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor, warm_up) if step < warm_up else lr


@answers.wrong(
    "the rate does not grow in the warm-up: it goes up in equal parts from lr. (With // instead "
    "of /, step // warm_up is 0 until the end.)"
)
def waits(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr if step < warm_up else lr * factor


@answers.wrong("the warm-up is missing: before step number warm_up the rate is still growing.")
def no_warm_up(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * factor


@answers.wrong("the rate stays as it is: a batch that is factor times as large has lr · factor.")
def unscaled(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr


@answers.wrong(
    "the rate goes down, lr / factor: with a larger batch there are fewer steps, and each is "
    "longer."
)
def divided(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, 1 / factor, warm_up)


@answers.wrong(
    "the rate grows by equal factors, factor ** (step / warm_up): it grows by equal parts."
)
def by_equal_factors(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * factor ** grown(step, warm_up)


@answers.wrong("warm_up may be 0, and step / warm_up has no value there: lr · factor at once.")
def divides_by_zero(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr + (lr * factor - lr) * min(1, step / warm_up)


@answers.wrong(
    "without a warm-up the first step has the rate of the small batch: with warm_up=0 it is lr · "
    "factor from step 0 on."
)
def one_step_of_warm_up(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return scaled_learning_rate(step, lr, factor, max(1, warm_up))


@answers.wrong(
    "a factor below 1, for a smaller batch, makes the rate smaller: the growth is cut off at the "
    "larger of the two."
)
def never_smaller(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return max(lr, scaled_learning_rate(step, lr, factor, warm_up))


@answers.wrong(
    "min(target, …) ends the warm-up at the smaller of the two, and with a factor below 1 target "
    "is smaller from the first step on: compare step with warm_up."
)
def at_most_the_target(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    target = lr * factor
    return min(target, lr + (target - lr) * step / warm_up) if warm_up else target


@answers.wrong("the rate is rounded, and small ones with it: return it as it is.")
def rounded(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return round(scaled_learning_rate(step, lr, factor, warm_up), 6)


@answers.right
def by_the_part_that_is_over(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    return lr * (1 + (factor - 1) * grown(step, warm_up))


@answers.right
def as_a_mean_of_both(step: int, lr: Any, factor: Any, warm_up: int = 0) -> Any:
    left = max(0, warm_up - step)
    if left == 0:
        return lr * factor
    return (left * lr + (warm_up - left) * lr * factor) / warm_up


EXERCISE = Exercise(
    name="scaled_learning_rate",
    notebook="14_data_parallel",
    task="Give a step's learning rate for a batch that is factor times as large, with warm-up.",
    reference=scaled_learning_rate,
    cases=cases,
    answers=answers,
    demand=demand_defaults(scaled_learning_rate),
)
