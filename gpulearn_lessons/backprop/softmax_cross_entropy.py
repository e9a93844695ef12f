"""The mean cross-entropy of a batch under softmax, and its gradient."""

from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import softmax_cross_entropy
from gpulearn_lessons.backprop.results import named, quietly, same


def cases() -> list[Case]:
    """Batches in which rows and columns, mean and sum, stable and unstable softmax differ."""
    rng = np.random.default_rng(13)
    cases = []
    for n, classes in ((4, 3), (3, 3), (1, 5), (2, 10)):
        logits = 2 * rng.normal(size=(n, classes))
        labels = rng.integers(0, classes, size=n)
        cases.append(Case(f"logits of shape ({n}, {classes})", (logits, labels)))
    far = np.array([[1000.0, 1001.0, 998.0], [3.0, 1.0, 2.0]]), np.array([0, 2])
    apart = np.array([[-900.0, -902.0], [900.0, 901.0], [0.0, 1.0]]), np.array([1, 0, 1])
    sure = np.array([[30000.0, 0.0, 1.0], [0.5, 0.0, 2.0]]), np.array([1, 0])
    huge = np.array([[1e6, 5e5, 0.0], [3.0, 1.0, 2.0]]), np.array([1, 0])
    single = rng.normal(size=(5, 4)).astype(np.float32, order="F"), np.array([3, 3, 0, 1, 3])
    return [
        *cases,
        Case("logits of 1000", far),
        Case("one row at −900 and one at 900", apart),
        Case("a right class whose probability is rounded to 0", sure),
        Case("logits of a million", huge),
        Case("labels that are all 0", (rng.normal(size=(3, 4)), np.zeros(3, np.int64))),
        Case("float32 logits of shape (5, 4) in Fortran order", single),
    ]


def same_but_for_overflow(one: Any, other: Any) -> bool:
    """A looser view: what overflowed may show as inf, −inf or nan."""
    return same(_nan_for_infinite(one), _nan_for_infinite(other))


def _nan_for_infinite(results: Any) -> Any:
    if isinstance(results, tuple | list):
        return tuple(map(_nan_for_infinite, results))
    return np.where(np.isfinite(results), results, np.nan)


EXERCISE = Exercise(
    task="Compute the mean cross-entropy of a batch under softmax, and its gradient.",
    reference=softmax_cross_entropy,
    cases=cases,
    run=quietly,
    difference=named("loss", "gradient"),
    kinships=(same, same_but_for_overflow),
)
