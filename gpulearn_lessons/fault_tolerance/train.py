r"""Train a small network on the digits, the images of each step shared among the ranks.

The same file runs as one process, on two ranks of one machine, on one rank of each of two
machines (the third line on both), and from a notebook:

  python -m gpulearn_lessons.fault_tolerance.train
  torchrun --nproc-per-node 2 -m gpulearn_lessons.fault_tolerance.train
  torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \
    -m gpulearn_lessons.fault_tolerance.train
  gl.launch(train, 2, Options(epochs=1))

For one number of ranks the losses are the same to the bit, however they are started. For
another number the same images make each step, and the losses differ by rounding: below 1e-6 in
the first epoch. Later LeNet can make more of it, where a rounded value tips a ReLU or a maximum.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from gpulearn.data.digits import digits
from gpulearn.errors import BadInput, CheckpointError, GpulearnError, RankError, TrainingError
from gpulearn.optim.schedules import scaled_learning_rate
from gpulearn.parallel.data_parallel import (
    BucketedDataParallel,
    NaiveDataParallel,
    OverlappingDataParallel,
)
from gpulearn.parallel.process_group import RankInfo, init_process_group
from gpulearn.parallel.sharding import ShardSampler
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint
from gpulearn.train.models import MLP, LeNet
from gpulearn.train.settings import repeatable
from gpulearn_lessons.fault_tolerance.options import Options, options_from

WRAPPERS = {
    "library": DistributedDataParallel,
    "naive": NaiveDataParallel,
    "bucketed": BucketedDataParallel,
    "overlapping": OverlappingDataParallel,
}


@dataclasses.dataclass
class RunResult:
    """The result of a run; the same on every rank."""

    # of each step, the mean cross-entropy over all its images, before the step
    losses: list[float] = dataclasses.field(default_factory=list)
    # after each epoch, the share of held-out digits that is right, 0 to 1
    accuracies: list[float] = dataclasses.field(default_factory=list)
    weights: dict[str, Tensor] = dataclasses.field(default_factory=dict)  # the model's, on the CPU


def train(options: Options = Options()) -> RunResult:  # noqa: B008 - it is frozen
    """Train on this rank's part of each batch, together with the other ranks.

    >>> len(train(Options(model="MLP", epochs=2)).losses)
    1 rank, messages by gloo ...
    epoch 1: mean loss ..., held-out digits right ...%
    epoch 2: mean loss ..., held-out digits right ...%
    44
    """
    with init_process_group(options.timeout) as place, repeatable(place.device, options.seed):
        if options.batch % place.size:
            raise BadInput(
                f"batch is {options.batch}, which {place.size} ranks cannot share evenly: give a "
                f"multiple of {place.size}, such as {-(-options.batch // place.size) * place.size}."
            )
        model = _model(options).to(place.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=options.momentum)
        trained = RunResult()
        if options.resume is not None:
            trained.losses, trained.accuracies = restore(options.resume, options, model, optimizer)
        _say(
            place, f"{place}; {options.batch} images in a step, {options.batch // place.size} each"
        )
        _epochs(options, place, model, optimizer, trained)
        ended = len(trained.accuracies) == options.epochs
        if ended and place.rank == 0 and options.output is not None:
            write_losses(options.output, trained, place.size, place.backend)
        trained.weights = {name: value.cpu() for name, value in model.state_dict().items()}
        return trained


def _epochs(
    options: Options,
    place: RankInfo,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    trained: RunResult,
) -> None:
    """All epochs that are still to do."""
    data = digits()
    images, labels = torch.from_numpy(data.train_images), torch.from_numpy(data.train_labels)
    sampler = ShardSampler(len(labels), place.rank, place.size, uneven="drop", seed=options.seed)
    loader = DataLoader(
        TensorDataset(images, labels),
        batch_size=options.batch // place.size,
        sampler=sampler,
        drop_last=True,
        pin_memory=place.device.type == "cuda",
    )
    if len(loader) == 0:
        raise BadInput(
            f"batch is {options.batch}, and there are {len(labels)} images: give a smaller one."
        )
    replica: Any = WRAPPERS[options.wrapper](model)
    for epoch in range(len(trained.accuracies), options.epochs):
        sampler.set_epoch(epoch)
        # of each step the loss, then the digits that are right, then whether to stop
        sums = torch.zeros(len(loader) + 2, dtype=torch.float64, device=place.device)
        for number, batch in enumerate(loader):
            inputs, targets = (part.to(place.device) for part in batch)
            step = len(trained.losses) + number
            for group in optimizer.param_groups:
                group["lr"] = scaled_learning_rate(
                    step, options.lr, options.factor, options.warm_up
                )
            optimizer.zero_grad()
            loss = functional.cross_entropy(replica(inputs), targets)
            loss.backward()
            if options.wrapper != "library":  # the library averages during backward
                replica.average()
            optimizer.step()
            sums[number] = loss.detach()
        sums[-2] = _right(model, data.test_images, data.test_labels, place)
        # one rank looks, so that all stop after the same epoch
        sums[-1] = place.rank == 0 and options.stop is not None and Path(options.stop).exists()
        *losses, right, stop = sum_over_ranks(sums).tolist()  # one message an epoch, not one a step
        trained.losses += [loss / place.size for loss in losses]
        trained.accuracies.append(right / len(data.test_labels))
        _report(options, place, epoch + 1, trained, len(losses))
        if place.rank == 0 and options.checkpoint is not None:
            save(options.checkpoint, options, model, optimizer, trained)
        if stop and epoch + 1 < options.epochs:
            _say(
                place,
                f"stopped after epoch {epoch + 1} of {options.epochs}: {options.stop} is there",
            )
            return


def _model(options: Options) -> nn.Module:
    """The same on every rank; without dropout, whose draws would differ from rank to rank."""
    if options.model == "MLP":
        return MLP(seed=options.seed)
    return LeNet(dropout=0, seed=options.seed)


def _right(model: nn.Module, images: Any, labels: Any, place: RankInfo) -> int:
    """How many of this rank's share of the held-out digits are right."""
    mine = slice(place.rank, None, place.size)
    with torch.no_grad():
        scores = model(torch.from_numpy(images[mine]).to(place.device))
    return int((scores.argmax(dim=1).cpu() == torch.from_numpy(labels[mine])).sum())


