"""A mesh of ranks: each has a place along the axes data, pipeline and tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import Channel, rank, world_size
from gpulearn_lessons.model_parallel.tensor_parallel.groups import subgroup

AXES = ("data", "pipeline", "tensor")


class Mesh:
    """data · pipeline · tensor ranks; neighbours in number are neighbours along "tensor".

    So the ranks that speak most share the fastest links: those of one machine.

    Args:
        data: how many replicas.
        pipeline: how many stages each replica has.
        tensor: how many ranks share each layer.

    >>> mesh = Mesh(data=2, tensor=4)
    >>> mesh.places(6)
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
        return self.sizes["data"] * self.sizes["pipeline"] * self.sizes["tensor"]

    def places(self, number: int) -> dict[str, int]:
        """Where a rank stands along each axis."""
        if require.from_zero("number", number) >= self.size:
            raise BadInput(f"number is {number}: the mesh has ranks 0 to {self.size - 1}.")
        rest, found = number, {}
        for axis in reversed(AXES):
            rest, found[axis] = divmod(rest, self.sizes[axis])
        return {axis: found[axis] for axis in AXES}

    def line(self, axis: str, number: int) -> list[int]:
        """The ranks that differ from a rank along one axis alone, itself among them."""
        require.choice("axis", axis, AXES)
        here = self.places(number)
        step = {"tensor": 1, "pipeline": self.sizes["tensor"]}.get(
            axis, self.sizes["tensor"] * self.sizes["pipeline"]
        )
        return [number + step * (place - here[axis]) for place in range(self.sizes[axis])]

    def along(self, axis: str) -> AbstractContextManager[Channel]:
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
        return subgroup(self.line(axis, rank()))

    def by_axis(self, moved: Mapping[tuple[int, int], int]) -> Counter[str]:
        """What went along each axis, from what went from rank to rank.

        Args:
            moved: bytes or messages by (sender, receiver), such as a simulation's `bytes_moved`.

        >>> Mesh(data=2, tensor=2).by_axis({(0, 1): 10, (3, 2): 10, (0, 2): 5})
        Counter({'tensor': 20, 'data': 5})
        """
        found: Counter[str] = Counter()
        for (sender, receiver), count in moved.items():
            one, other = self.places(sender), self.places(receiver)
            axes = [axis for axis in AXES if one[axis] != other[axis]]
            if len(axes) != 1:
                raise BadInput(f"ranks {sender} and {receiver} differ along {len(axes)} axes.")
            found[axes[0]] += count
        return found
