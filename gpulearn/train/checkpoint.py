"""Checkpoint files: written whole or not at all, and read without running code from them."""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import torch

from gpulearn.errors import CheckpointError

__all__ = ["load_checkpoint", "previous_checkpoint", "save_checkpoint"]

FORMAT = "gpulearn checkpoint 1"


def save_checkpoint(path: str | Path, state: dict[str, Any]) -> None:
    """Write a state (tensors, numbers, text, and lists and dictionaries of them) to a file.

    It is written beside the file and then renamed, which a file system does at once or not at
    all: whenever the machine stops, `path` is the old checkpoint or the new one. The old one
    stays as `<name>.previous`.

    Raises:
        CheckpointError: the file cannot be written.

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
        last = _second_name(path) if path.exists() else None
        unfinished.replace(path)
        if last is not None:  # only now: until here the one before it may be the only whole one
            last.replace(previous_checkpoint(path))
        _sync_folder(path.parent)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):  # there after an error or an interrupt only
            unfinished.unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read a state that `save_checkpoint` wrote; its tensors come to the CPU.

    Only tensors and plain values are read (`weights_only`): a file that holds code is refused,
    whoever sent it.

    Raises:
        CheckpointError: the file is missing, cut short, damaged or no checkpoint; the sentence
            names the one before it where that can still be read.
    """
    path = Path(path)
    fault = None if (state := _read(path)) else _fault(path)
    if state and state.get("format") == FORMAT:
        return state
    raise CheckpointError(f"{path} {fault or 'is no checkpoint of gl.fit'}: {_advice(path)}")


def previous_checkpoint(path: str | Path) -> Path:
    """Where the checkpoint before the last one is kept."""
    return Path(path).with_name(f"{Path(path).name}.previous")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # torch.load itself does not look at the sums
                return None
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # a damaged file fails in as many ways as there are bytes in it
        return None
    return state if isinstance(state, dict) else {"format": None}


def _fault(path: Path) -> str:
    if not path.exists():
        return "does not exist"
    return "cannot be read as a checkpoint, it is cut short, damaged or another kind of file"


def _advice(path: Path) -> str:
    previous = previous_checkpoint(path)
    if (_read(previous) or {}).get("format") == FORMAT:
        return f"the checkpoint before it is whole, resume from {previous}."
    return "give another file, or leave `resume` out to start again."


def _second_name(path: Path) -> Path:
    """Give the last checkpoint another name, without a moment at which it has none."""
    spare = path.with_name(f"{path.name}.{os.getpid()}.spare")
    spare.unlink(missing_ok=True)
    try:
        spare.hardlink_to(path)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, spare)
    return spare


def _sync_folder(folder: Path) -> None:
    """Bring the new name itself to the disk; Windows cannot open a folder, and needs it not."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
