"""What compressed gradients save and what they cost: bytes, error, loss, on real ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.data_parallel import BucketedDataParallel, Replica
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.sharding import shard_indices
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.evaluation import evaluate
from gpulearn.train.models import MLP
from gpulearn.train.settings import checked_seed
from gpulearn_lessons.scaling_out.compressed_gradients import CompressedDataParallel, check_share

__all__ = ["METHODS", "Compressed", "compression_study"]

METHODS = ("none", "float16", "top-k", "top-k, no feedback")


@dataclass(frozen=True)
class Compressed:
    """A training with compressed gradients.

    Attributes:
        bytes_sent: of a rank's compressed gradient, in one step.
        bytes_whole: of its gradient as it is.
        losses: mean cross-entropy over all ranks' batches, before each step.
        accuracy: share of the held-out digits that is right in the end, 0 to 1.
        error: ‖g̃ − g‖ / ‖g‖, mean over the steps, where g is the mean of all ranks' gradients
            and g̃ what the compressed exchange made of it.
        summed_error: ‖Σg̃ − Σg‖ / ‖Σg‖ over all steps: what never arrived, in all.
    """

    bytes_sent: int
    bytes_whole: int
    losses: tuple[float, ...]
    accuracy: float
    error: float
    summed_error: float

    def __repr__(self) -> str:
        return (
            f"{self.bytes_sent:,} of {self.bytes_whole:,} bytes; loss {self.losses[-1]:.3g}, "
            f"accuracy {self.accuracy:.1%}; error of a gradient {self.error:.2g}, of their sum "
            f"{self.summed_error:.2g}"
        )


class _Setting(NamedTuple):
    keep: float
    steps: int
    lr: float
    batch: int
    seed: int
    build: Callable[..., nn.Module]


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
) -> dict[str, Compressed]:
    """Train on the digits with real ranks, once with each method, from the same start.

    Every step also computes the exact mean of the gradients, to hold the compressed one
    against; the training does not see it, and its bytes are not counted.

    Args:
        methods: any of "none", "float16", "top-k" (with error feedback), "top-k, no feedback".
        keep: share of the entries that top-k sends.
        ranks: how many.
        steps: of plain SGD.
        lr: learning rate.
        batch: images of one rank's step.
        seed: of the weights and the data's order.
        model: called as `model(seed=…)`.

    Raises:
        BadInput: there is no such method, or a number is out of range.

    >>> found = compression_study(["float16"], steps=2)["float16"]
    >>> found.bytes_whole / found.bytes_sent, found.error < 0.001
    (2.0, True)
    """
    names = [
        require.choice("method", name, METHODS) for name in require.several("methods", methods)
    ]
    if not names:
        raise BadInput(f"methods is empty: choose from {', '.join(METHODS)}.")
    ranks, steps = require.whole("ranks", ranks), require.whole("steps", steps)
    batch, seed = require.whole("batch", batch), checked_seed(seed)
    require.above_zero("lr", lr)
    check_share(keep)
    images = len(digits().train_labels)
    if batch * ranks > images:
        raise BadInput(f"batch is {batch}: {ranks} ranks have {images // ranks} images each.")
    setting = _Setting(float(keep), steps, float(lr), batch, seed, model)
    return launch(_train_all, ranks, names, setting)[0]


def _train_all(names: Sequence[str], setting: _Setting) -> dict[str, Compressed]:
    return {name: _train(name, setting) for name in names}


def _wrapped(name: str, model: nn.Module, keep: float) -> Replica:
    if name == "none":
        return BucketedDataParallel(model)
    if name == "float16":
        return CompressedDataParallel(model, name)
    return CompressedDataParallel(model, "top-k", keep, feedback="no feedback" not in name)


def _train(name: str, setting: _Setting) -> Compressed:
    """Be one rank of one training."""
    data, place = digits(), "cuda" if dist.get_backend() == "nccl" else "cpu"
    images = torch.from_numpy(data.train_images).to(place)
    labels = torch.from_numpy(data.train_labels).to(place)
    model = setting.build(seed=setting.seed).to(place).train()
    replica = _wrapped(name, model, setting.keep)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.lr)
    torch.manual_seed(setting.seed + rank())  # of dropout
    order: list[int] = []
    losses: list[float] = []
    errors: list[float] = []
    true_sum = given_sum = torch.zeros(())
    for _ in range(setting.steps):
        if len(order) < setting.batch:  # the next epoch; a last part batch is left out
            order = shard_indices(
                len(labels), rank(), world_size(), seed=setting.seed + len(losses)
            )
        mine, order = order[: setting.batch], order[setting.batch :]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(replica(images[mine]), labels[mine])
        loss.backward()
        true = sum_over_ranks(_flat(model)) / world_size()
        replica.average()
        given = _flat(model)
        losses.append(loss.item())
        errors.append(_relative(given, true))
        true_sum, given_sum = true_sum + true.cpu(), given_sum + given.cpu()
        optimizer.step()
    _, right = evaluate(model, data.test_images, data.test_labels)
    whole = sum(parameter.nbytes for parameter in model.parameters())
    sent = replica.bytes_sent if isinstance(replica, CompressedDataParallel) else whole
    mean = sum(errors) / len(errors)
    together = sum_over_ranks(torch.tensor(losses, dtype=torch.float64)) / world_size()
    error_of_sum = _relative(given_sum, true_sum)
    return Compressed(sent, whole, tuple(together.tolist()), right, mean, error_of_sum)


def _flat(model: nn.Module) -> Tensor:
    """All gradients in one new tensor."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def _relative(given: Tensor, true: Tensor) -> float:
    return float((given - true).norm() / true.norm())
