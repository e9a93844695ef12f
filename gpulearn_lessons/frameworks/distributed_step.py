"""One step of several replicas, given with two mistakes to fix."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn_lessons.broken_tutorials.strategy import PerReplica
from gpulearn_lessons.frameworks.stand_in import StandInStrategy, distributed_step

Array = np.ndarray[Any, Any]
OUTSIDE = (
    "gradients_of is called by the step itself, outside of the replicas. Call it in a function, "
    "and pass that to strategy.run"
)


class StepOutcome(NamedTuple):
    """The new weights, and for which rows the replicas computed gradients."""

    weights: Any  # as they are returned
    rows: tuple[int, ...]  # of each replica
    outside: bool  # whether a call came from outside of a replica's function


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


def run(answer: Answer, case: Case) -> StepOutcome:
    """One step of a stand-in, whose work is counted."""
    replicas, weights, batch, lr = case.args
    strategy = StandInStrategy(replicas)
    computed = [0] * replicas
    outside = False

    def gradients_of(at: Any, rows: Any) -> Any:
        nonlocal outside
        if isinstance(rows, PerReplica):
            raise Violation(
                "gradients_of gets the shards of all replicas at once: pass them to a function "
                "with strategy.run, which calls it on each replica with its own shard."
            )
        if strategy.replica is None:
            outside = True
        else:
            computed[strategy.replica] += len(rows)
        return np.subtract(at, rows)  # of the loss |weights − row|² / 2

    start = weights.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of no rows
        new = answer(strategy, gradients_of, start, batch.copy(), lr)
    if not np.array_equal(start, weights):
        raise Violation("it changes the weights that it is given: return new ones.")
    return StepOutcome(new, tuple(computed), outside)


def difference(got: StepOutcome, expected: StepOutcome) -> str | None:
    if sentence := compare.arrays(got.weights, expected.weights):
        return sentence
    if got.outside:
        return "the weights are right, but no replica computed them: " + OUTSIDE
    if sum(got.rows) > sum(expected.rows):
        return (
            f"the weights are right, but the work is not shared: the replicas computed gradients "
            f"of {sum(got.rows)} rows, and the batch has {sum(expected.rows)}"
        )
    if max(got.rows) > max(expected.rows):
        return (
            f"the weights are right, but one replica did the work of others: it computed gradients "
            f"of {max(got.rows)} rows, and its shard has {max(expected.rows)}"
        )
    return None


def same(one: StepOutcome, other: StepOutcome) -> bool:
    try:
        return one[1:] == other[1:] and bool(
            np.allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12, equal_nan=True)
        )
    except (TypeError, ValueError):
        return False


EXERCISE = Exercise(
    task="Fix a step of several replicas, so that they share a batch and take its mean gradient.",
    reference=distributed_step,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(same,),
    by_hand=False,
)
