"""Sharded checkpoints that count only when all files are complete and a manifest lists them.

A save is a generator that yields wherever its process may die, so that tests can stop it there. A
real save runs through it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from gpulearn.errors import CheckpointError
from gpulearn.parallel.communicator import barrier, rank, world_size

MEET = "meets the others"  # a point that no rank passes before all have reached it
MANIFEST = "manifest.json"
MAX_COMPLETE = 2  # checkpoints that are kept


def writing(file: Path, state: dict[str, Any]) -> Iterator[str]:
    """Write a state to a file; yields when half of it is written, and at the end.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "part"
    >>> [f"{point}: {file.stat().st_size > 0}" for point in writing(file, {"step": 1})]
    ['has written half of part: True', 'has written part: True']
    """
    memory = io.BytesIO()
    torch.save(state, memory)
    data = memory.getvalue()
    with file.open("wb") as opened:
        opened.write(data[: len(data) // 2])
        opened.flush()
        yield f"has written half of {file.name}"
        opened.write(data[len(data) // 2 :])
        opened.flush()
        os.fsync(opened.fileno())  # or the new name could reach the disk before the data
    yield f"has written {file.name}"


def saving_parts(
    folder: Path, step: int, rank: int, ranks: int, state: dict[str, Any]
) -> Iterator[str]:
    """One rank's save, which may be killed at each yield.

    Each checkpoint has its own folder in that of the run. A rank writes its file under a temporary
    name and renames it. All ranks meet. Then rank 0 writes the manifest, which lists the files, in
    the same way. From that moment on the checkpoint counts. Finally rank 0 deletes all but the
    newest two checkpoints, each manifest first.
    """
    here = folder / f"step {step:08}"
    here.mkdir(parents=True, exist_ok=True)
    if rank == 0:
        (here / MANIFEST).unlink(missing_ok=True)  # of a run that went back to an earlier step
        yield "has opened the folder"
    yield MEET
    part = here / f"part {rank} of {ranks}"
    new = part.with_suffix(".new")
    yield from writing(new, state)
    new.replace(part)
    yield f"has named {part.name}"
    yield MEET
    if rank == 0:
        names = [f"part {number} of {ranks}" for number in range(ranks)]
        manifest = here / "manifest.new"
        manifest.write_text(json.dumps({"step": step, "parts": names}), encoding="utf-8")
        yield "has written the manifest"
        manifest.replace(here / MANIFEST)
        yield "has named the manifest"
        for old in _complete(folder)[:-MAX_COMPLETE]:
            (old / MANIFEST).unlink()
            yield "has deleted an old manifest"
            shutil.rmtree(old)
            yield "has deleted an old checkpoint"
    yield MEET


def save_parts(folder: str | Path, step: int, state: dict[str, Any]) -> None:
    """Save this rank's part of a checkpoint; every rank must call it.

    When it returns, all parts and the manifest are on the disk. The folder is for all checkpoints
    of the run, on a disk that all ranks see; a state holds tensors, numbers, text, and lists and
    dictionaries of them.
    """
    try:
        for point in saving_parts(Path(folder), step, rank(), world_size(), state):
            if point == MEET:
                barrier()
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror or error}.") from None


def _complete(folder: Path) -> list[Path]:
    """All checkpoints that count, oldest first."""
    complete = []
    for checkpoint in sorted(folder.glob("step *")):
        try:
            names = _part_names(checkpoint)
        except (OSError, ValueError):
            continue
        if all((checkpoint / name).exists() for name in names):
            complete.append(checkpoint)
    return complete


def _part_names(checkpoint: Path) -> list[str]:
    """The files that a manifest lists, by rank."""
    names: list[str] = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))["parts"]
    return names


def last_complete(folder: str | Path) -> Path | None:
    """The folder of the newest checkpoint that counts, or None if there is none."""
    complete = _complete(Path(folder))
    return complete[-1] if complete else None


def load_parts(checkpoint: str | Path) -> list[dict[str, Any]]:
    """What each rank saved in a checkpoint that `last_complete` returned, by rank."""
    path = Path(checkpoint)
    try:
        return [torch.load(path / name, weights_only=True) for name in _part_names(path)]
    except Exception as error:  # a damaged file can fail in many ways
        raise CheckpointError(
            f"{path} is no whole checkpoint ({type(error).__name__}): take the one that "
            f"`last_complete` names."
        ) from None
