"""A parameter server that waits for every worker, not only for so many gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpulearn.parallel.communicator import irecv, rank, recv, send, wait_any, world_size


def case_parameter_server(
    weights: Tensor, gradient: Callable[[Tensor, int, int], Tensor], steps: int, lr: float
) -> Tensor:
    """Train synchronously: rank 0 is the server, and each other rank a worker.

    Every rank must call. Each step moves the weights by the mean of one gradient of each worker,
    which all compute at the same time and at the same weights.

    Args:
        weights: at the beginning, of shape (n,), the same on all ranks; changed in place.
        gradient: of the weights, the worker's number from 0 and its step from 0; shape (n,).
        steps: how many.
        lr: learning rate.

    Returns:
        The weights after the last step.

    >>> import gpulearn as gl
    >>> def slope(weights, worker, step):
    ...     return torch.full_like(weights, worker + 1.0)
    >>> run = gl.simulate(case_parameter_server, 3, torch.zeros(1), slope, 2, 0.1)
    >>> [round(weights.item(), 3) for weights in run.results]  # two steps by the mean of 1 and 2
    [-0.3, -0.3, -0.3]
    """
    if rank() > 0:
        for step in range(steps):
            send(gradient(weights, rank() - 1, step), to=0)
            recv(weights, source=0)
        return weights
    workers = [one for one in range(world_size()) if one != rank()]
    inbox = {worker: torch.empty_like(weights) for worker in workers}
    for _ in range(steps):
        arriving = [irecv(inbox[worker], worker) for worker in workers]
        while arriving:
            arriving.pop(wait_any(arriving)).wait()
        weights -= lr * sum(inbox.values()) / len(workers)
        for worker in workers:
            send(weights, to=worker)
    return weights
