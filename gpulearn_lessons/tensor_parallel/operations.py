"""Conjugate operations: what goes forward in one way comes back, as a gradient, in the other.

Where all ranks hold the same x and each uses it for its own part of a layer, each learns a part of
x's gradient; where each holds an addend of y, all learn the same gradient of y. Shoeybi et al.,
"Megatron-LM: training multi-billion parameter language models using model parallelism", arXiv
1909.08053, 2019, call the first two f and g; Korthikanti et al., "Reducing activation
recomputation in large Transformer models", arXiv 2205.05198, 2022, the other two g and ḡ.

The ranks are those of the forward pass, also where `backward` is called elsewhere.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import all_gather, reduce_scatter
from gpulearn.parallel.communicator import current, using_channel, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks


class _Conjugate(torch.autograd.Function):
    """One operation forward, the other one backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, there: Any, back: Any) -> Any:
        ctx.back, ctx.channel = back, current()
        return there(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        with using_channel(ctx.channel):
            return ctx.back(gradient), None, None


def _copy(x: Tensor) -> Tensor:
    return x.view_as(x)


def _sum(x: Tensor) -> Tensor:
    return sum_over_ranks(x.clone(memory_format=torch.contiguous_format))


def _gather(x: Tensor) -> Tensor:
    parts = all_gather(x.contiguous())  # (N, b, t/N, …)
    return parts.transpose(0, 1).flatten(1, 2)


def _scatter(x: Tensor) -> Tensor:
    return reduce_scatter(x.transpose(0, 1).contiguous()).transpose(0, 1).contiguous()


def copy_to_ranks(x: Tensor) -> Tensor:
    """Use one x on all ranks: a copy forward, an all-reduce of its gradients backward.

    >>> import gpulearn as gl
    >>> def gradient():
    ...     x = torch.ones(1, requires_grad=True)
    ...     (copy_to_ranks(x) * 10 ** gl.parallel.rank()).sum().backward()
    ...     return x.grad.item()
    >>> gl.launch(gradient, 3, backend="simulated")
    [111.0, 111.0, 111.0]
    """
    return _Conjugate.apply(x, _copy, _sum)  # type: ignore[no-any-return]


def sum_of_ranks(x: Tensor) -> Tensor:
    """Add the ranks' x: an all-reduce forward, a copy of the gradient backward.

    What follows is the same on all ranks, so that each has the whole gradient of the sum already.

    >>> import gpulearn as gl
    >>> def gradient():
    ...     x = torch.full((1,), 10.0 ** gl.parallel.rank(), requires_grad=True)
    ...     total = sum_of_ranks(x)
    ...     (2 * total).sum().backward()
    ...     return total.item(), x.grad.item()
    >>> gl.launch(gradient, 2, backend="simulated")
    [(11.0, 2.0), (11.0, 2.0)]
    """
    return _Conjugate.apply(x, _sum, _copy)  # type: ignore[no-any-return]


def gather_positions(x: Tensor) -> Tensor:
    """Collect the positions of all ranks: (b, t/N, …) → (b, t, …); backward, a reduce-scatter.

    >>> import gpulearn as gl
    >>> def gathered():
    ...     x = torch.full((1, 1), float(gl.parallel.rank()), requires_grad=True)
    ...     whole = gather_positions(x)
    ...     (whole * torch.tensor([1.0, 10.0])).sum().backward()
    ...     return whole.tolist(), x.grad.item()
    >>> gl.launch(gathered, 2, backend="simulated")
    [([[0.0, 1.0]], 2.0), ([[0.0, 1.0]], 20.0)]
    """
    return _Conjugate.apply(x, _gather, _scatter)  # type: ignore[no-any-return]


def scatter_sums(x: Tensor) -> Tensor:
    """Add the ranks' x and keep this rank's positions: (b, t, …) → (b, t/N, …).

    Forward a reduce-scatter, backward an all-gather: together the bytes of one all-reduce.

    >>> import gpulearn as gl
    >>> def added():
    ...     x = torch.tensor([[1.0, 10.0]], requires_grad=True)
    ...     part = scatter_sums(x)
    ...     (part * (1 + gl.parallel.rank())).sum().backward()
    ...     return part.tolist(), x.grad.tolist()
    >>> gl.launch(added, 2, backend="simulated")
    [([[2.0]], [[1.0, 2.0]]), ([[20.0]], [[1.0, 2.0]])]
    """
    if x.shape[1] % world_size():
        raise BadInput(
            f"a sequence has {x.shape[1]} positions, which {world_size()} ranks do not divide: all "
            f"ranks must get equally many."
        )
    return _Conjugate.apply(x, _scatter, _gather)  # type: ignore[no-any-return]
