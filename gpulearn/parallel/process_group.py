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
from gpulearn.require import listed, shown
from simt.device import selection

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class RankInfo:
    """Where this rank stands in its group.

    `device` is where its model and data belong; `backend` is "nccl" if each rank has a GPU of its
    own, else "gloo", or "simulated", and `reason` says why in a few words; `threads` are those of
    torch on the CPU.
    """

    rank: int
    size: int
    device: torch.device
    backend: str
    threads: int
    reason: str

    def __str__(self) -> str:
        ranks = f"{self.size} ranks" if self.size > 1 else "1 rank"
        threads = f"{self.threads} threads" if self.threads > 1 else "1 thread"
        each = " each" if self.size > 1 else ""
        return f"{ranks}, messages by {self.backend} ({self.reason}), {threads}{each}"


def torchrun_environment(variables: Mapping[str, str]) -> dict[str, int]:
    """This rank's number, how many there are, and its number on this machine if that is said.

    Of the environment's variables: "rank", "size" and perhaps "local"; empty if this process was
    started alone.

    >>> torchrun_environment({"HOME": "/root"})
    {}
    """
    present = [name for name in VARIABLES if variables.get(name)]
    if not present:
        return {}
    if absent := [name for name in VARIABLES if name not in present]:
        are, are_not = (f"{listed(n)} {'are' if len(n) > 1 else 'is'}" for n in (present, absent))
        raise BadInput(
            f"{are} set, and {are_not} not: torchrun sets all four; start by "
            f"torchrun, or unset {listed(present)} to run as one process."
        )
    size = _number(variables, "WORLD_SIZE", 1)
    _number(variables, "MASTER_PORT", 1, 65536)
    place = {"size": size, "rank": _number(variables, "RANK", 0, size)}
    if variables.get("LOCAL_RANK"):
        place["local"] = _number(variables, "LOCAL_RANK", 0, size)
    return place


def usable_gpus() -> int:
    """How many GPUs torch may use here."""
    if os.environ.get(selection.ENVIRONMENT_VARIABLE) == "cpu":
        return 0
    return torch.cuda.device_count()


def exchange_hosts(store: Any, rank: int, size: int, local: int | None) -> list[dict[str, Any]]:
    """What each rank says of itself: its machine, its number there, and the GPUs it can see.

    Two agents of torchrun on one machine know nothing of each other; their ranks still have to
    share its cores and must not take one GPU twice.
    """
    gpus = [str(torch.cuda.get_device_properties(n).uuid) for n in range(usable_gpus())]
    mine = {"machine": platform.node(), "local": local, "gpus": gpus}
    keys = [f"gpulearn/{number}" for number in range(size)]
    store.set(keys[rank], json.dumps(mine))
    return [json.loads(host) for host in store.multi_get(keys)]


def rank_info(rank: int, hosts: Sequence[Mapping[str, Any]]) -> RankInfo:
    """A rank's place, by what all say of their hosts: so every rank comes to the same backend.

    >>> host = {"machine": "a", "local": None, "gpus": ["one", "two"]}
    >>> [str(rank_info(rank, [host, host]).device) for rank in range(2)]
    ['cuda:0', 'cuda:1']
    >>> rank_info(2, [host, host, host]).reason
    'they share 2 GPUs'
    """
    chosen = []
    for number, host in enumerate(hosts):
        here = [other["machine"] for other in hosts[:number]].count(host["machine"])
        local = here if host["local"] is None else host["local"]
        chosen.append(host["gpus"][local % len(host["gpus"])] if host["gpus"] else None)
    mine, size = hosts[rank], len(hosts)
    apart = len(set(chosen))
    own = None not in chosen and apart == size
    if own:
        reason = "each has a GPU of its own" if size > 1 else "it has a GPU"
    elif None in chosen:
        reason = "not every rank has a GPU" if any(chosen) else "no GPU here"
    else:
        reason = f"they share {apart} GPU{'s' if apart > 1 else ''}"
    where = torch.device("cpu")
    if chosen[rank] is not None:
        where = torch.device("cuda", mine["gpus"].index(chosen[rank]))
    neighbors = sum(host["machine"] == mine["machine"] for host in hosts)
    threads = max(1, selection.cores() // neighbors)
    return RankInfo(rank, size, where, "nccl" if own else "gloo", threads, reason)


def _number(variables: Mapping[str, str], name: str, low: int, above: int | None = None) -> int:
    text = variables[name]
    number = int(text) if text.isascii() and text.isdigit() else low - 1
    if number < low or (above is not None and number >= above):
        upto = "" if above is None else f" to {above - 1}"
        raise BadInput(f"{name} is {shown(text)}: it must be a whole number from {low}{upto}.")
    return number


MAX_TIMEOUT = 1e8  # seconds that torch can be told to wait: three years


@contextlib.contextmanager
def init_process_group(timeout: float = 30.0) -> Iterator[RankInfo]:
    """Join the ranks that run this program; within the block they can communicate.

    Under torchrun the group is made here and ended here. In a function that `gl.launch` or
    `gl.simulate` runs there is one, which stays. A process started alone is one rank of one.

    NCCL carries the messages if each rank has a GPU of its own, else gloo. torch gets the cores
    of this machine divided by the ranks on it.

    Args:
        timeout: seconds that a rank waits for another, here and in a collective.

    Yields:
        This rank's place: its number, how many there are, its device.

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
    position = torchrun_environment(os.environ)
    rank, size = position.get("rank", 0), position.get("size", 1)
    try:
        if position:
            store = next(rendezvous("env://", rank, size, timeout=limit))[0]
        else:
            store = dist.HashStore()  # type: ignore[attr-defined]
        place = rank_info(rank, exchange_hosts(store, rank, size, position.get("local")))
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
