"""Checkpoints of shards: written by some ranks, read by any other number of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Shard

from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import barrier, rank, world_size
from gpulearn_lessons.sharded_training.flat import FlatBlock
from gpulearn_lessons.sharded_training.stages import ShardedOptimizer


def reshard_checkpoint(
    read: Callable[[int], Tensor], count: int, wrote: int, rank: int, ranks: int
) -> Tensor:
    """A rank's shard of a row that another number of ranks has written, a file each.

    A file holds one rank's part of the row, padded with zeros at the row's end until all are of
    one length, ⌈count/wrote⌉. Only the files are read that hold a part of this rank's shard.

    Args:
        read: the number of a file, from 0 → its row.
        count: numbers in the whole row, without padding.
        wrote: how many ranks wrote a file each.
        rank: this rank, from 0.
        ranks: how many there are now.

    Returns:
        (⌈count/ranks⌉,): this rank's part of the row, padded with zeros at the row's end.

    >>> files = [torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0]), torch.tensor([4.0, 0.0])]
    >>> [reshard_checkpoint(files.__getitem__, 5, 3, rank, 2).tolist() for rank in range(2)]
    [[0.0, 1.0, 2.0], [3.0, 4.0, 0.0]]
    """
    old, new = -(-count // wrote), -(-count // ranks)
    start = min(rank * new, count)
    end = min(start + new, count)
    first = min(start // old, wrote - 1)
    last = max(first, (end - 1) // old)
    row = torch.cat([read(number) for number in range(first, last + 1)])
    part = row[start - first * old : end - first * old]
    return torch.nn.functional.pad(part, (0, new - len(part)))


def save_sharded(sharded: ShardedOptimizer, folder: str) -> None:
    """Write a checkpoint with `torch.distributed.checkpoint`: each rank writes its own shards.

    Every rank must call, in real processes, between two steps. The folder is made if it is not
    there. A checkpoint that lies there is removed first: after a death meanwhile there is none, and
    never parts of two.
    """
    mesh = _mesh()
    state: dict[str, Any] = {}
    for number, block in enumerate(sharded.blocks):
        state[f"{number}.parameters"] = _of_all(block, block.shard.detach(), mesh)
        for name, value in sharded.state_of(number).items():
            cut = value.shape == block.shard.shape
            state[f"{number}.{name}"] = _of_all(block, value, mesh) if cut else value
    if rank() == 0:
        (Path(folder) / ".metadata").unlink(missing_ok=True)  # without it no file is read any more
        for shards in Path(folder).glob("*.distcp"):
            shards.unlink()
    barrier()
    save(state, checkpoint_id=folder)


def load_sharded(sharded: ShardedOptimizer, folder: str) -> None:
    """Read a checkpoint that `save_sharded` has written, on whatever number of ranks.

    Every rank must call, in real processes; each reads what belongs to its own shards. The model is
    the same, in any of the stages, with the same kind of optimizer.
    """
    mesh = _mesh()
    metadata = FileSystemReader(folder).read_metadata().state_dict_metadata
    values: dict[str, Tensor] = {}
    state: dict[str, Any] = {}
    for key, about in metadata.items():
        number, name = re.fullmatch(r"(\d+)\.(\w+)", key).groups()  # type: ignore[union-attr]
        shape = tuple(about.size)  # type: ignore[union-attr]
        block = sharded.blocks[int(number)] if int(number) < len(sharded.blocks) else None
        if block is None or shape not in ((), (block.count,)):
            raise BadInput(f"{folder} is the checkpoint of another model: {key} has shape {shape}.")
        values[key] = torch.zeros_like(block.shard.detach()) if shape else torch.zeros(())
        state[key] = _of_all(block, values[key], mesh) if shape else values[key]
    load(state, checkpoint_id=folder)
    for key, value in values.items():
        number, _, name = key.partition(".")
        sharded.restore(int(number), name, value)


def _mesh() -> DeviceMesh:
    return init_device_mesh("cuda" if dist.get_backend() == "nccl" else "cpu", (world_size(),))


def _of_all(block: FlatBlock, shard: Tensor, mesh: DeviceMesh) -> DTensor:
    """A shard as torch's part of a whole, without padding: it cuts a row as we do."""
    length = len(shard)
    own = shard[: max(0, min(length, block.count - rank() * length))]
    return DTensor.from_local(
        own, mesh, [Shard(0)], run_check=False, shape=torch.Size([block.count]), stride=(1,)
    )
