"""What a step costs that gathers its parameters: modeled seconds, and all-gathers by torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from gpulearn.parallel.communicator import barrier, clock, compute
from gpulearn_lessons.sharded_training.stages import ShardedParameters


class _Take(torch.autograd.Function):
    """Passes numbers on; the clock takes `seconds` forward and twice as many backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, seconds: float) -> Tensor:
        """Take the time of a forward pass."""
        compute(seconds)
        ctx.seconds, ctx.like = seconds, weight
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Take the time of a backward pass."""
        compute(2 * ctx.seconds)
        return gradient, torch.zeros_like(ctx.like), None


class TimedBlock(nn.Module):
    """A block of `count` float32 numbers that computes nothing and takes its time.

    A forward pass takes `seconds` on the simulated clock, and a backward pass twice as long.
    """

    def __init__(self, count: int, seconds: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(count))
        self.seconds = seconds

    def forward(self, x: Tensor) -> Tensor:
        """Pass `x` on."""
        result: Tensor = _Take.apply(x, self.weight, self.seconds)
        return result


def timed_step(blocks: int, count: int, seconds: float, prefetch: bool) -> float:
    """Seconds of a step of `ShardedParameters` on this clock, with so many blocks of `TimedBlock`.

    >>> import gpulearn as gl
    >>> run = gl.simulate(timed_step, 2, 4, 1000, 0.25, False, link=gl.parallel.Link(0.5, 1e9))
    >>> [round(seconds, 9) for seconds in run.results]
    [9.000024, 9.000024]
    """
    model = nn.Sequential(*(TimedBlock(count, seconds) for _ in range(blocks)))
    sharded = ShardedParameters(model, partial(torch.optim.SGD, lr=0.1), prefetch=prefetch)
    barrier()
    start = clock()
    model(torch.zeros(1, requires_grad=True)).sum().backward()
    sharded.step()
    return clock() - start


class CountGathers(TorchDispatchMode):
    """Counts this rank's all-gathers through torch.distributed while it is entered."""

    gathers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the operation pass, and count it."""
        self.gathers += "allgather" in str(func)
        return func(*args, **(kwargs or {}))
