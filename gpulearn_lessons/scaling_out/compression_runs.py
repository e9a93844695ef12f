"""What compressed gradients save and what they cost: bytes, error, loss, on real ranks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.sharding import shard_indices
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.data import evaluate
from gpulearn.train.models import MLP
from gpulearn_lessons.scaling_out.compressed_gradients import METHODS, average_compressed
from gpulearn_lessons.scaling_out.replica_drift import BATCH, RATE, SEED, digits_to_train

RANKS = 2


@dataclass(frozen=True)
class CompressedRun:
    """A training with compressed gradients."""

    bytes_sent: int  # of a rank's compressed gradient, in one step
    bytes_whole: int  # of its gradient as it is
    losses: tuple[float, ...]  # mean cross-entropy over all ranks' batches, before each step
    accuracy: float  # share of the held-out digits that is right in the end, 0 to 1
    # ‖g̃ − g‖ / ‖g‖, mean over the steps, where g is the mean of all ranks' gradients and g̃ what
    # the compressed exchange made of it
    error: float
    summed_error: float  # ‖Σg̃ − Σg‖ / ‖Σg‖ over all steps: what never arrived, in all


def compression_study(steps: int) -> dict[str, CompressedRun]:
    """Train on the digits with two real ranks, once with each method, from the same start.

    Every step also computes the exact mean of the gradients, to hold the compressed one
    against; the training does not see it, and its bytes are not counted.

    Methods are "none", "float16", "top-k" (1 % of the entries, with error feedback) and "top-k, no
    feedback"; steps are those of plain SGD, with 32 images on each rank.

    >>> result = compression_study(steps=2)["float16"]
    >>> result.bytes_whole / result.bytes_sent, result.error < 0.001
    (2.0, True)
    """
    return launch(_train_all, RANKS, require.whole("steps", steps))[0]


def _train_all(steps: int) -> dict[str, CompressedRun]:
    return {name: _train(name, steps) for name in METHODS}


def _train(name: str, steps: int) -> CompressedRun:
    """Be one rank of one training."""
    images, labels, device = digits_to_train()
    model = MLP(seed=SEED).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    residuals: dict[nn.Parameter, Tensor] = {}
    order: list[int] = []
    losses: list[float] = []
    errors: list[float] = []
    true_sum = given_sum = torch.zeros(())
    for _ in range(steps):
        if len(order) < BATCH:  # the next epoch; a last batch that is smaller is left out
            order = shard_indices(len(labels), rank(), world_size(), seed=SEED + len(losses))
        mine, order = order[:BATCH], order[BATCH:]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
        loss.backward()
        true = sum_over_ranks(_flat(model)) / world_size()
        sent = average_compressed(model, name, residuals)
        averaged = _flat(model)
        losses.append(loss.item())
        errors.append(_relative(averaged, true))
        true_sum, given_sum = true_sum + true.cpu(), given_sum + averaged.cpu()
        optimizer.step()
    _, accuracy = evaluate(model, *digits()[2:])
    whole = sum(parameter.nbytes for parameter in model.parameters())
    mean = sum(errors) / len(errors)
    together = sum_over_ranks(torch.tensor(losses, dtype=torch.float64)) / world_size()
    error_of_sum = _relative(given_sum, true_sum)
    return CompressedRun(sent, whole, tuple(together.tolist()), accuracy, mean, error_of_sum)


def _flat(model: nn.Module) -> Tensor:
    """All gradients in one new tensor."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def _relative(averaged: Tensor, true: Tensor) -> float:
    return float((averaged - true).norm() / true.norm())
