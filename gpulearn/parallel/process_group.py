"""A process group, however its ranks were started: where each stands, and how it joins.

`torchrun` starts processes and tells each its place in environment variables; `gl.launch` has
joined already; and plain `python` is one rank of one. `with init_process_group():` serves all
three.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from gpulearn import require
from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.communicator import current
from gpulearn.require import listed
from simt.device import selection

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
MAX_TIMEOUT = 1e8  # seconds that torch can be told to wait: three years


@dataclass(frozen=True)
class RankInfo:
    """Where this rank stands in its group."""

    rank: int
    size: int
    device: torch.device  # where its model and data belong
    backend: str  # "nccl" if each rank has a GPU of its own, else "gloo", or "simulated"
    threads: int  # of torch on the CPU
    reason: str  # of the backend, in a few words

    def __str__(self) -> str:
        ranks = f"{self.size} ranks" if self.size > 1 else "1 rank"
        threads = f"{self.threads} threads" if self.threads > 1 else "1 thread"
        each = " each" if self.size > 1 else ""
        return f"{ranks}, messages by {self.backend} ({self.reason}), {threads}{each}"


def torchrun_environment(variables: Mapping[str, str]) -> tuple[int, int, int] | None:
    """This rank's number, how many there are, and its number on this machine, by torchrun.

    Of the environment's variables; None if this process was started alone.
    """
    present = [name for name in VARIABLES if variables.get(name)]
    if not present:
        return None
    if absent := [name for name in VARIABLES if name not in present]:
        are, are_not = (f"{listed(n)} {'are' if len(n) > 1 else 'is'}" for n in (present, absent))
        raise BadInput(
            f"{are} set, and {are_not} not: torchrun sets all four; start by "
            f"torchrun, or unset {listed(present)} to run as one process."
        )
    rank = int(variables["RANK"])
    return rank, int(variables["WORLD_SIZE"]), int(variables.get("LOCAL_RANK", rank))


def usable_gpus() -> int:
    """How many GPUs torch may use here."""
    if os.environ.get(selection.ENVIRONMENT_VARIABLE) == "cpu":
        return 0
    return torch.cuda.device_count()


def rank_info(rank: int, device: torch.device, hosts: Sequence[Sequence[str]]) -> RankInfo:
    """A rank's place, by the machine and the GPU of all ranks: so all come to the same backend.

    A rank without a GPU has "". Two agents of torchrun on one machine know nothing of each other;
    their ranks still have to share its cores and must not take one GPU twice.

    >>> cpu = torch.device("cpu")
    >>> rank_info(0, cpu, [("a", ""), ("a", "")]).reason
    'no GPU here'
    """
    machines, gpus = zip(*hosts, strict=True)
    size, different = len(hosts), len(set(gpus))
    backend = "gloo"
    if "" in gpus:
        reason = "not every rank has a GPU" if any(gpus) else "no GPU here"
    elif different == size:
        backend, reason = "nccl", "each has a GPU of its own" if size > 1 else "it has a GPU"
    else:
        reason = f"they share {different} GPU{'s' if different > 1 else ''}"
    threads = max(1, selection.cores() // machines.count(machines[rank]))
    return RankInfo(rank, size, device, backend, threads, reason)


def _placed(store: Any, rank: int, size: int, local: int) -> RankInfo:
    """This rank's place, after all have said where they are."""
    gpus = usable_gpus()
    device = torch.device("cuda", local % gpus) if gpus else torch.device("cpu")
    gpu = str(torch.cuda.get_device_properties(device).uuid) if gpus else ""
    keys = [f"gpulearn/{number}" for number in range(size)]
    store.set(keys[rank], json.dumps([platform.node(), gpu]))
    return rank_info(rank, device, [json.loads(host) for host in store.multi_get(keys)])


@contextlib.contextmanager
def init_process_group(timeout: float = 30.0) -> Iterator[RankInfo]:
    """Join the ranks that run this program; within the block they can communicate.

    Under torchrun the group is made here and ended here. In a function that `gl.launch` or
    `gl.simulate` runs there is one, which stays. A process started alone is one rank of one.

    NCCL carries the messages if each rank has a GPU of its own, else gloo. torch gets the cores
    of this machine divided by the ranks on it. A rank waits at most `timeout` seconds for another,
    here and in a collective. Yields this rank's place: its number, how many there are, its device.

    >>> with init_process_group() as place:
    ...     place.rank, place.size
    (0, 1)
    """
    require.above_zero("timeout", timeout)
    if (present := _present()) is not None:
        yield present
        return
    before = torch.get_num_threads()
    limit = datetime.timedelta(seconds=min(float(timeout), MAX_TIMEOUT))
    started = torchrun_environment(os.environ)
    rank, size, local = started or (0, 1, 0)
    try:
        if started:
            store = next(rendezvous("env://", rank, size, timeout=limit))[0]
        else:
            store = dist.HashStore()  # type: ignore[attr-defined]
        place = _placed(store, rank, size, local)
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


def _present() -> RankInfo | None:
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
    return RankInfo(
        here.rank, here.size, where, backend, torch.get_num_threads(), "as the launcher chose"
    )
