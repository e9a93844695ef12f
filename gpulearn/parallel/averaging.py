"""The heart of data parallelism: every rank ends with the mean of all ranks' gradients."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, ParamSpec

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import copy_from, largest_over_ranks, sum_over_ranks

__all__ = ["average_gradients", "broadcast_weights", "share_of"]

P = ParamSpec("P")
NO_SAMPLES = "samples is 0 on every rank: there is no gradient to average."


def _averageable(given: dict[str, Any]) -> None:
    if not isinstance(given["model"], nn.Module):
        raise BadInput(f"model is {require.shown(given['model'])}: give the model.")
    _count_of_samples(given["samples"])
    for parameter in given["model"].parameters():
        if parameter.grad is not None:
            need_dense(parameter.grad)


def _with_samples(average: Callable[P, None]) -> Callable[P, None]:
    """Say in words what a division by zero samples means."""

    @functools.wraps(average)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            average(*args, **kwargs)
        except ZeroDivisionError:
            raise BadInput(NO_SAMPLES) from None

    return checked


@_with_samples
@require.together(_averageable)
def average_gradients(model: nn.Module, samples: int = 1) -> None:
    """Replace each gradient by its mean over all ranks, with one all-reduce per parameter.

    g = Σ (nᵣ / n) gᵣ, where gᵣ is the gradient of rank r's mean loss over its nᵣ samples and n
    = Σ nᵣ: the gradient of the mean loss over all samples. With equal shards nᵣ / n is 1/N.

    A parameter that this rank did not use counts as zero; one that no rank used keeps `None`.

    Args:
        model: this rank's replica, after `backward`.
        samples: nᵣ, how many samples this rank's mean loss is over; it may be 0. Where all ranks
            have as many, all may leave it out.

    Raises:
        BadInput: `samples` is no count, no rank has samples, or a gradient is sparse.
        RankError: this is no rank.

    >>> import gpulearn as gl
    >>> def gradient(samples):
    ...     model = nn.Linear(1, 1, bias=False)
    ...     model.weight.grad = torch.tensor([[1.0 + 4 * gl.parallel.rank()]])
    ...     average_gradients(model, samples[gl.parallel.rank()])
    ...     return model.weight.grad.item()
    >>> gl.launch(gradient, 2, [1, 1], backend="simulated")  # the mean of 1 and 5
    [3.0, 3.0]
    >>> gl.launch(gradient, 2, [3, 1], backend="simulated")  # (3 · 1 + 1 · 5) / 4
    [2.0, 2.0]
    """
    total = sum_over_ranks(torch.tensor(float(samples), dtype=torch.float64)).item()
    share = samples / total
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    used = torch.tensor([float(parameter.grad is not None) for parameter in trained])
    for parameter, by_some in zip(trained, sum_over_ranks(used).tolist(), strict=True):
        if by_some:
            if parameter.grad is None or samples == 0:  # a mean over no samples is NaN, not 0
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad *= share
            sum_over_ranks(parameter.grad)


def share_of(samples: int | None) -> float:
    """This rank's weight in the mean: nᵣ / Σ nᵣ, or 1/N if all have as many.

    Every rank must call; all give a count, or all give None.

    Raises:
        BadInput: `samples` is no count, or no rank has samples.
    """
    if samples is None:
        return 1 / world_size()
    _count_of_samples(samples)
    total = sum_over_ranks(torch.tensor(float(samples), dtype=torch.float64)).item()
    if total == 0:
        raise BadInput(NO_SAMPLES)
    return samples / total


def _count_of_samples(value: Any) -> None:
    if value != 0:
        require.above_zero("samples", value)


def need_dense(gradient: Tensor) -> None:
    """Check that a gradient is a plain tensor.

    Raises:
        BadInput: it is sparse.
    """
    if gradient.is_sparse:
        raise BadInput(
            "A gradient is sparse, and ranks average plain ones: build the nn.Embedding with "
            "sparse=False."
        )


def broadcast_weights(model: nn.Module, root: int = 0) -> None:
    """Copy one rank's parameters and buffers to all: replicas that start apart stay apart.

    Raises:
        BadInput: the ranks' models do not have the same parameters and buffers, or not the same
            ones are frozen.
        RankError: this is no rank.

    >>> import gpulearn as gl
    >>> def weight():
    ...     model = nn.Linear(1, 1, bias=False)
    ...     nn.init.constant_(model.weight, gl.parallel.rank())
    ...     broadcast_weights(model)
    ...     return model.weight.item()
    >>> gl.launch(weight, 3, backend="simulated")
    [0.0, 0.0, 0.0]
    """
    entries = [*model.named_parameters(), *model.named_buffers()]
    described = [
        (name, tuple(value.shape), str(value.dtype), value.requires_grad) for name, value in entries
    ]
    digest = int(hashlib.sha256(repr(described).encode()).hexdigest()[:15], 16)
    # largest of d and of −d: the same number everywhere if largest and smallest are equal
    largest, smallest = largest_over_ranks(torch.tensor([digest, -digest])).tolist()
    if largest != -smallest:
        raise BadInput(
            "The ranks' models differ in their parameters' names, shapes, dtypes or in which are "
            "frozen: build the same model on every rank."
        )
    for _, value in entries:
        copy_from(root, value)