def _report(options: Options, place: RankInfo, epoch: int, trained: RunResult, steps: int) -> None:
    first, losses = len(trained.losses) - steps, trained.losses[-steps:]
    if options.per_step:
        for number, loss in enumerate(losses, start=first + 1):
            _say(place, f"step {number}: loss {loss:.9f}")
    mean, share = sum(losses) / steps, trained.accuracies[-1]
    _say(place, f"epoch {epoch}: mean loss {mean:.9f}, held-out digits right {share:.1%}")
    if not math.isfinite(mean):
        raise TrainingError(
            f"The loss is no finite number any more in epoch {epoch}: give a smaller rate than "
            f"{options.lr:g}."
        )


def _say(place: RankInfo, text: str) -> None:
    """Print once, not once a rank."""
    if place.rank == 0:
        print(text, flush=True)


def save(
    path: Path,
    options: Options,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    trained: RunResult,
) -> None:
    """Write a checkpoint; every rank holds the same weights, so one rank writes them."""
    state = {"run": options.identity(), "losses": trained.losses, "accuracies": trained.accuracies}
    state |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    save_checkpoint(path, state)


def restore(
    path: Path, options: Options, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[list[float], list[float]]:
    """Go on from a checkpoint: rank 0 reads it, for the file may be on its machine alone.

    A run that writes the checkpoint that it goes on from has none when it begins: one command
    line then serves the first start and each one after a failure. Returns the losses of the
    steps and the accuracies of the epochs before it; what is wrong is raised on every rank.
    """
    message: list[Any] = [None]
    if not dist.is_initialized() or dist.get_rank() == 0:
        own = options.checkpoint is not None and Path(options.checkpoint) == Path(path)
        try:
            message = [{} if own and not Path(path).exists() else _fitting(path, options)]
        except CheckpointError as error:
            message = [str(error)]
    if dist.is_initialized():
        dist.broadcast_object_list(message, src=0)
    state = message[0]
    if isinstance(state, str):
        raise CheckpointError(state)
    if not state:
        return [], []
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["losses"], state["accuracies"]


def _fitting(path: Path, options: Options) -> dict[str, Any]:
    state = load_checkpoint(path)
    if "run" not in state:
        raise CheckpointError(
            f"{path} is a checkpoint of gl.fit, not of gpulearn_lessons.fault_tolerance.train: "
            "give another file."
        )
    for name, value in options.identity().items():
        if state["run"].get(name) != value:
            raise CheckpointError(
                f"{path} was written with {name}={state['run'].get(name)!r}, this run has "
                f"{value!r}: give the same, or leave `resume` out."
            )
    if (behind := len(state["accuracies"])) > options.epochs:
        raise CheckpointError(
            f"{path} has {behind} epochs behind it, and this run is to have {options.epochs}: give "
            f"more epochs."
        )
    return state


def write_losses(path: Path, trained: RunResult, ranks: int, backend: str) -> None:
    """Write the loss of each step, as JSON or CSV by the file's ending."""
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            if Path(path).suffix == ".csv":
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["step", "loss"])
                rows.writerows(
                    (step, repr(loss)) for step, loss in enumerate(trained.losses, start=1)
                )
                return
            record = {"ranks": ranks, "backend": backend}
            record |= {"losses": trained.losses, "accuracies": trained.accuracies}
            json.dump(record, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line asks; the exit status is 2 if it cannot."""
    options = options_from(
        arguments, "python -m gpulearn_lessons.fault_tolerance.train", str(__doc__)
    )
    try:
        train(options)
    except GpulearnError as error:
        if isinstance(error, RankError) or os.environ.get("RANK", "0") == "0":
            # once where all say the same, and whole, though ranks share the stream
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # without the interpreter's farewell: a group that is torn down half-way can abort in it
    os._exit(status) if status else sys.exit()
