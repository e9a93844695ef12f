"""A stand-in for TensorFlow's strategies, on NumPy arrays: their words, and who works on what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = ["ReplicaParts", "StandInStrategy", "distributed_step"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ReplicaParts:
    """A value that differs from replica to replica."""

    values: tuple[Any, ...]


class StandInStrategy:
    """What `tf.distribute.MirroredStrategy` does with arrays, on replicas that take turns.

    Args:
        replicas: how many.

    >>> strategy = StandInStrategy(2)
    >>> strategy.run(len, args=(np.zeros(64),))
    ReplicaParts(values=(64, 64))
    >>> (shared,) = strategy.experimental_distribute_dataset([np.zeros(64)])
    >>> strategy.reduce("SUM", strategy.run(len, args=(shared,)), axis=None)
    64
    """

    def __init__(self, replicas: int) -> None:
        self.num_replicas_in_sync = require.whole("replicas", replicas)

    def experimental_distribute_dataset(self, batches: Iterable[Array]) -> Iterator[ReplicaParts]:
        """Cut each global batch into parts, as equal as can be."""
        for batch in batches:
            yield ReplicaParts(tuple(np.array_split(batch, self.num_replicas_in_sync)))

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...] = ()) -> ReplicaParts:
        """Call a function on each replica: with its part, and with all of what has no parts."""
        if not isinstance(args, tuple):
            raise BadInput(f"args is {shown(args)}: give a tuple, such as (batch,).")
        return ReplicaParts(
            tuple(
                fn(*(a.values[n] if isinstance(a, ReplicaParts) else a for a in args))
                for n in range(self.num_replicas_in_sync)
            )
        )

    def reduce(self, how: str, value: Any, axis: int | None) -> Any:
        """Add the replicas' values up ("SUM"), or take their mean ("MEAN")."""
        require.choice("reduction", how, ("SUM", "MEAN"))
        if axis is not None:
            raise BadInput(f"axis is {shown(axis)}: here values are whole, give axis=None.")
        if not isinstance(value, ReplicaParts):
            raise BadInput(f"value is {shown(value)}: give what strategy.run returned.")
        total = sum(value.values[1:], start=value.values[0])
        return total / self.num_replicas_in_sync if how == "MEAN" else total


def distributed_step(
    strategy: Any,
    gradients_of: Callable[[Array, Array], Array],
    weights: Array,
    batch: Array,
    lr: float,
) -> Array:
    """One step of descent on a global batch, with the work shared among the replicas.

    Args:
        strategy: one of TensorFlow's, or what stands in for it.
        gradients_of: (weights, rows) → the gradient of each row's loss, of shape (n, k).
        weights: of shape (k,).
        batch: the rows of all replicas.
        lr: the learning rate.

    Returns:
        weights − lr · (mean of the gradients of all rows), of shape (k,).
    """

    def on_replica(rows: Array) -> Array:
        return gradients_of(weights, rows).sum(axis=0) / len(batch)  # type: ignore[no-any-return]

    (shared,) = strategy.experimental_distribute_dataset([batch])
    parts = strategy.run(on_replica, args=(shared,))
    return weights - lr * strategy.reduce("SUM", parts, axis=None)  # type: ignore[no-any-return]
