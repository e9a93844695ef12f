"""What a data-parallel run writes, on rank 0, and how all ranks go on from it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.optim import Optimizer

from gpulearn.errors import CheckpointError
from gpulearn.parallel.options import Options
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint

__all__ = ["restore", "save", "write_losses"]


def save(path: Path, options: Options, model: nn.Module, optimizer: Optimizer, done: Any) -> None:
    """Write a checkpoint; every rank holds the same weights, so one rank writes them.

    Raises:
        CheckpointError: the file cannot be written.
    """
    state = {"run": options.identity(), "losses": done.losses, "accuracies": done.accuracies}
    state |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    save_checkpoint(path, state)


def restore(
    path: Path, options: Options, model: nn.Module, optimizer: Optimizer
) -> tuple[list[float], list[float]]:
    """Go on from a checkpoint: rank 0 reads it, for the file may be on its machine alone.

    Returns:
        The losses of the steps and the accuracies of the epochs before it.

    Raises:
        CheckpointError: on every rank, if it cannot be read or is of another run.
    """
    found: list[Any] = [None]
    if not dist.is_initialized() or dist.get_rank() == 0:
        try:
            found = [_fitting(path, options)]
        except CheckpointError as error:
            found = [str(error)]
    if dist.is_initialized():
        dist.broadcast_object_list(found, src=0)
    state = found[0]
    if isinstance(state, str):
        raise CheckpointError(state)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["losses"], state["accuracies"]


def _fitting(path: Path, options: Options) -> dict[str, Any]:
    state = load_checkpoint(path)
    if "run" not in state:
        raise CheckpointError(
            f"{path} is a checkpoint of gl.fit, not of gpulearn.parallel.train: give another file."
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


def write_losses(path: Path, done: Any, ranks: int, backend: str) -> None:
    """Write the loss of each step, as JSON or CSV by the file's ending.

    Raises:
        CheckpointError: the file cannot be written.
    """
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            if Path(path).suffix == ".csv":
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["step", "loss"])
                rows.writerows((step, repr(loss)) for step, loss in enumerate(done.losses, start=1))
                return
            record = {"ranks": ranks, "backend": backend}
            record |= {"losses": done.losses, "accuracies": done.accuracies}
            json.dump(record, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from None
