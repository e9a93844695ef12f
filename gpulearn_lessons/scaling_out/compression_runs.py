"""What compressed gradients save and what they cost: bytes, error, loss, on real ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.data_parallel import OverlappingDataParallel, Replica
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.sharding import shard_indices
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.data import evaluate
from gpulearn.train.models import MLP
from gpulearn.train.settings import checked_seed
from gpulearn_lessons.scaling_out.compressed_gradients import CompressedDataParallel, check_share
from gpulearn_lessons.scaling_out.replica_drift import chosen, digits_to_train

METHODS = ("none", "float16", "top-k", "top-k, no feedback")


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


def compression_study(
    methods: Sequence[str] = METHODS,
    *,
    keep: float = 0.01,
    ranks: int = 2,
    steps: int = 100,
    lr: float = 0.3,
    batch: int = 32,
    seed: int = 0,
    model: Callable[..., nn.Module] = MLP,
) -> dict[str, CompressedRun]:
    """Train on the digits with real ranks, once with each method, from the same start.

    Every step also computes the exact mean of the gradients, to hold the compressed one
    against; the training does not see it, and its bytes are not counted.

    Methods are "none", "float16", "top-k" (with error feedback) and "top-k, no feedback"; `keep` is
    the share of the entries that top-k sends. The optimizer is plain SGD, the batch that of one
    rank, the seed that of the weights and the data's order; the model is called as `model(seed=…)`.

    >>> result = compression_study(["float16"], steps=2)["float16"]
    >>> result.bytes_whole / result.bytes_sent, result.error < 0.001
    (2.0, True)
    """
    names = chosen("method", "methods", methods, METHODS)
    ranks, steps = require.whole("ranks", ranks), require.whole("steps", steps)
    batch, seed = require.whole("batch", batch), checked_seed(seed)
    require.above_zero("lr", lr)
    check_share(keep)
    images = len(digits().train_labels)
    if batch * ranks > images:
        raise BadInput(f"batch is {batch}: {ranks} ranks have {images // ranks} images each.")
    work = names, float(keep), steps, float(lr), batch, seed, model
    return launch(_train_all, ranks, *work)[0]


def _train_all(names: Sequence[str], *work: Any) -> dict[str, CompressedRun]:
    return {name: _train(name, *work) for name in names}


def _wrapped(name: str, model: nn.Module, keep: float) -> Replica:
    if name == "none":
        return OverlappingDataParallel(model)
    if name == "float16":
        return CompressedDataParallel(model, name)
    return CompressedDataParallel(model, "top-k", keep, feedback="no feedback" not in name)


def _train(
    name: str,
    keep: float,
    steps: int,
    lr: float,
    batch: int,
    seed: int,
    build: Callable[..., nn.Module],
) -> CompressedRun:
    """Be one rank of one training."""
    images, labels, device = digits_to_train()
    model = build(seed=seed).to(device).train()
    replica = _wrapped(name, model, keep)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    torch.manual_seed(seed + rank())  # of dropout
    order: list[int] = []
    losses: list[float] = []
    errors: list[float] = []
    true_sum = given_sum = torch.zeros(())
    for _ in range(steps):
        if len(order) < batch:  # the next epoch; a last batch that is smaller is left out
            order = shard_indices(len(labels), rank(), world_size(), seed=seed + len(losses))
        mine, order = order[:batch], order[batch:]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(replica(images[mine]), labels[mine])
        loss.backward()
        true = sum_over_ranks(_flat(model)) / world_size()
        replica.average()
        averaged = _flat(model)
        losses.append(loss.item())
        errors.append(_relative(averaged, true))
        true_sum, given_sum = true_sum + true.cpu(), given_sum + averaged.cpu()
        optimizer.step()
    _, accuracy = evaluate(model, *digits()[2:])
    whole = sum(parameter.nbytes for parameter in model.parameters())
    sent = replica.bytes_sent if isinstance(replica, CompressedDataParallel) else whole
    mean = sum(errors) / len(errors)
    together = sum_over_ranks(torch.tensor(losses, dtype=torch.float64)) / world_size()
    error_of_sum = _relative(given_sum, true_sum)
    return CompressedRun(sent, whole, tuple(together.tolist()), accuracy, mean, error_of_sum)


def _flat(model: nn.Module) -> Tensor:
    """All gradients in one new tensor."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def _relative(averaged: Tensor, true: Tensor) -> float:
    return float((averaged - true).norm() / true.norm())
