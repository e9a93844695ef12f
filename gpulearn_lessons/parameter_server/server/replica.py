"""A replicated parameter server: what the primary and its backup do with one push."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Push(NamedTuple):
    """A gradient on its way to the server.

    `worker` sends its pushes one after another, with the numbers 1, 2, 3, …, and sends one again,
    under the same number, if it was not acknowledged.
    """

    worker: int
    number: int
    gradient: Array


@dataclass
class ServerState:
    """What one server has in memory: `applied` is each worker's last push that was applied."""

    weights: Array
    applied: dict[int, int] = field(default_factory=dict)
    lr: float = 1.0


PushHandler = Callable[[ServerState, Push, Callable[[Push], None], Callable[[Push], None]], object]


def serve_with_backup(
    state: ServerState,
    push: Push,
    forward: Callable[[Push], None],
    acknowledge: Callable[[Push], None],
) -> None:
    """Take one push: on the primary, and on the backup with a `forward` that does nothing.

    A push is acknowledged when both servers have it, so that no crash of one of them can lose
    it. Numbers tell a push that is sent again from a new one, so that none is applied twice.

    Args:
        state: this server's; changed in place.
        push: what came.
        forward: hands a push on to the backup, and returns when the backup has taken it.
        acknowledge: tells the worker that its push is safe.

    >>> state, said = ServerState(np.zeros(2)), []
    >>> push = Push(worker=0, number=1, gradient=np.array([-1.0, 0.0]))
    >>> for again in range(2):
    ...     serve_with_backup(state, push, lambda push: None, lambda push: said.append(push.number))
    >>> state.weights.tolist(), state.applied, said
    ([1.0, 0.0], {0: 1}, [1, 1])
    """
    if push.number > state.applied.get(push.worker, 0):
        forward(push)
        state.weights -= state.lr * push.gradient
        state.applied[push.worker] = push.number
    acknowledge(push)


def unit_push(worker: int, number: int, workers: int, pushes: int) -> Push:
    """A push that adds 1 to a place of its own, so that the weights count what was applied.

    `worker` counts from 0 and `number` from 1; there are `workers` that send `pushes` each.

    >>> unit_push(1, 2, workers=2, pushes=3).gradient
    array([ 0.,  0.,  0.,  0., -1.,  0.])
    """
    gradient = np.zeros(workers * pushes)
    gradient[worker * pushes + number - 1] = -1.0
    return Push(worker, number, gradient)


def count_pushes(state: ServerState, workers: int) -> Array:
    """How often each push was applied, of shape (workers, pushes): weights of unit pushes."""
    return state.weights.reshape(workers, -1)
