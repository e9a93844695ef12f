"""What a replica's loss is divided by."""

import warnings
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, call
from gpulearn_lessons.frameworks.global_mean import average_loss


def cases() -> list[Case]:
    """Even and uneven parts of a batch, an empty one, one replica alone, weights."""
    rng = np.random.default_rng(0)

    def drawn(n: int) -> np.ndarray[Any, Any]:
        return rng.integers(1, 40, n) / 8

    halves = [0.0, 2.0, 1.0, 0.5]
    return [
        Case("4 of 8 rows", (drawn(4), 8)),
        Case("all 6 rows on one replica", (drawn(6), 6)),
        Case("2 rows of an uneven batch of 5", (drawn(2), 5)),
        Case("3 rows of an uneven batch of 5", (drawn(3), 5)),
        Case("none of 3 rows", (np.zeros(0), 3)),
        Case("4 of 8 rows with weights", (drawn(4), 8, np.array(halves))),
        Case("3 of 7 rows with weights of 0 and 1", (drawn(3), 7, np.array([1.0, 0.0, 0.0]))),
        Case("2 of 5 rows with weights that add up to 0", (drawn(2), 5, np.zeros(2))),
        Case("none of 4 rows, with weights", (np.zeros(0), 4, np.zeros(0))),
        Case("1 of 3 rows with a large weight", (drawn(1), 3, np.array([6.0]))),
        Case("5 of 20 rows, losses in float32", (drawn(5).astype(np.float32), 20)),
    ]


def difference(got: Any, expected: Any) -> str | None:
    return compare.numbers_or_none(got, expected, 1e-6)


def same(one: Any, other: Any) -> bool:
    if np.shape(one) != np.shape(other):
        return False
    return bool(np.allclose(one, other, rtol=1e-6, atol=0, equal_nan=True))


def run(answer: Answer, case: Case) -> Any:
    """The answer on a case; means of no rows are no numbers, and no warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(answer, case)


EXERCISE = Exercise(
    task="Return a replica's contribution to the mean loss over all replicas.",
    reference=average_loss,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(same,),
)
