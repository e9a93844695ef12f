"""Which samples each rank sees: the same shuffled list on all ranks, dealt out like cards."""

from typing import Any

import torch

from gpulearn import require
from gpulearn.errors import BadInput


def _sensible(args: dict[str, Any]) -> None:
    args["uneven"] = require.choice("uneven", args["uneven"], ("pad", "drop", "keep"))
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
