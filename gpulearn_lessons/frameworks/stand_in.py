"""A stand-in for TensorFlow's strategies on NumPy arrays."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.strategy import PerReplica, Strategy

Array = np.ndarray[Any, Any]


class StandInStrategy:
    """What `tf.distribute.MirroredStrategy` does with arrays, under its names.

    >>> strategy = StandInStrategy(2)
    >>> strategy.run(len, args=(np.zeros(64),))
    PerReplica(values=(64, 64))
    >>> (shared,) = strategy.experimental_distribute_dataset([np.zeros(64)])
    >>> strategy.reduce("SUM", strategy.run(len, args=(shared,)), axis=None)
    64
    """

    def __init__(self, replicas: int) -> None:
        self._mirrored = Strategy(replicas)
        self.num_replicas_in_sync = self._mirrored.replicas
        self.replica: int | None = None  # whose function is being called

    def experimental_distribute_dataset(self, batches: Iterable[Array]) -> Iterator[PerReplica]:
        """Split each global batch into shards, as equal as possible."""
        if isinstance(batches, np.ndarray):
            raise BadInput(
                f"batches is {shown(batches)}, of which each row would be a batch: give a data "
                "set, such as [batch]."
            )
        return map(self._mirrored.distribute, batches)

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...] = ()) -> Any:
        """Call a function on each replica, with its shards; other arguments are passed whole."""
        if not isinstance(args, tuple):
            raise BadInput(f"args is {shown(args)}: give a tuple, such as (batch,).")
        replicas = iter(range(self.num_replicas_in_sync))

        def on_next(*own: Any) -> Any:
            self.replica = next(replicas)
            return fn(*own)

        try:
            return self._mirrored.run(on_next, *args)
        finally:
            self.replica = None

    def reduce(self, how: str, value: Any, axis: int | None) -> Any:
        """Add up the replicas' values ("SUM"), or take their mean ("MEAN")."""
        require.choice("reduction", how, ("SUM", "MEAN"))
        if axis is not None:
            raise BadInput(f"axis is {shown(axis)}: here values are whole, give axis=None.")
        return self._mirrored.reduce(how.lower(), value)


def distributed_step(
    strategy: Any,
    gradients_of: Callable[[Array, Array], Array],
    weights: Array,
    batch: Array,
    lr: float,
) -> Array:
    """One step of descent on a global batch, with the work shared among the replicas.

    `gradients_of` maps weights (k,) and rows to the gradient of each row's loss, (n, k). Returns
    weights − lr · (mean of the gradients of all rows), (k,).
    """

    def on_replica(rows: Array) -> Array:
        return gradients_of(weights, rows).sum(axis=0) / len(batch)  # type: ignore[no-any-return]

    (shared,) = strategy.experimental_distribute_dataset([batch])
    parts = strategy.run(on_replica, args=(shared,))
    return weights - lr * strategy.reduce("SUM", parts, axis=None)  # type: ignore[no-any-return]
