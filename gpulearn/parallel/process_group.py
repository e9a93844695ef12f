"""Be one rank of a group, however the process was started: the door from notebook to cluster.

`torchrun` starts processes and tells each its place in environment variables; `gl.launch` has
joined already; and plain `python` is one rank of one. `with init_process_group():` serves all
three.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from gpulearn import require
from gpulearn.errors import RankError
from gpulearn.parallel.channel import current
from gpulearn.parallel.rank_info import (
    Place,
    exchange_cards,
    place_of,
    said_by_torchrun,
    usable_gpus,
)

__all__ = ["gather_results", "init_process_group"]

R = TypeVar("R")
LONGEST = 1e8  # seconds that torch can be told to wait: three years


@contextlib.contextmanager
def init_process_group(timeout: float = 30.0) -> Iterator[Place]:
    """Join the ranks that run this program; within the block they can communicate.

    Under torchrun the group is made here and ended here. In a function that `gl.launch` or
    `gl.simulate` runs there is one, which stays. A process started alone is one rank of one.

    NCCL carries the messages if each rank has a GPU of its own, else gloo. torch gets the cores
    of this machine divided by the ranks on it.

    Args:
        timeout: seconds that a rank waits for another, here and in a collective.

    Yields:
        This rank's place: its number, how many there are, its device.

    Raises:
        BadInput: only some of torchrun's variables are set, or one is no number in its range.
        RankError: the other ranks did not come in time.

    >>> with init_process_group() as place:
    ...     place.rank, place.size
    (0, 1)
    """
    require.above_zero("timeout", timeout)
    if (present := _present()) is not None:
        yield present
        return
    before = torch.get_num_threads()
    limit = datetime.timedelta(seconds=min(float(timeout), LONGEST))
    said = said_by_torchrun(os.environ)
    rank, size = said.get("rank", 0), said.get("size", 1)
    try:
        if said:
            store = next(rendezvous("env://", rank, size, timeout=limit))[0]
        else:
            store = dist.HashStore()  # type: ignore[attr-defined]
        place = place_of(rank, exchange_cards(store, rank, size, said.get("local")))
    except dist.DistError:
        raise RankError(
            f"Not all of {size} ranks met at {os.environ['MASTER_ADDR']}:"
            f"{os.environ['MASTER_PORT']} within {timeout:g} s: start them on every machine, and "
            f"see that each can reach that address."
        ) from None
    if place.device.type == "cuda":
        torch.cuda.set_device(place.device)
    torch.set_num_threads(place.threads)
    dist.init_process_group(
        place.backend,
        store=store,
        rank=rank,
        world_size=size,
        timeout=limit,
        device_id=place.device if place.backend == "nccl" else None,
    )
    try:
        dist.barrier()
        yield place
        dist.barrier()  # rank 0 keeps the address book: it leaves with the others
    finally:
        dist.destroy_process_group()
        torch.set_num_threads(before)


def gather_results(result: R) -> list[R]:
    """What every rank gives, in order of rank, on rank 0; an empty list on the others.

    Args:
        result: this rank's; anything that can be pickled.

    Raises:
        RankError: this is no rank of a process group.

    >>> with init_process_group():
    ...     gather_results(49)
    [49]
    """
    if not dist.is_initialized():
        raise RankError("There is no process group here: call this within init_process_group().")
    everything: list[Any] | None = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(result, everything)
    return everything or []


def _present() -> Place | None:
    """The place of a process or thread that is a rank already."""
    try:
        here = current()
    except RankError:
        return None
    if dist.is_initialized():
        backend = str(dist.get_backend())
        own = usable_gpus() > 0
        where = torch.device("cuda", torch.cuda.current_device()) if own else torch.device("cpu")
    else:
        backend, where = "simulated", torch.device("cpu")
    return Place(
        here.rank, here.size, where, backend, torch.get_num_threads(), "as the launcher chose"
    )
