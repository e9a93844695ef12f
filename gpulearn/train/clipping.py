"""Clip gradients by their global norm: one step cannot throw the parameters far away."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import torch

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = ["clip_by_global_norm", "global_norm"]


def _ready(clip: Callable[..., float]) -> Callable[..., float]:
    """Check the arguments, and make a list of what may be a generator, which runs only once."""

    @functools.wraps(clip)
    def checked(parameters: Iterable[torch.Tensor], max_norm: float) -> float:
        require.above_zero("max_norm", max_norm)
        found = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        if not all(isinstance(p, torch.Tensor) for p in found):
            raise BadInput("parameters are no tensors: give model.parameters().")
        if all(p.grad is None for p in found):
            raise BadInput("No parameter has a gradient: clip after loss.backward().")
        return clip(found, max_norm)

    return checked


@_ready
def clip_by_global_norm(parameters: Iterable[torch.Tensor], max_norm: float) -> float:
    """Scale all gradients by one factor, in place, so that their common norm is at most max_norm.

    norm = √(sum of the squares of all elements of all gradients); where it is above max_norm,
    each gradient g becomes g · max_norm / norm, so that the direction of the step stays.
    Smaller gradients stay as they are. So do all where the norm is no finite number: there is
    no direction to keep, and the caller, who gets the norm, must leave the step out.
    Source: R. Pascanu, T. Mikolov, Y. Bengio, On the difficulty of training recurrent neural
    networks, 2013, arXiv 1211.5063, algorithm 1.

    Args:
        parameters: tensors whose `.grad` is clipped; those without a gradient are passed over.
        max_norm: the largest norm allowed.

    Returns:
        The norm before clipping.

    Raises:
        BadInput: max_norm is not above zero, or no parameter has a gradient.

    >>> weight = torch.nn.Parameter(torch.zeros(2))
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> clip_by_global_norm([weight], max_norm=1.0), weight.grad
    (5.0, tensor([0.6000, 0.8000]))
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = float(torch.stack([g.norm() for g in gradients]).norm())
    if max_norm < norm < float("inf"):
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm


def global_norm(parameters: Iterable[torch.Tensor]) -> float:
    """The norm of all gradients as one long vector; 0 where no parameter has one.

    >>> global_norm([torch.zeros(3)])
    0.0
    """
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    return float(torch.stack(norms).norm()) if norms else 0.0
