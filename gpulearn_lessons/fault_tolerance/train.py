r"""Train a small network on the digits; the ranks share the images of each step.

The same file runs as one process, on two ranks of one machine, on two machines with one rank
each (the third line on both), and from a notebook:

  python -m gpulearn_lessons.fault_tolerance.train
  torchrun --nproc-per-node 2 -m gpulearn_lessons.fault_tolerance.train
  torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \
    -m gpulearn_lessons.fault_tolerance.train
  gl.launch(train, 2, Options(epochs=1))

For a given number of ranks the losses are the same to the bit, however the ranks are started. On
another number each step uses the same images, and the losses differ by rounding: below 1e-6 in
the first epoch. Later the difference can grow, where rounding switches a ReLU or a maximum.
"""

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
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from gpulearn.data.digits import digits
from gpulearn.errors import BadInput, CheckpointError, GpulearnError, RankError, TrainingError
from gpulearn.parallel.data_parallel import OverlappingDataParallel
from gpulearn.parallel.process_group import RankInfo, init_process_group
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint
from gpulearn.train.models import MLP, LeNet
from gpulearn.train.settings import repeatable
from gpulearn_lessons.fault_tolerance.options import Options, options_from


@dataclasses.dataclass
class RunResult:
    """The result of a run; the same on every rank."""

    # mean cross-entropy of each step over all its images, before the step
    losses: list[float] = dataclasses.field(default_factory=list)
    # fraction of held-out digits that are right after each epoch, 0 to 1
    accuracies: list[float] = dataclasses.field(default_factory=list)
    weights: dict[str, Tensor] = dataclasses.field(default_factory=dict)  # the model's, on the CPU


def train(options: Options = Options()) -> RunResult:  # noqa: B008 - it is frozen
    """Train with the other ranks, on this rank's part of each batch.

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
        # the same on every rank; without dropout, whose draws would differ between ranks
        if options.model == "MLP":
            model: nn.Module = MLP(seed=options.seed).to(place.device)
        else:
            model = LeNet(dropout=0, seed=options.seed).to(place.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=options.momentum)
        trained = RunResult()
        if options.resume is not None:
            trained.losses, trained.accuracies = restore(options.resume, options, model, optimizer)
        _say(place, f"{place}; {options.batch} images per step, {options.batch // place.size} each")
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
    """All remaining epochs."""
    data = digits()
    images, labels = torch.from_numpy(data.train_images), torch.from_numpy(data.train_labels)
    pairs = TensorDataset(images, labels)
    sampler: DistributedSampler[Any] = DistributedSampler(
        pairs, place.size, place.rank, seed=options.seed, drop_last=True
    )
    loader = DataLoader(
        pairs,
        batch_size=options.batch // place.size,
        sampler=sampler,
        drop_last=True,
        pin_memory=place.device.type == "cuda",
    )
    if len(loader) == 0:
        raise BadInput(
            f"batch is {options.batch}, but there are {len(labels)} images: give a smaller batch."
        )
    replica = OverlappingDataParallel(model)
    for epoch in range(len(trained.accuracies), options.epochs):
        sampler.set_epoch(epoch)
        # the loss of each step, then the number of right digits, then whether to stop
        sums = torch.zeros(len(loader) + 2, dtype=torch.float64, device=place.device)
        for number, batch in enumerate(loader):
            inputs, targets = (part.to(place.device) for part in batch)
            optimizer.zero_grad()
            loss = functional.cross_entropy(replica(inputs), targets)
            loss.backward()
            replica.average()
            optimizer.step()
            sums[number] = loss.detach()
        sums[-2] = _right(model, data.test_images, data.test_labels, place)
        # only one rank looks, so that all stop after the same epoch
        sums[-1] = place.rank == 0 and options.stop is not None and Path(options.stop).exists()
        *losses, right, stop = sum_over_ranks(sums).tolist()  # one message an epoch, not one a step
        trained.losses += [loss / place.size for loss in losses]
        trained.accuracies.append(right / len(data.test_labels))
        mean = sum(trained.losses[-len(losses) :]) / len(losses)
        shown = f"mean loss {mean:.9f}, held-out digits right {trained.accuracies[-1]:.1%}"
        _say(place, f"epoch {epoch + 1}: {shown}")
        if not math.isfinite(mean):
            raise TrainingError(
                f"The loss is no longer a finite number in epoch {epoch + 1}: give a smaller lr "
                f"than {options.lr:g}."
            )
        if place.rank == 0 and options.checkpoint is not None:  # all ranks hold the same weights
            state: dict[str, Any] = {"run": options.identity(), "model": model.state_dict()}
            state |= {"optimizer": optimizer.state_dict(), "losses": trained.losses}
            save_checkpoint(options.checkpoint, state | {"accuracies": trained.accuracies})
        if stop and epoch + 1 < options.epochs:
            _say(
                place,
                f"stopped after epoch {epoch + 1} of {options.epochs}: found {options.stop}",
            )
            return


def _right(model: nn.Module, images: Any, labels: Any, place: RankInfo) -> int:
    """The number of right answers among this rank's held-out digits."""
    mine = slice(place.rank, None, place.size)
    with torch.no_grad():
        scores = model(torch.from_numpy(images[mine]).to(place.device))
    return int((scores.argmax(dim=1).cpu() == torch.from_numpy(labels[mine])).sum())


def _say(place: RankInfo, text: str) -> None:
    """Print once, not on every rank."""
    if place.rank == 0:
        print(text, flush=True)


def restore(
    path: Path, options: Options, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[list[float], list[float]]:
    """Resume from a checkpoint; rank 0 reads it, since other machines may not see the file.

    A run that resumes from the file that it writes may start without it, so that one command line
    serves every start. Returns the losses of the steps so far and the accuracies of the epochs;
    errors are raised on every rank.
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
                f"{value!r}: give the same value, or do not resume."
            )
    if (done := len(state["accuracies"])) > options.epochs:
        raise CheckpointError(
            f"{path} was written after {done} epochs, this run has {options.epochs}: give more."
        )
    return state


def write_losses(path: Path, trained: RunResult, ranks: int, backend: str) -> None:
    """Write the loss of each step as JSON."""
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            record = {"ranks": ranks, "backend": backend}
            record |= {"losses": trained.losses, "accuracies": trained.accuracies}
            json.dump(record, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; the exit status is 2 if that fails."""
    options = options_from(
        arguments, "python -m gpulearn_lessons.fault_tolerance.train", str(__doc__)
    )
    try:
        train(options)
    except GpulearnError as error:
        if isinstance(error, RankError) or os.environ.get("RANK", "0") == "0":
            # only once if all ranks fail alike; in one write, since ranks share the stream
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # without the interpreter's own shutdown, in which a half-closed group can abort
    os._exit(status) if status else sys.exit()
