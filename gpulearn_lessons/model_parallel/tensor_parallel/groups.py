"""A subgroup: some of the ranks, numbered anew, with messages and collectives of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import doublings
from gpulearn.parallel.communicator import (
    Channel,
    Handle,
    current,
    existing_ranks,
    using_channel,
)
from gpulearn.require import shown


class _Subgroup:
    """Some of a channel's ranks, numbered anew."""

    def __init__(self, whole: Channel, ranks: Sequence[int]) -> None:
        self.whole = whole
        self.simulated_rank = whole.simulated_rank
        self.ranks = ranks
        self.rank = ranks.index(whole.rank)
        self.size = len(ranks)

    def isend(self, tensor: Tensor, to: int, tag: int) -> Handle:
        return self.whole.isend(tensor, self.ranks[to], tag)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Handle:
        return self.whole.irecv(tensor, self.ranks[source], tag)

    def sendrecv(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        self.whole.sendrecv(outgoing, self.ranks[to], incoming, self.ranks[source])

    def wait_any(self, handles: Sequence[Any]) -> int:
        return self.whole.wait_any(handles)

    def barrier(self) -> None:
        nothing = torch.empty(0)
        for distance in doublings(self.size):  # dissemination, as simulated ranks do it
            ahead, behind = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            self.sendrecv(nothing, ahead, nothing, behind)

    def compute(self, seconds: float) -> None:
        self.whole.compute(seconds)

    def clock(self) -> float:
        return self.whole.clock()


@contextlib.contextmanager
def subgroup(ranks: Sequence[int]) -> Iterator[Channel]:
    """Let `ranks` be all that there are: `rank`, `world_size`, messages and collectives are theirs.

    Each rank of the group enters; the others do something else meanwhile. Within it, ranks count
    from 0 in the order given. A subgroup can be entered within another one.

    Args:
        ranks: some of those that there are here, this one among them, the same on all of these.

    Yields:
        The group's channel, which `using_channel` enters again.

    >>> import gpulearn as gl
    >>> def total():
    ...     me = gl.parallel.rank()
    ...     with subgroup([0, 2] if me % 2 == 0 else [3, 1]):
    ...         group = gl.parallel.rank()
    ...         return group, gl.parallel.all_reduce(torch.tensor(10 * me)).item()
    >>> gl.launch(total, 4, backend="simulated")
    [(0, 20), (1, 40), (1, 20), (0, 40)]
    """
    whole = current()
    members = [require.from_zero("a rank of the group", one) for one in ranks]
    for one in members:
        if one >= whole.size:
            raise BadInput(f"the group has rank {one}: {existing_ranks(whole.size)}")
    if len(set(members)) < len(members):
        raise BadInput(f"the group {shown(ranks)} names a rank twice.")
    if whole.rank not in members:
        raise BadInput(f"this is rank {whole.rank}, which the group {shown(ranks)} leaves out.")
    group = _Subgroup(whole, members)
    with using_channel(group):
        yield group
