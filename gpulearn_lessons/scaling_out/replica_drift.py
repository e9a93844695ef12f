"""Replicas that drift apart: what becomes of them when too little is exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.sharding import shard_indices
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.data import evaluate
from gpulearn.train.models import MLP

RATE, BATCH, SEED = 0.3, 32, 0  # plain SGD's, a rank's images in a step, of weights and order


def digits_to_train() -> tuple[Tensor, Tensor, str]:
    """All training images and labels on this rank's device, and the device."""
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    images, labels = digits()[:2]
    return torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device), device


class Policy(NamedTuple):
    """What replicas have in common: at the start, and afterwards."""

    same_start: bool
    exchanged: str  # "gradients", "parameters" or ""


POLICIES = {
    "gradients averaged": Policy(True, "gradients"),
    "parameters averaged": Policy(True, "parameters"),
    "equal seeds only": Policy(True, ""),
    "own starts": Policy(False, "gradients"),
    "nothing exchanged": Policy(False, ""),
}


@dataclass(frozen=True)
class Drift:
    """How far replicas were apart, and what each was worth in the end."""

    # before the first step and after each, of shape (steps + 1,): the largest ‖wᵣ − w₀‖ / ‖w₀‖ over
    # ranks r, where wᵣ are all parameters of rank r. It is 0 only if all replicas are equal to the
    # bit.
    distances: NDArray[np.float64]
    # share of the held-out digits that each replica gets right, 0 to 1
    accuracies: tuple[float, ...]
    mean_accuracy: float  # that of the model whose parameters are the mean of all replicas'

    def __repr__(self) -> str:
        rights = ", ".join(f"{right:.1%}" for right in self.accuracies)
        last = self.distances[-1]
        apart = f"{last:.2g} apart" if last else "equal to the bit"
        return (
            f"{apart} after {len(self.distances) - 1} steps; right: {rights}; mean of the "
            f"parameters: {self.mean_accuracy:.1%}"
        )


def measure_drift(
    policies: Sequence[str] = ("gradients averaged", "equal seeds only", "nothing exchanged"),
    *,
    ranks: int = 2,
    steps: int = 100,
    every: int = 10,
    by_digit: bool = False,
) -> dict[str, Drift]:
    """Train replicas on real ranks, each on its shard of the digits, and watch them drift apart.

    Policies: "gradients averaged" is data parallelism. "parameters averaged" lets each rank train
    by itself and averages the parameters every few steps (local SGD: Stich, arXiv 1805.09767,
    2018). "equal seeds only" starts all alike and exchanges nothing. "own starts" averages
    gradients, but the broadcast at the start was forgotten. "nothing exchanged" has own starts
    and no exchange.

    Args:
        policies: which of them to run, one after another on the same ranks.
        ranks: how many replicas.
        steps: of plain SGD, with 32 images on each rank.
        every: after how many steps "parameters averaged" averages.
        by_digit: whether each rank has digits of its own, rank 0 the zeros and so on, as where data
            stay on the machine on which they arise; otherwise all are shuffled and dealt out.

    >>> drifts = measure_drift(["gradients averaged", "own starts"], steps=3)
    >>> drifts["gradients averaged"].distances.tolist()
    [0.0, 0.0, 0.0, 0.0]
    >>> bool(drifts["own starts"].distances[0] > 1)
    True
    """
    names = [require.choice("policy", name, POLICIES) for name in policies]
    if not names:
        raise BadInput(f"policies is empty: choose from {', '.join(POLICIES)}.")
    steps, every = require.whole("steps", steps), require.whole("every", every)
    runs = launch(_replica, ranks, names, steps, every, by_digit)
    return {name: _drift([run[name] for run in runs], MLP(seed=SEED)) for name in names}


def _replica(names: Sequence[str], steps: int, every: int, by_digit: bool) -> dict[str, Tensor]:
    """Be one rank: its parameters before the first step and after each, for each policy."""
    images, labels, device = digits_to_train()
    trails = {}
    for name in names:
        policy = POLICIES[name]
        model = MLP(seed=SEED if policy.same_start else SEED + rank()).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        order = _own_order(len(labels), steps * BATCH)
        if by_digit:
            order = _own_digits(labels, order)
        trail = [_parameters(model)]
        for step in range(steps):
            mine = order[step * BATCH : (step + 1) * BATCH]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[mine]), labels[mine]).backward()
            if policy.exchanged == "gradients":
                average_gradients(model)
            optimizer.step()
            if policy.exchanged == "parameters" and (step + 1) % every == 0:
                with torch.no_grad():
                    for parameter in model.parameters():
                        sum_over_ranks(parameter).div_(world_size())
            trail.append(_parameters(model))
        trails[name] = torch.stack(trail)
    return trails


def _parameters(model: nn.Module) -> Tensor:
    return parameters_to_vector(model.parameters()).detach().cpu()


def _own_order(count: int, needed: int) -> Tensor:
    """Enough of this rank's samples, epoch after epoch."""
    order: list[int] = []
    while len(order) < needed:
        epoch = len(order) * world_size() // count
        order += shard_indices(count, rank(), world_size(), seed=SEED, epoch=epoch)
    return torch.tensor(order)


def _own_digits(labels: Tensor, order: Tensor) -> Tensor:
    """As many of this rank's samples, if its digits are those of a part of the sorted list."""
    mine = labels.cpu().argsort(stable=True).tensor_split(world_size())[rank()]
    return mine[order % len(mine)]


def _drift(trails: Sequence[Tensor], model: nn.Module) -> Drift:
    """What the trails of all ranks, each of shape (steps + 1, parameters), say."""
    first = trails[0].double()
    apart = torch.stack([(trail.double() - first).norm(dim=1) for trail in trails]).amax(dim=0)
    ends = [trail[-1] for trail in trails]
    accuracies = []
    for parameters in (*ends, torch.stack(ends).mean(dim=0)):
        vector_to_parameters(parameters, model.parameters())
        accuracies.append(evaluate(model, *digits()[2:])[1])
    *own, mean = accuracies
    return Drift((apart / first.norm(dim=1)).numpy(), tuple(own), mean)
