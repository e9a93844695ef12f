"""A model of TensorFlow's mirrored strategy: which replica is given what, and what is summed.

Replicas run one after another; what they hand to an optimizer is summed and applied when all have
run. So it says what is computed, and nothing of time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

Array = Any


@dataclass(frozen=True)
class PerReplica:
    """A value of each replica; it is no number and no array itself."""

    values: tuple[Any, ...]


class MirroredOptimizer:
    """Descent with momentum, v ← μ·v + Σ g and θ ← θ − lr·v, where Σ goes over the replicas."""

    def __init__(self, strategy: Strategy, weights: Array, lr: float, momentum: float) -> None:
        self._strategy, self._weights = strategy, weights
        self._lr, self._momentum = lr, momentum
        self._velocity = np.zeros_like(weights)

    def apply(self, gradient: Array) -> None:
        """Step by a gradient; in a replica's function, by the sum of all replicas' gradients."""
        if self._strategy.running is None:
            self.step(gradient)
        else:
            self._strategy.running.append((self, np.array(gradient)))

    def step(self, total: Array) -> None:
        """Move the weights, in place."""
        self._velocity *= self._momentum
        self._velocity += total
        self._weights -= self._lr * self._velocity


class Strategy:
    """So many replicas of one training.

    >>> strategy = Strategy(2)
    >>> strategy.run(sum, [0, 1, 2, 3])  # a plain value: the same for both
    PerReplica(values=(6, 6))
    >>> parts = strategy.distribute([0, 1, 2, 3])
    >>> strategy.run(sum, parts)
    PerReplica(values=(1, 5))
    >>> strategy.reduce("sum", strategy.run(sum, parts))
    6
    """

    def __init__(self, replicas: int) -> None:
        self.replicas = require.whole("replicas", replicas)
        self.running: list[tuple[MirroredOptimizer, Array]] | None = None

    def distribute(self, batch: Any) -> PerReplica:
        """A batch cut into a part for each replica; the first ones may have a row more."""
        each, more = divmod(len(batch), self.replicas)
        bounds = [each * k + min(k, more) for k in range(self.replicas + 1)]
        return PerReplica(tuple(batch[start:end] for start, end in itertools.pairwise(bounds)))

    def optimizer(self, weights: Array, lr: float, momentum: float = 0.0) -> MirroredOptimizer:
        """An optimizer of the mirrored weights, an array that it changes in place."""
        return MirroredOptimizer(self, weights, lr, momentum)

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call a function on each replica, then apply the sum of what all gave an optimizer.

        All replicas see the weights as they were before. Of the arguments that are `PerReplica`
        each gets its own; anything else, all get whole. Returns a `PerReplica` of what each
        returned, pairs as a pair of them; with one replica, what that returned itself.
        """
        if self.running is not None:
            raise BadInput("strategy.run is called in a replica's function: call it outside.")
        returned, gradients = [], []
        try:
            for replica in range(self.replicas):
                self.running = []
                own = [a.values[replica] if isinstance(a, PerReplica) else a for a in args]
                returned.append(fn(*own))
                gradients.append(self.running)
        finally:
            self.running = None
        if len({len(calls) for calls in gradients}) > 1:
            raise BadInput(
                "the replicas hand over gradients differently often: all must each time."
            )
        for calls in zip(*gradients, strict=True):
            calls[0][0].step(sum(gradient for _, gradient in calls))
        return self._packed(returned)

    def _packed(self, returned: list[Any]) -> Any:
        if self.replicas == 1:
            return returned[0]
        if all(isinstance(value, tuple) for value in returned):
            return tuple(PerReplica(values) for values in zip(*returned, strict=True))
        return PerReplica(tuple(returned))

    def reduce(self, how: str, value: Any) -> Any:
        """The sum or the mean over the replicas."""
        how = require.choice("how", how, ("sum", "mean"))
        if isinstance(value, PerReplica):
            total = sum(value.values)
            return total / self.replicas if how == "mean" else total
        if self.replicas == 1:
            return value
        raise BadInput(f"value is {shown(value)}: give what strategy.run returned.")


def case_mirrored_strategy(
    strategy: Strategy,
    weights: Array,
    batches: Iterable[tuple[Array, Array]],
    lr: float,
    momentum: float,
) -> list[float]:
    """Train a linear model on mean squared errors, as one replica would with whole batches.

    Args:
        strategy: of any number of replicas.
        weights: of shape (n,); changed in place.
        batches: of inputs (rows, n) and targets (rows,).
        lr: learning rate.
        momentum: of the optimizer.

    Returns:
        The mean loss over each whole batch, before its step.

    >>> one, two = np.zeros(1), np.zeros(1)
    >>> batches = [(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 3.0]))]
    >>> losses = [case_mirrored_strategy(Strategy(n), w, batches, 0.1, 0.9)
    ...           for n, w in ((1, one), (2, two))]
    >>> [round(float(w[0]), 6) for w in (one, two)], [round(loss, 6) for [loss] in losses]
    ([0.933333, 0.933333], [4.666667, 4.666667])
    """
    optimizer = strategy.optimizer(weights, lr, momentum)

    def replica_step(inputs: Array, targets: Array, rows: int) -> Array:
        errors = inputs @ weights - targets
        optimizer.apply(2 * inputs.T @ errors / rows)
        return (errors**2).sum() / rows

    losses = []
    for inputs, targets in batches:
        parts = strategy.distribute(inputs), strategy.distribute(targets)
        loss = strategy.run(replica_step, *parts, len(targets))
        losses.append(float(strategy.reduce("sum", loss)))
    return losses
