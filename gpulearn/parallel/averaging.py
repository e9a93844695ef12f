"""The heart of data parallelism: every rank ends with the mean of all ranks' gradients."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from gpulearn import _require
from gpulearn.errors import BadInput
from gpulearn.parallel.comm import world_size
from gpulearn.parallel.library import copy_from, largest_over_ranks, sum_over_ranks

__all__ = ["average_gradients", "broadcast_weights", "share_of"]


def average_gradients(model: nn.Module, samples: int | None = None) -> None:
    """Replace each gradient by its mean over all ranks, with one all-reduce per parameter.

    g = Σ (nᵣ / n) gᵣ, where gᵣ is the gradient of rank r's mean loss over its nᵣ samples and n
    = Σ nᵣ: the gradient of the mean loss over all samples. With equal shards nᵣ / n is 1/N.

    A parameter that this rank did not use counts as zero; one that no rank used keeps `None`.

    Args:
        model: this rank's replica, after `backward`.
        samples: nᵣ, how many samples this rank's mean loss is over; it may be 0. None says that
            all ranks have as many.

    Raises:
        BadInput: `samples` is no count, or no rank has samples.
        RankError: this is no rank.

    >>> import gpulearn as gl
    >>> def gradient(samples):
    ...     model = nn.Linear(1, 1, bias=False)
    ...     model.weight.grad = torch.tensor([[1.0 + 4 * gl.rank()]])
    ...     average_gradients(model, samples[gl.rank()])
    ...     return model.weight.grad.item()
    >>> gl.launch(gradient, 2, [None, None], backend="simulated")  # the mean of 1 and 5
    [3.0, 3.0]
    >>> gl.launch(gradient, 2, [3, 1], backend="simulated")  # (3 · 1 + 1 · 5) / 4
    [2.0, 2.0]
    """
    share = share_of(samples)
    for gradient in _gradients(model.parameters(), samples):
        gradient.mul_(share)
        sum_over_ranks(gradient)


def share_of(samples: int | None) -> float:
    """This rank's weight in the mean: nᵣ / Σ nᵣ, or 1/N if all have as many.

    Every rank must call; all give a count, or all give None.

    Raises:
        BadInput: `samples` is no count, or no rank has samples.
    """
    if samples is None:
        return 1 / world_size()
    if samples != 0:
        _require.above_zero("samples", samples)
    total = sum_over_ranks(torch.tensor(float(samples), dtype=torch.float64)).item()
    if total == 0:
        raise BadInput("samples is 0 on every rank: there is no gradient to average.")
    return samples / total


def _gradients(parameters: Iterable[nn.Parameter], samples: int | None) -> Iterator[Tensor]:
    """The gradients that some rank has, in the same order on all ranks."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    used = torch.tensor([float(parameter.grad is not None) for parameter in trained])
    for parameter, by_some in zip(trained, sum_over_ranks(used).tolist(), strict=True):
        if not by_some:
            continue
        if parameter.grad is None or samples == 0:  # a mean over no samples is NaN, not 0
            parameter.grad = torch.zeros_like(parameter)
        need_dense(parameter.grad)
        yield parameter.grad


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
        BadInput: the ranks' models do not have the same parameters and buffers.
        RankError: this is no rank.

    >>> import gpulearn as gl
    >>> def weight():
    ...     model = nn.Linear(1, 1, bias=False)
    ...     nn.init.constant_(model.weight, gl.rank())
    ...     broadcast_weights(model)
    ...     return model.weight.item()
    >>> gl.launch(weight, 3, backend="simulated")
    [0.0, 0.0, 0.0]
    """
    entries = [*model.named_parameters(), *model.named_buffers()]
    described = [(name, tuple(value.shape), str(value.dtype)) for name, value in entries]
    digest = int(hashlib.sha256(repr(described).encode()).hexdigest()[:15], 16)
    # largest of d and of −d: the same number everywhere if largest and smallest are equal
    largest, smallest = largest_over_ranks(torch.tensor([digest, -digest])).tolist()
    if largest != -smallest:
        raise BadInput(
            "The ranks' models differ in their parameters' names, shapes or dtypes: build the "
            "same model on every rank."
        )
    for _, value in entries:
        copy_from(root, value)
