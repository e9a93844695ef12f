"""A whole training on a pipeline of two ranks, written from send and receive."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.parallel.communicator import rank, recv, send

Batch = Sequence[tuple[Tensor, Tensor]]


def mend_the_pipeline(stage: nn.Module, batches: Sequence[Batch], lr: float = 0.1) -> None:
    """Train this rank's stage by SGD with momentum 0.9, as one process would train both.

    Rank 0 has the first stage and rank 1 the second, each from (n, width) to (n, width). One
    micro-batch at a time goes forwards through both and back; after the last one of a batch follows
    one step.

    Args:
        stage: of this rank.
        batches: each a list of micro-batches, pairs of inputs and targets, (n, width) each; the
            last one may have fewer rows. The same on both ranks.
        lr: learning rate.

    >>> import gpulearn as gl
    >>> def weight():
    ...     layer = nn.Linear(1, 1, bias=False)
    ...     nn.init.ones_(layer.weight)
    ...     mend_the_pipeline(layer, [[(torch.ones(2, 1), torch.zeros(2, 1))]])
    ...     return round(layer.weight.item(), 3)
    >>> gl.launch(weight, 2, backend="simulated")
    [0.8, 0.8]
    """
    optimizer = torch.optim.SGD(stage.parameters(), lr=lr, momentum=0.9)
    for batch in batches:
        optimizer.zero_grad()
        rows = sum(len(targets) for _, targets in batch)
        for inputs, targets in batch:
            if rank() == 0:
                left = stage(inputs)
                send(left.detach(), to=1)
                left.backward(recv(torch.empty_like(left), source=1))
            else:
                entered = recv(torch.empty_like(inputs), source=0).requires_grad_()
                share = len(targets) / rows
                loss = functional.mse_loss(stage(entered), targets) * share
                loss.backward()
                assert entered.grad is not None  # the stage depends on what it is given
                send(entered.grad, to=0)
        optimizer.step()
