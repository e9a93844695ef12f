"""Some of the ranks as a group of their own, and a mesh with the axes data, pipeline and tensor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import doublings
from gpulearn.parallel.communicator import (
    Channel,
    Handle,
    current,
    rank,
    using_channel,
    world_size,
)


class Subgroup:
    """Some of a channel's ranks, numbered anew."""

    def __init__(self, whole: Channel, ranks: Sequence[int]) -> None:
        self.whole = whole
        self.simulated_rank = whole.simulated_rank
        self.ranks = ranks
        self.rank = ranks.index(whole.rank)
        self.size = len(ranks)
        self.wait_any, self.compute, self.clock = whole.wait_any, whole.compute, whole.clock

    def isend(self, tensor: Tensor, to: int, tag: int) -> Handle:
        return self.whole.isend(tensor, self.ranks[to], tag)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Handle:
        return self.whole.irecv(tensor, self.ranks[source], tag)

    def sendrecv(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        self.whole.sendrecv(outgoing, self.ranks[to], incoming, self.ranks[source])

    def barrier(self) -> None:
        nothing = torch.empty(0)
        for distance in doublings(self.size):  # dissemination, as simulated ranks do it
            ahead, behind = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            self.sendrecv(nothing, ahead, nothing, behind)


AXES = ("data", "pipeline", "tensor")


class Mesh:
    """data replicas · pipeline stages · tensor ranks that share each layer.

    Neighbors in number are neighbors along "tensor": so the ranks that speak most share the
    fastest links, those of one machine.

    >>> mesh = Mesh(data=2, tensor=4)
    >>> mesh.coordinates(6)
    {'data': 1, 'pipeline': 0, 'tensor': 2}
    >>> mesh.line("data", 6), mesh.line("tensor", 6)
    ([2, 6], [4, 5, 6, 7])
    """

    def __init__(self, *, data: int = 1, pipeline: int = 1, tensor: int = 1) -> None:
        sizes = zip(AXES, (data, pipeline, tensor), strict=True)
        self.sizes = {axis: require.whole(axis, size) for axis, size in sizes}

    @property
    def size(self) -> int:
        """How many ranks there are in all."""
        return math.prod(self.sizes.values())

    def coordinates(self, number: int) -> dict[str, int]:
        """Where a rank stands along each axis."""
        if require.from_zero("number", number) >= self.size:
            raise BadInput(f"number is {number}: the mesh has ranks 0 to {self.size - 1}.")
        return {axis: number // self._step(axis) % self.sizes[axis] for axis in AXES}

    def _step(self, axis: str) -> int:
        """By how much the numbers of neighbors along an axis differ."""
        return math.prod(self.sizes[inner] for inner in AXES[AXES.index(axis) + 1 :])

    def line(self, axis: str, number: int) -> list[int]:
        """The ranks that differ from a rank along one axis alone, itself among them."""
        require.choice("axis", axis, AXES)
        here, step = self.coordinates(number)[axis], self._step(axis)
        return [number + step * (place - here) for place in range(self.sizes[axis])]

    def along(self, axis: str) -> AbstractContextManager[None]:
        """Let this rank's line along an axis be all that there is.

        >>> import gpulearn as gl
        >>> def total():
        ...     import torch
        ...     mine = torch.tensor(gl.parallel.rank())
        ...     with Mesh(data=2, tensor=2).along("data"):
        ...         return gl.parallel.all_reduce(mine).item()
        >>> gl.launch(total, 4, backend="simulated")
        [2, 4, 2, 4]
        """
        if world_size() != self.size:
            raise BadInput(f"the mesh has {self.size} ranks, and there are {world_size()}.")
        return using_channel(Subgroup(current(), self.line(axis, rank())))

    def by_axis(self, moved: Mapping[tuple[int, int], int]) -> Counter[str]:
        """What went along each axis, from a simulation's `bytes_moved` or `messages`.

        >>> Mesh(data=2, tensor=2).by_axis({(0, 1): 10, (3, 2): 10, (0, 2): 5})
        Counter({'tensor': 20, 'data': 5})
        """
        totals: Counter[str] = Counter()
        for (sender, receiver), count in moved.items():
            source, target = self.coordinates(sender), self.coordinates(receiver)
            axes = [axis for axis in AXES if source[axis] != target[axis]]
            if len(axes) != 1:
                raise BadInput(f"ranks {sender} and {receiver} differ along {len(axes)} axes.")
            totals[axes[0]] += count
        return totals
