"""Which samples each rank sees: the same shuffled list on all ranks, dealt out like cards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.utils.data import Sampler

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import rank as this_rank
from gpulearn.parallel.communicator import world_size

UNEVEN = ("pad", "drop", "keep")


def _sensible(args: dict[str, Any]) -> None:
    args["uneven"] = require.choice("uneven", args["uneven"], UNEVEN)
    args["epoch"] = require.from_zero("epoch", args["epoch"])
    args["rank"] = require.from_zero("rank", args["rank"])
    if args["seed"] is not None:
        args["seed"] = require.from_zero("seed", args["seed"])
    if args["rank"] >= args["size"]:
        raise BadInput(
            f"rank is {args['rank']}, but there are {args['size']} ranks, counted from 0."
        )


@require.sizes("count", "size")
@require.together(_sensible)
def shard_indices(
    count: int,
    rank: int,
    size: int,
    *,
    uneven: str = "pad",
    seed: int | None = None,
    epoch: int = 0,
) -> list[int]:
    """The numbers of the samples that one rank sees in one epoch.

    All ranks make the same list, shuffled by seed + epoch, and rank r takes entries r, r + size,
    r + 2·size … Equals `torch.utils.data.DistributedSampler` for "pad" and "drop".

    Args:
        count: how many samples there are.
        rank: this rank, from 0.
        size: how many ranks there are.
        uneven: what to do if the samples cannot be dealt out evenly: "pad" repeats the first
            ones, "drop" leaves the last ones out, "keep" gives some ranks one sample more.
        seed: of the shuffling; None keeps the samples in their order. The same on all ranks.
        epoch: changes the order from epoch to epoch.

    >>> [shard_indices(10, rank, 4) for rank in range(4)]
    [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]
    >>> [shard_indices(10, rank, 4, uneven="keep") for rank in range(4)]
    [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]
    """
    order = list(range(count))
    if seed is not None:
        generator = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(count, generator=generator).tolist()
    if uneven == "pad":
        padded = -(-count // size) * size
        order = [order[place % count] for place in range(padded)]
    elif uneven == "drop":
        order = order[: count // size * size]
    return order[rank::size]


class ShardSampler(Sampler[int]):
    """`shard_indices` for a `DataLoader`, as `torch.utils.data.DistributedSampler`.

    Rank and size are those of the caller if None.

    >>> sampler = ShardSampler(6, rank=0, size=2, seed=0)
    >>> first, again = list(sampler), list(sampler)
    >>> sampler.set_epoch(1)
    >>> first == again, first == list(sampler)
    (True, False)
    """

    def __init__(
        self,
        count: int,
        rank: int | None = None,
        size: int | None = None,
        *,
        uneven: str = "pad",
        seed: int | None = 0,
    ) -> None:
        rank = this_rank() if rank is None else rank
        size = world_size() if size is None else size
        self._indices = partial(shard_indices, count, rank, size, uneven=uneven, seed=seed)
        self._epoch = 0
        self._length = len(self._indices())

    def set_epoch(self, epoch: int) -> None:
        """Shuffle anew: without this call every epoch has the order of the first."""
        self._epoch = require.from_zero("epoch", epoch)

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices(epoch=self._epoch))

    def __len__(self) -> int:
        return self._length
