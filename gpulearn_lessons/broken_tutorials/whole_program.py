"""A whole program for torchrun: join, take a GPU, start alike, exchange gradients, leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional


def case_whole_program(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    gpus: Sequence[torch.device],
    local_rank: int,
    lr: float = 0.1,
) -> nn.Module:
    """Train this rank's replica as one process would with the batches of all ranks.

    Every rank must call, where no process group is there yet and torchrun's variables are set.

    Args:
        model: this rank's replica; rank 0's weights are those that all start from.
        batches: of this rank, inputs and targets; all ranks have as many, of as many rows.
        gpus: of this rank's machine.
        local_rank: this rank's number on its machine, from 0.
        lr: learning rate.

    Returns:
        The replica, on its GPU.
    """
    dist.init_process_group("gloo")
    device = gpus[local_rank]
    model = model.to(device)
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = functional.mse_loss(model(inputs.to(device)), targets.to(device))
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad is not None  # every layer is used, on every rank
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
    dist.destroy_process_group()
    return model
