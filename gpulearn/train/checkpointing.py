"""Checkpoints: files written whole or not at all, and read without running code from them."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn import require
from gpulearn.errors import CheckpointError

FORMAT = "gpulearn checkpoint 2"


def save_checkpoint(path: str | Path, state: dict[str, Any]) -> None:
    """Write a state (tensors, numbers, text, and lists and dictionaries of them) to a file.

    It is written beside the file and then renamed, which a file system does at once or not at
    all: whenever the machine stops, `path` is the old checkpoint or the new one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "run.pt"
    >>> save_checkpoint(file, {"step": 3, "weights": torch.ones(2)})
    >>> load_checkpoint(file)["step"]
    3
    """
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")  # no other run's
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            torch.save({"format": FORMAT, **state}, file)
            file.flush()
            os.fsync(file.fileno())  # or the new name could reach the disk before its content
        unfinished.replace(path)
        if os.name == "posix":  # bring the new name itself to the disk; Windows does by itself
            descriptor = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):  # there after an error or an interrupt only
            unfinished.unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a state that `save_checkpoint` wrote; its tensors come to the CPU.

    Only tensors and plain values are read (`weights_only`): a file that holds code is refused,
    whoever sent it.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip() is not None  # torch.load itself does not look at the sums
        state = None if damaged else torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # a damaged file fails in as many ways as there are bytes in it
        state = None
    if isinstance(state, dict) and state.get("format") == FORMAT:
        return state
    if state is not None:
        fault = "is no checkpoint of gl.fit"
    elif path.exists():
        fault = "cannot be read as a checkpoint: it is truncated, damaged or another kind of file"
    else:
        fault = "does not exist"
    advice = "Give another file, or leave out `resume` to start again."
    raise CheckpointError(f"{path} {fault}. {advice}")


@require.sizes("steps")
def save_and_resume(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    one_step: Callable[[], object],
    steps: int,
) -> None:
    """Train until `steps` steps are done, from where the checkpoint in `path` stopped, if any.

    After each step it saves everything that the next one needs, random numbers (which choose the
    batches and the dropout) included, so that after a crash the same call continues the run, which
    ends with the same bits. A crash during a save costs only one step, because the file is renamed
    when it is whole.

    `one_step` takes one step with model, optimizer and schedule, which are new after a crash, on a
    random batch. `steps` includes the steps before a crash; the file at `path` need not exist yet.

    >>> import tempfile
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
    >>> done = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for steps in (3, 5):
    ...         arguments = model, optimizer, schedule, lambda: done.append(steps), steps
    ...         save_and_resume(Path(folder) / "run.pt", *arguments)
    >>> done
    [3, 3, 3, 5, 5]
    """
    done = 0
    if path.exists():
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        torch.set_rng_state(saved["random"])
        torch.cuda.set_rng_state_all(saved["random on GPUs"])
        done = saved["done"]
    while done < steps:
        one_step()
        done += 1
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        saved |= {"schedule": schedule.state_dict(), "random": torch.get_rng_state()}
        saved["random on GPUs"] = torch.cuda.get_rng_state_all()  # none without a GPU
        torch.save(saved | {"done": done}, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
