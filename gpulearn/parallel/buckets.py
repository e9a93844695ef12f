"""Buckets: a few large all-reduces in place of many small ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.averaging import need_dense
from gpulearn.parallel.torch_collectives import Summing, begin_sum
from gpulearn.require import shown

__all__ = ["MEGABYTE", "Bucket", "bucket_gradients"]

MEGABYTE = 1 << 20


def _tensors(value: object) -> None:
    if not isinstance(value, Sequence) or not all(isinstance(one, Tensor) for one in value):
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

    Raises:
        BadInput: `parameters` is no list of tensors, or `most_bytes` is not above zero.

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


class Bucket:
    """The gradients of some parameters, one after another in one flat tensor.

    Behind them stands one number for each parameter: how many ranks have a gradient for it. So
    ranks learn what the others used without another message.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        first = self.parameters[0]
        sizes = [parameter.numel() for parameter in self.parameters]
        self.flat = torch.empty(sum(sizes) + len(sizes), dtype=first.dtype, device=first.device)
        *parts, self._used = self.flat.split([*sizes, len(sizes)])
        self._views = [
            part.view(parameter.shape)
            for part, parameter in zip(parts, self.parameters, strict=True)
        ]
        self._summing: Summing | None = None
        self._filled: set[int] = set()
        self._absent: list[int] = []

    @property
    def full(self) -> bool:
        """Whether all gradients are in."""
        return len(self._filled) == len(self.parameters)

    @property
    def begun(self) -> bool:
        """Whether it is on its way."""
        return self._summing is not None

    def holds(self, number: int) -> bool:
        """Whether the gradient of parameter `number` is in."""
        return number in self._filled

    def fill(self, number: int, share: float) -> None:
        """Take in `share` times one gradient: this rank's part of the mean."""
        parameter, view = self.parameters[number], self._views[number]
        gradient = parameter.grad
        if gradient is None:
            self._absent.append(number)
        if gradient is None or share == 0:  # without samples the gradient is NaN, not 0
            view.zero_()
        else:
            need_dense(gradient)
            torch.mul(gradient, share, out=view)
        self._filled.add(number)

    def fill_rest(self, share: float) -> None:
        """Take in what is missing."""
        for number in range(len(self.parameters)):
            if number not in self._filled:
                self.fill(number, share)

    def begin(self) -> None:
        """Send it on its way; only when full."""
        self._used.fill_(1)
        for number in self._absent:
            self._used[number] = 0
        self._summing = begin_sum(self.flat)

    def finish(self) -> None:
        """Wait for the sums; they become the parameters' gradients, without a copy."""
        if self._summing is not None:
            self._summing.wait()
        for number, ranks in enumerate(self._used.tolist()):
            if ranks > 0:
                self.parameters[number].grad = self._views[number]
        self.empty()

    def empty(self) -> None:
        """Be ready for the next step."""
        self._summing = None
        self._filled.clear()
        self._absent.clear()
