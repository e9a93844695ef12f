"""Gradient compression: fewer bytes for a gradient that is only nearly the mean."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import all_gather
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.data_parallel import Replica
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.require import shown

METHODS = ("top-k", "float16")


class Sparse(NamedTuple):
    """The entries of a flat tensor that are sent: where they stand, and what they are."""

    places: Tensor
    values: Tensor

    @property
    def nbytes(self) -> int:
        """Bytes of a message with both."""
        return self.places.nbytes + self.values.nbytes


def check_share(value: object) -> None:
    """Raise `BadInput` if this is no share above 0."""
    require.above_zero("keep", value)
    if value > 1:  # type: ignore[operator]
        raise BadInput(f"keep is {shown(value)}: give a share above 0, at most 1.")


@require.checked(keep=check_share)
def top_k(tensor: Tensor, keep: float) -> Sparse:
    """The entries of largest magnitude: the share `keep` of them, above 0, and at least one.

    The tensor has at least one entry and fewer than 2³¹.

    >>> top_k(torch.tensor([1.0, -5.0, 0.5, 3.0]), keep=0.5)
    Sparse(places=tensor([1, 3], dtype=torch.int32), values=tensor([-5.,  3.]))
    """
    flat = tensor.detach().flatten()
    count = max(1, round(keep * flat.numel()))
    places = flat.abs().topk(count).indices.sort().values
    return Sparse(places.int(), flat[places])


def all_reduce_top_k(tensor: Tensor, residual: Tensor, keep: float) -> int:
    """Replace a tensor by the sum over ranks of each rank's largest entries, the share `keep`.

    With error feedback: what is not sent stays in `residual`, this rank's own and zeros before the
    first call, and is added to the next tensor, so that it is late and not lost. Stich, Cordonnier,
    Jaggi, "Sparsified SGD with memory", arXiv 1809.07599, 2018.

    Returns:
        The bytes of this rank's entries. They go to each of the other ranks, round a ring.

    >>> import gpulearn as gl
    >>> def twice():
    ...     residual, sent = torch.zeros(2), []
    ...     for _ in range(2):
    ...         gradient = torch.tensor([4.0, 3.0])
    ...         all_reduce_top_k(gradient, residual, keep=0.5)
    ...         sent.append(gradient.tolist())
    ...     return sent
    >>> gl.launch(twice, 2, backend="simulated")[0]  # first 4 of each rank, then 3 + 3
    [[8.0, 0.0], [0.0, 12.0]]
    """
    corrected = (tensor + residual).flatten()
    mine = top_k(corrected, keep)
    corrected[mine.places.long()] = 0
    residual.copy_(corrected.view(residual.shape))
    total = torch.zeros_like(corrected)
    places, values = all_gather(mine.places), all_gather(mine.values)
    for where, what in zip(places, values, strict=True):  # in order of rank: the same bits
        total.index_add_(0, where, what)
    tensor.copy_(total.view(tensor.shape))
    return mine.nbytes


def all_reduce_float16(tensor: Tensor) -> int:
    """Replace a tensor by its sum over ranks, added in float16: half the bytes of float32.

    float16 has 11 significant bits and ends at 65,504; what is larger becomes infinite. Returns the
    bytes of the tensor that is summed.

    >>> import gpulearn as gl
    >>> def total():
    ...     tensor = torch.tensor([1.0, 0.1])
    ...     return all_reduce_float16(tensor), tensor.tolist()
    >>> gl.launch(total, 2, backend="simulated")[0]
    (4, [2.0, 0.199951171875])
    """
    half = tensor.half()
    tensor.copy_(sum_over_ranks(half))
    return half.nbytes


class CompressedDataParallel(Replica):
    """Averages gradients after `backward` with fewer bytes, and not exactly.

    Args:
        module: the model.
        method: "top-k" or "float16".
        keep: share of the entries that "top-k" sends.
        feedback: whether what "top-k" does not send is added to the next gradient; else it is
            lost.

    Attributes:
        bytes_sent: of this rank's compressed gradients, at the last step.
        bytes_whole: of the gradients as they are.

    >>> import gpulearn as gl
    >>> def step():
    ...     replica = CompressedDataParallel(nn.Linear(100, 1), "top-k", keep=0.01)
    ...     replica(torch.arange(100.0)).backward()
    ...     replica.average()
    ...     return replica.bytes_sent, replica.bytes_whole
    >>> gl.launch(step, 2, backend="simulated")[0]  # one place and one value, twice
    (16, 404)
    """

    def __init__(
        self, module: nn.Module, method: str = "top-k", keep: float = 0.01, *, feedback: bool = True
    ) -> None:
        super().__init__(module)
        self._method = require.choice("method", method, METHODS)
        check_share(keep)
        self._keep = keep
        self._feedback = feedback
        self._residuals: dict[nn.Parameter, Tensor] = {}
        self.bytes_sent = self.bytes_whole = 0

    def _average(self) -> None:
        self.bytes_sent = self.bytes_whole = 0
        for parameter in self.module.parameters():
            if not parameter.requires_grad:
                continue
            if parameter.grad is None:  # every rank takes part for every parameter
                parameter.grad = torch.zeros_like(parameter)
            gradient = parameter.grad
            gradient /= world_size()
            self.bytes_whole += gradient.nbytes
            if self._method == "float16":
                self.bytes_sent += all_reduce_float16(gradient)
                continue
            residual = self._residuals.setdefault(parameter, torch.zeros_like(gradient))
            if not self._feedback:
                residual.zero_()
            self.bytes_sent += all_reduce_top_k(gradient, residual, self._keep)
