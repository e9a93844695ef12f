"""What a replica's loss is divided by."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise, call
from gpulearn_lessons.frameworks.global_mean import average_loss

answers = Answers(average_loss)


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


WEIGHTED = "losses if weights is None else losses * weights"
MEAN = "float(weighted.sum() / global_batch)"

answers.edit(
    {MEAN: "float(weighted.mean()) if len(losses) else 0.0"},
    "that is the mean over this replica's own rows. Gradients of replicas are added up, so "
    "two replicas would take steps twice as long: divide by the global batch.",
)
answers.edit(
    {MEAN: "float(weighted.mean())"},
    "that is the mean over this replica's own rows, and the mean of no rows is not a number: "
    "divide the sum by the global batch.",
)
answers.edit(
    {MEAN: "float(weighted.mean() * len(losses) / global_batch)"},
    "the mean of no rows is not a number: divide the sum of the losses by the global batch.",
)
answers.edit(
    {MEAN: "float(weighted.sum())"},
    "that is the sum: it grows with the batch, so divide by the global batch.",
)
answers.edit({WEIGHTED: "losses"}, "the weights are not used: each scales its row's loss.")
for sum_of_weights in ("weights.sum() or 1.0", "weights.sum()"):
    answers.edit(
        {MEAN: f"float(weighted.sum() / (global_batch if weights is None else {sum_of_weights}))"},
        "that divides by the sum of this replica's weights, of which the others know nothing: the "
        "parts would not add up. Divide by the global batch, as without weights.",
    )
answers.edit(
    {MEAN: "float(weighted.sum() / (global_batch if weights is None else global_batch * "
     "weights.mean() if weights.any() else 1.0))"},
    "the weights are taken out again by dividing through their mean: divide by the global batch "
    "alone.",
)  # fmt: skip
answers.edit(
    {MEAN: "float(weighted.sum() / (2 * len(losses))) if len(losses) else 0.0"},
    "that takes the global batch for two equal parts. The last batch may be uneven, and there may "
    "be another number of replicas: global_batch says how many rows there are.",
)
for where in ("", " if len(losses) else 0.0"):
    answers.edit(
        {MEAN: f"float(weighted.mean() / global_batch){where}"},
        "that divides twice: by this replica's rows, in the mean, and then by the global batch.",
    )
answers.edit(
    {MEAN: "float(weighted.sum() / 64)"},
    "64 is the global batch of the training above: here global_batch says how many rows there are.",
)
for empty in ("", " if len(losses) else 0.0"):
    answers.edit(
        {MEAN: f"float(np.average(losses, weights=weights)){empty}"},
        "np.average divides by this replica's rows, or by their weights: add up the losses, each "
        "times its weight, and divide by the global batch.",
    )
answers.edit(
    {MEAN: "weighted / global_batch"},
    "that is a number for each row: add them up.",
)
answers.edit(
    {"float(weighted.sum() / global_batch)": "float(weighted.sum() // global_batch)"},
    "// rounds down: divide with /.",
)


@answers.right
def by_a_loop(losses: Any, global_batch: Any, weights: Any = None) -> Any:
    total = 0.0
    for i, loss in enumerate(losses):
        total += loss * (1.0 if weights is None else weights[i])
    return total / global_batch


@answers.right
def by_a_product(losses: Any, global_batch: Any, weights: Any = None) -> Any:
    if weights is None:
        weights = np.ones_like(losses)
    return losses @ weights / global_batch


@answers.right
def dividing_each(losses: Any, global_batch: Any, weights: Any = 1) -> Any:
    return np.sum(losses / global_batch * (1 if weights is None else weights))


def difference(got: Any, expected: Any) -> str | None:
    """Numbers, to the rounding of float32, in which losses may be."""
    return compare.numbers_or_none(got, expected, 1e-6)


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same; the mean of no number is NaN in both."""
    if np.shape(one) != np.shape(other):
        return False
    return bool(np.allclose(one, other, rtol=1e-6, atol=0, equal_nan=True))


def run(answer: Answer, case: Case) -> Any:
    """The answer on a case; means of no rows are no numbers, and no warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(answer, case)


EXERCISE = Exercise(
    task="Say which number a replica returns, so that all replicas' add up to the mean loss.",
    reference=average_loss,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(same,),
)
