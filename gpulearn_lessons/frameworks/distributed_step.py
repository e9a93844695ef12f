"""One step of several replicas, given with two mistakes and to be mended."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn_lessons.broken_tutorials.strategy import PerReplica
from gpulearn_lessons.frameworks.stand_in import StandInStrategy, distributed_step

answers = Answers(distributed_step)

Array = np.ndarray[Any, Any]
OUTSIDE = (
    "gradients_of is called by the step itself, where one device works alone. Call it in a "
    "function, and hand that to strategy.run"
)


class Stepped(NamedTuple):
    """The new weights, and the calls of `gradients_of`: of how many rows, and from where.

    Attributes:
        weights: as they are returned.
        rows: of each call.
        outside: how many calls came from outside of a replica's function.
    """

    weights: Any
    rows: tuple[int, ...]
    outside: int


def cases() -> list[Case]:
    """Even and uneven parts, an empty one, one to four replicas, a rate that matters."""
    rng = np.random.default_rng(3)

    def drawn(*shape: int) -> Array:
        return rng.integers(-8, 9, shape) / 4

    plans = [(2, 8, 3, 0.5), (2, 5, 3, 0.5), (1, 6, 2, 0.1), (3, 7, 4, 1.0), (4, 3, 2, 0.25)]
    return [
        Case(f"{n} replica{'s' * (n > 1)} and {rows} rows", (n, drawn(k), drawn(rows, k), lr))
        for n, rows, k, lr in plans
    ]


def run(answer: Answer, case: Case) -> Stepped:
    """One step of a stand-in, whose work is counted."""
    replicas, weights, batch, lr = case.args
    strategy = StandInStrategy(replicas)
    seen: list[int] = []
    outside = 0

    def gradients_of(at: Any, rows: Any) -> Any:
        nonlocal outside
        if isinstance(rows, PerReplica):
            raise Refused(
                "gradients_of is given the parts of all replicas at once: hand them to a function "
                "with strategy.run, which calls it on each replica with its own part."
            )
        seen.append(len(rows))
        outside += not strategy.in_replica
        return np.subtract(at, rows)  # of the loss |weights − row|² / 2

    start = weights.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of no rows
        new = answer(strategy, gradients_of, start, batch.copy(), lr)
    if not np.array_equal(start, weights):
        raise Refused("it changes the weights that it is given: return new ones.")
    return Stepped(new, tuple(seen), outside)


def difference(got: Stepped, expected: Stepped) -> str | None:
    """The weights first, then who did the work."""
    if said := compare.arrays(got.weights, expected.weights):
        return said
    if got.outside:
        return "the weights are right, and no replica computed them: " + OUTSIDE
    if sum(got.rows) > sum(expected.rows):
        return (
            f"the weights are right, and the work is not shared: the replicas computed gradients "
            f"of {sum(got.rows)} rows, and the batch has {sum(expected.rows)}"
        )
    if max(got.rows, default=0) > max(expected.rows):
        return (
            f"the weights are right, and one replica did the work of others: {max(got.rows)} rows "
            f"where {max(expected.rows)} are its part"
        )
    return None


def same(one: Stepped, other: Stepped) -> bool:
    """Whether weights and work are the same; a call for no rows is no work."""
    try:
        worked = [sorted(filter(None, stepped.rows)) for stepped in (one, other)]
        alike = one.outside == other.outside and worked[0] == worked[1]
        return alike and bool(
            np.allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12, equal_nan=True)
        )
    except (TypeError, ValueError):
        return False


SHARED = "    (shared,) = strategy.experimental_distribute_dataset([batch])\n"
RUN = "args=(shared,)"
SHARE = ".sum(axis=0) / len(batch)"
REDUCE = 'strategy.reduce("SUM", parts, axis=None)'

answers.give({SHARED: "", RUN: "args=(batch,)", SHARE: ".mean(axis=0)"})

answers.edit(
    {SHARED: "", RUN: "args=(batch,)", SHARE: ".mean(axis=0)"},
    "each replica is given the whole batch, and the sum of their means is N times the mean: "
    "distribute the batch, and divide by all its rows.",
)
answers.edit(
    {SHARED: "", RUN: "args=(batch,)", SHARE: ".mean(axis=0)", REDUCE: REDUCE.replace("SUM",
     "MEAN")},
    "the weights are right, and each replica computes the gradients of the whole batch: distribute "
    "it, so that each works on its part alone.",
)  # fmt: skip
answers.edit(
    {SHARE: ".mean(axis=0)"},
    "the parts are shared, and each replica takes the mean over its own rows: the sum over "
    "replicas is about N times the mean. Divide by the rows of the whole batch.",
)
answers.edit(
    {SHARE: ".mean(axis=0)", REDUCE: REDUCE.replace("SUM", "MEAN")},
    "that is the mean of the replicas' means, which is right for equal parts alone: in an uneven "
    "batch the rows of a small part count more, and a replica with no rows has no mean.",
)
answers.edit(
    {SHARE: ".sum(axis=0) / max(len(rows), 1)", REDUCE: REDUCE.replace("SUM", "MEAN")},
    "that is the mean of the replicas' means, which is right for equal parts alone: in an uneven "
    "batch the rows of a small part count more. Divide by the rows of the whole batch, and add up.",
)
answers.edit(
    {SHARE: ".sum(axis=0) / max(len(rows), 1)"},
    "the parts are shared, and each replica takes the mean over its own rows: the sum over "
    "replicas is about N times the mean. Divide by the rows of the whole batch.",
)
answers.edit(
    {SHARE: ".mean(axis=0) / len(batch)"},
    "that divides twice: by the replica's own rows, in the mean, and then by those of the batch.",
)
answers.edit(
    {SHARE: ".sum(axis=0) / 64"},
    "64 is the global batch of the training above: divide by the rows of this batch.",
)
answers.edit(
    {SHARE: ".sum(axis=0)", REDUCE: REDUCE.replace("SUM", "MEAN")},
    "that divides by the number of replicas, and the mean over the rows of the batch is asked: add "
    "up, and divide by its rows.",
)
answers.edit(
    {SHARED: SHARED.replace("[batch]", "[batch[: len(batch) // n * n]]").replace(
        "    (", "    n = strategy.num_replicas_in_sync\n    (", 1)},
    "the rows that do not fill equal parts are left out: the step is against the mean over all.",
)  # fmt: skip
answers.edit(
    {REDUCE: REDUCE.replace("SUM", "MEAN")},
    "each part is divided by the rows of the whole batch already: add the parts up. Their mean is "
    "N times too small.",
)
answers.edit(
    {SHARE: ".sum(axis=0)"}, "nothing is divided: the mean over the batch is asked, not the sum."
)
answers.edit(
    {"return weights - lr": "return weights + lr"}, "that walks uphill: subtract the gradient."
)
answers.edit(
    {"    return weights - lr * " + REDUCE: "    return weights - lr * parts.values[0]"},
    "that is the first replica's part: reduce the parts of all.",
)
answers.edit(
    {SHARED: SHARED.replace("(shared,)", "shared")},
    "that distributes a data set, which gives one distributed batch after another: take the one "
    "out that it has here, and hand that to the replicas.",
)
answers.edit(
    {SHARED: SHARED.replace("[batch]", "batch")},
    "a data set of batches is wanted, and one batch is given, so that each row is taken for a "
    "batch: give a list with the batch in it.",
)


for parts in (
    "[on_replica(rows) for rows in shared.values]",
    "[on_replica(batch)]",
):
    answers.edit(
        {"strategy.run(on_replica, args=(shared,))": parts, REDUCE: "sum(parts)"},
        f"the weights are right, and no replica computed them: {OUTSIDE}.",
    )


@answers.wrong(
    "the weights are right, and one replica computed the gradients of all rows: with its part of "
    "the batch, each computes its own."
)
def one_for_all(strategy: Any, gradients_of: Any, weights: Any, batch: Any, lr: Any) -> Any:
    turns = iter(range(strategy.num_replicas_in_sync))

    def each() -> Any:
        return 0 if next(turns) else gradients_of(weights, batch).mean(axis=0)

    return weights - lr * strategy.reduce("SUM", strategy.run(each), axis=None)


@answers.right
def weights_as_argument(strategy: Any, gradients_of: Any, weights: Any, batch: Any, lr: Any) -> Any:
    def each(w: Any, rows: Any) -> Any:
        return np.sum(gradients_of(w, rows), axis=0)

    for part in strategy.experimental_distribute_dataset([batch]):
        total = strategy.reduce("SUM", strategy.run(each, args=(weights, part)), axis=None)
    return weights - lr / len(batch) * total


@answers.right
def by_shares(strategy: Any, gradients_of: Any, weights: Any, batch: Any, lr: Any) -> Any:
    def each(rows: Any) -> Any:
        if len(rows) == 0:
            return np.zeros_like(weights)
        return gradients_of(weights, rows).mean(axis=0) * (len(rows) / len(batch))

    part = next(iter(strategy.experimental_distribute_dataset([batch])))
    return weights - lr * strategy.reduce("SUM", strategy.run(each, (part,)), None)


@answers.right
def mean_of_scaled(strategy: Any, gradients_of: Any, weights: Any, batch: Any, lr: Any) -> Any:
    scale = strategy.num_replicas_in_sync / len(batch)
    (part,) = list(strategy.experimental_distribute_dataset(iter([batch])))
    parts = strategy.run(lambda rows: scale * gradients_of(weights, rows).sum(0), args=(part,))
    return weights - lr * strategy.reduce("MEAN", parts, axis=None)


EXERCISE = Exercise(
    task="Mend a step of several replicas, so that they share a batch and take its mean gradient.",
    reference=distributed_step,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(same,),
    by_hand=False,
)
