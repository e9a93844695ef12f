"""The time of a step that gathers its parameters: by formula, and on the simulated clock."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.parallel.communicator import barrier, clock, compute
from gpulearn.parallel.links import Link, as_link
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
    sharded.release()
    return clock() - start


@require.sizes("ranks", "blocks", "count")
@require.positive(or_zero=("seconds",))
def sharded_seconds(
    ranks: int, blocks: int, count: int, seconds: float, link: Link | str, *, prefetch: bool = False
) -> float:
    """Seconds of one step of stage 3 with equal blocks in the α–β model.

    With f seconds forward, b = 2f backward and g = (N−1)(α + S/N · β) for a gather or a
    reduce-scatter of a block's S bytes, one after another: L(3g + 3f). With prefetch the next
    gather, and backward the last reduce-scatter too, travel while a block computes: forward
    g + (L−1)·max(f, g) + f, backward g + max(b, g) + (L−2)·max(b, 2g) + max(b, g) + g.

    Args:
        ranks: N, how many ranks there are.
        blocks: L, how many blocks there are, at least 2 with prefetch.
        count: float32 parameters of each.
        seconds: f, of each block's forward pass.
        link: between any two ranks, or its name.
        prefetch: whether the next block is gathered while this one computes.

    >>> sharded_seconds(2, 4, 1000, 0.25, Link(0.5, 1e9))
    9.000024
    """
    gather = (ranks - 1) * as_link(link).seconds(4 * -(-count // ranks))
    back = 2 * seconds
    if not prefetch or blocks < 2:
        return blocks * (3 * gather + seconds + back)
    forward = gather + (blocks - 1) * max(seconds, gather) + seconds
    between = (blocks - 2) * max(back, 2 * gather)
    return forward + gather + 2 * max(back, gather) + between + gather
