"""Gradient compression: fewer bytes for a gradient that is only nearly the mean."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gpulearn.parallel.collectives import all_gather
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks

METHODS = ("none", "float16", "top-k", "top-k, no feedback")
KEEP = 0.01  # share of the entries that top-k sends


class Sparse(NamedTuple):
    """The entries of a flat tensor that are sent: where they stand, and what they are."""

    places: Tensor
    values: Tensor

    @property
    def nbytes(self) -> int:
        """Bytes of a message with both."""
        return self.places.nbytes + self.values.nbytes


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


def average_compressed(
    model: nn.Module, method: str, residuals: dict[nn.Parameter, Tensor], keep: float = KEEP
) -> int:
    """Average a model's gradients over ranks, with fewer bytes and not exactly.

    The method is one of `METHODS`; without feedback what top-k does not send is lost. Residuals are
    this rank's, empty before the first call. Returns the bytes of this rank's compressed gradients.
    """
    sent = 0
    for parameter in model.parameters():
        assert parameter.grad is not None  # every layer is used, on every rank
        gradient = parameter.grad
        gradient /= world_size()
        if method == "none":
            sent += sum_over_ranks(gradient).nbytes
        elif method == "float16":
            sent += all_reduce_float16(gradient)
        else:
            residual = residuals.setdefault(parameter, torch.zeros_like(gradient))
            if method == "top-k, no feedback":
                residual.zero_()
            sent += all_reduce_top_k(gradient, residual, keep)
    return sent
