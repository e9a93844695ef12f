"""Sharded checkpoints that count when all their parts are there and a manifest says so.

A save is written as a generator that stops wherever its process may die, so that each place can
be tried. A real save runs through it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from gpulearn.errors import BadInput, CheckpointError
from gpulearn.parallel.communicator import barrier, rank, world_size
from gpulearn.require import shown

MEET = "meets the others"  # a point that no rank passes before all have come to it
MANIFEST = "manifest.json"
MAX_COMPLETE = 2  # checkpoints that stay


def writing(file: Path, state: dict[str, Any]) -> Iterator[str]:
    """Write a state to a file, with a stop where half of it is there, and one at the end.

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
        os.fsync(opened.fileno())  # or the new name could reach the disk before the content
    yield f"has written {file.name}"


def saving_parts(
    folder: Path, step: int, rank: int, ranks: int, state: dict[str, Any]
) -> Iterator[str]:
    """One rank's save, which may be killed at each stop, with any of the others.

    Each checkpoint has a folder of its own in that of the run. A rank writes its part under another
    name, which then becomes its own at once; all meet; rank 0 writes the manifest, which names the
    parts, in the same way. That is the moment from which the checkpoint counts. Then checkpoints
    that are older than the one before it are deleted, the manifest first.
    """
    here = folder / f"step {step:08}"
    here.mkdir(parents=True, exist_ok=True)
    if rank == 0:
        (here / MANIFEST).unlink(missing_ok=True)  # of a run that was taken back to before it
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


def save_parts(
    folder: str | Path, step: int, state: dict[str, Any], meet: Callable[[], None] = barrier
) -> None:
    """Save this rank's part of a checkpoint; every rank must call.

    When it returns, all parts and the manifest are on the disk; all ranks must reach the folder.

    Args:
        folder: of all checkpoints of the run.
        step: how many steps are done.
        state: tensors, numbers, text, and lists and dictionaries of them.
        meet: waits for all ranks.
    """
    try:
        for point in saving_parts(Path(folder), step, rank(), world_size(), state):
            if point == MEET:
                meet()
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror or error}.") from None


def parts_writer() -> Callable[[Path, dict[str, Any]], None]:
    """What writes this rank's parts for an `AsyncCheckpointer`; every rank must call it.

    The writing runs in a thread of each rank, beside the training. If its meetings were in the
    training's process group, each rank would mix them into the training's collectives at another
    moment; so they have a group of their own, by gloo, and need real processes. A state's "step"
    says how many steps are done.
    """
    if not dist.is_initialized():
        raise BadInput("There is no process group: call parts_writer in real ranks (gl.launch).")
    group = dist.new_group(backend="gloo")

    def write(folder: Path, state: dict[str, Any]) -> None:
        if "step" not in state:
            raise BadInput(f"state has {shown(list(state))}: its 'step' names the checkpoint.")
        save_parts(folder, state["step"], state, meet=lambda: dist.barrier(group))

    return write


def _complete(folder: Path) -> list[Path]:
    """All checkpoints that count, the oldest first."""
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
    """The parts that a manifest names, in order of rank."""
    names: list[str] = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))["parts"]
    return names


def last_complete(folder: str | Path) -> Path | None:
    """The folder of the newest checkpoint that counts, or None if there is none."""
    complete = _complete(Path(folder))
    return complete[-1] if complete else None


def load_parts(checkpoint: str | Path) -> list[dict[str, Any]]:
    """What each rank has saved in a checkpoint that `last_complete` returned, by rank."""
    path = Path(checkpoint)
    try:
        return [torch.load(path / name, weights_only=True) for name in _part_names(path)]
    except Exception as error:  # a damaged file fails in as many ways as there are bytes in it
        raise CheckpointError(
            f"{path} is no whole checkpoint ({type(error).__name__}): take the one that "
            f"`last_complete` names."
        ) from None
