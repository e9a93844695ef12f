"""Gradient averaging, the heart of data parallelism: parameter by parameter, and in buckets."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.torch_collectives import copy_from, largest_over_ranks, sum_over_ranks
from gpulearn.require import shown

P = ParamSpec("P")


def _averageable(args: dict[str, Any]) -> None:
    if not isinstance(args["model"], nn.Module):
        raise BadInput(f"model is {shown(args['model'])}: give the model.")
    if args["samples"] != 0:
        require.above_zero("samples", args["samples"])
    for parameter in args["model"].parameters():
        if parameter.grad is not None:
            need_dense(parameter.grad)


def _with_samples(average: Callable[P, None]) -> Callable[P, None]:
    """Say in words what a division by zero samples means."""

    @functools.wraps(average)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            average(*args, **kwargs)
        except ZeroDivisionError:
            raise BadInput("samples is 0 on every rank: there is no gradient to average.") from None

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


def need_dense(gradient: Tensor) -> None:
    """Check that a gradient is a plain tensor."""
    if gradient.is_sparse:
        raise BadInput(
            "A gradient is sparse, and ranks average plain ones: build the nn.Embedding with "
            "sparse=False."
        )


def broadcast_weights(model: nn.Module, root: int = 0) -> None:
    """Copy one rank's parameters and buffers to all: replicas that start apart stay apart.

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


def _tensors(value: object) -> None:
    if not isinstance(value, Sequence) or not all(isinstance(entry, Tensor) for entry in value):
        raise BadInput(f"parameters is {shown(value)}: give list(model.parameters()).")


@require.checked(parameters=_tensors)
@require.sizes("most_bytes")
def bucket_gradients(
    parameters: Sequence[nn.Parameter], most_bytes: int
) -> list[list[nn.Parameter]]:
    """Group parameters into buckets whose gradients travel together, the last ones first.

    `backward` goes from the last layer to the first, so the first bucket is full soon. A bucket
    holds one dtype on one device. Li et al., "PyTorch Distributed: experiences on accelerating
    data parallel training", arXiv 2006.15704, 2020, section 3.2.3.

    Args:
        parameters: of the model, in the order in which it uses them.
        most_bytes: of a bucket's gradients; a larger parameter has a bucket of its own.

    Returns:
        The buckets; those that need no gradient are in none.

    >>> model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))  # 128, 32, 64 and 8 bytes
    >>> buckets = bucket_gradients(list(model.parameters()), most_bytes=120)
    >>> [[parameter.nbytes for parameter in bucket] for bucket in buckets]
    [[8, 64, 32], [128]]
    """
    buckets: list[list[nn.Parameter]] = []
    kind, filled = None, 0
    for parameter in reversed(parameters):
        if not parameter.requires_grad:
            continue
        own_kind = (parameter.dtype, parameter.device)
        if own_kind != kind or filled + parameter.nbytes > most_bytes:
            buckets.append([])
            kind, filled = own_kind, 0
        buckets[-1].append(parameter)
        filled += parameter.nbytes
    return buckets
