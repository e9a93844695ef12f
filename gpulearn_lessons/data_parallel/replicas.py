"""A whole data-parallel training in twenty lines: one start, one gradient, one loss."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.parallel.averaging import broadcast_weights
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks


def mend_the_replicas(
    model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]], lr: float = 0.1
) -> list[float]:
    """Train this rank's replica by SGD with momentum 0.9, as one process would with all of it.

    Every rank must call, and takes every N-th row of every batch. All start from rank 0's weights,
    and afterwards all replicas are equal to the bit.

    Args:
        model: this rank's replica.
        batches: of inputs and class numbers, the same on all ranks, each with a row for every rank.
        lr: learning rate.

    Returns:
        The mean loss of each whole batch, before its step; the same on all ranks.

    >>> import gpulearn as gl
    >>> def losses(seed):
    ...     torch.manual_seed(seed + gl.parallel.rank())
    ...     batch = torch.tensor([[1.0], [2.0], [-1.0]]), torch.tensor([0, 0, 1])
    ...     return [round(loss, 3) for loss in mend_the_replicas(nn.Linear(1, 2), [batch] * 2)]
    >>> one, two = gl.launch(losses, 2, 0, backend="simulated")
    >>> one == two, one[1] < one[0]
    (True, True)
    """
    broadcast_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for inputs, targets in batches:
        mine = range(rank(), len(targets), world_size())
        share = len(mine) / len(targets)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs[mine]), targets[mine])
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad is not None  # every layer is used, on every rank
            parameter.grad *= share
            sum_over_ranks(parameter.grad)
        optimizer.step()
        losses.append(sum_over_ranks(share * loss.detach()).item())
    return losses
