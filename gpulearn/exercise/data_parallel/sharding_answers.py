"""What is written for shards of a data set: wrong answers, and other right ones."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import torch

from gpulearn.checker.answers import Answers
from gpulearn.parallel.sharding import shard_indices

__all__ = ["ANOTHER_PROCESS", "answers"]

answers = Answers()

ANOTHER_PROCESS = (
    "another process makes another order of the same seed and epoch, and ranks are processes: "
    "hash() of a text, id() and os.getpid() differ from one to the next. Seed the generator with "
    "seed + epoch."
)


def shuffled(count: int, seed: int | None) -> list[int]:
    """The order in which samples are dealt out."""
    if seed is None:
        return list(range(count))
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()


def added(seed: int | None, more: int) -> int | None:
    return None if seed is None else seed + more


def fitted(order: list[int], size: int, uneven: str) -> list[int]:
    """The list made as long as `uneven` says."""
    count = len(order)
    if uneven == "pad":
        return [order[place % count] for place in range(-(-count // size) * size)]
    return order[: count // size * size] if uneven == "drop" else order


def ready(count: int, size: int, options: dict[str, Any], **changed: Any) -> list[int]:
    """The whole list that is dealt out, with some of the options changed."""
    chosen = {**options, **changed}
    return fitted(shuffled(count, added(chosen["seed"], chosen["epoch"])), size, chosen["uneven"])


@answers.wrong(
    "each rank takes a block, one sample after another: take entries rank, rank + size, … with "
    "order[rank::size]."
)
def blocks(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options)
    begins = [len(order) * one // size for one in range(size + 1)]
    return order[begins[rank] : begins[rank + 1]]


@answers.wrong(
    "shards overlap: order[rank:] begins at the right place and takes each entry from there on, "
    "where it should take every size-th."
)
def overlap(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options)
    return order[rank : rank + len(order[rank::size])]


@answers.wrong("every rank sees all samples: nothing is dealt out.")
def everything(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options)


@answers.wrong(
    "every rank sees the same samples, those of rank 0: begin at its own number, order[rank::size]."
)
def all_as_rank_0(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options)[::size]


@answers.wrong("ranks are counted from 0: rank r begins at entry r, not at r + 1.")
def ranks_from_1(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options)[rank + 1 :: size]


@answers.wrong(
    'the padding is missing: with "pad" all ranks have equally many, so that none waits in vain '
    "for another's last step."
)
def never_pads(count: int, rank: int, size: int, **options: Any) -> Any:
    way = "keep" if options["uneven"] == "pad" else options["uneven"]
    return ready(count, size, options, uneven=way)[rank::size]


@answers.wrong(
    'the rest of the samples is dropped whatever uneven says: "pad" and "keep" lose none.'
)
def always_drops(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, uneven="drop")[rank::size]


@answers.wrong('the list is padded whatever uneven says: "drop" cuts off, "keep" leaves it.')
def always_pads(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, uneven="pad")[rank::size]


@answers.wrong("nothing is ever padded or dropped: uneven is not used.")
def always_keeps(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, uneven="keep")[rank::size]


@answers.wrong('"keep" drops the rest as well: it leaves the list as it is.')
def keep_drops(count: int, rank: int, size: int, **options: Any) -> Any:
    way = "drop" if options["uneven"] == "keep" else options["uneven"]
    return ready(count, size, options, uneven=way)[rank::size]


@answers.wrong(
    '"keep" pads as well: it leaves the list as it is, and some ranks have one sample more.'
)
def keep_pads(count: int, rank: int, size: int, **options: Any) -> Any:
    way = "pad" if options["uneven"] == "keep" else options["uneven"]
    return ready(count, size, options, uneven=way)[rank::size]


@answers.wrong("the list is padded with its last entries: repeat it from its beginning.")
def pads_with_the_last(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] != "pad":
        return fitted(order, size, options["uneven"])[rank::size]
    missing = -count % size
    return (order + (order * size)[-missing:] if missing else order)[rank::size]


@answers.wrong("the list is padded with its last entry over and over: repeat its beginning.")
def pads_with_the_last_one(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        order = order + order[-1:] * (-count % size)
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong("the list is padded with its first entry over and over: go on with the second.")
def pads_with_the_first_one(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        order = order + order[:1] * (-count % size)
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "the list is padded with samples 0, 1, …, also where it is shuffled: repeat the shuffled list "
    "from its beginning."
)
def pads_before_the_shuffle(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        order = order + [place % count for place in range(-count % size)]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "order[:missing] pads too little where there are more ranks than samples: there are not so "
    "many entries. Go round the list as often as it takes, order[place % count]."
)
def pads_once_round(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        return (order + order[: -count % size])[rank::size]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "where the number of ranks divides the length, a whole round of padding is added: "
    "size − count % size is size there, and −count % size is 0."
)
def pads_a_round_too_many(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        order = order + (order * size)[: size - count % size]
        return order[rank::size]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "order[: size − count % size] pads a whole round where the number of ranks divides the length, "
    "and too little where there are more ranks than samples. −count % size are missing; go round "
    "the list as often as it takes, order[place % count]."
)
def pads_by_a_slice(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        return (order + order[: size - count % size])[rank::size]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong('"drop" pads as well: it cuts off the end, so that no sample is seen twice.')
def drop_pads(count: int, rank: int, size: int, **options: Any) -> Any:
    way = "pad" if options["uneven"] == "drop" else options["uneven"]
    return ready(count, size, options, uneven=way)[rank::size]


@answers.wrong(
    '"drop" with order[:-rest] leaves nothing where the rest is 0: cut at count // size * size.'
)
def drops_all(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "drop":
        return order[: -(count % size)][rank::size]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "the padded list is shuffled, so that the padding is anywhere in it: shuffle the samples "
    "first, then repeat the beginning of what comes out."
)
def pads_then_shuffles(count: int, rank: int, size: int, **options: Any) -> Any:
    if options["uneven"] != "pad":
        return ready(count, size, options)[rank::size]
    order = fitted(list(range(count)), size, "pad")
    turned = shuffled(len(order), added(options["seed"], options["epoch"]))
    return [order[place] for place in turned][rank::size]


@answers.wrong(
    '"drop" cuts before the shuffle, so that the same samples are left out in every epoch: shuffle '
    "first, then cut off the end."
)
def drops_then_shuffles(count: int, rank: int, size: int, **options: Any) -> Any:
    fewer = count // size * size if options["uneven"] == "drop" else count
    return ready(fewer, size, options)[rank::size]


@answers.wrong('"drop" cuts off the beginning of the list: leave out its end.')
def drops_the_first(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "drop":
        order = order[count % size :]
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "epoch is not used, so every epoch has the order of the first, as if set_epoch had been "
    "forgotten: seed the generator with seed + epoch."
)
def epoch_ignored(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, epoch=0)[rank::size]


@answers.wrong(
    "each rank shuffles in a way of its own, by seed + rank, so that shards overlap and samples "
    "are lost: all ranks make the same list, and each takes its part of it."
)
def seed_and_rank(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=added(options["seed"], rank))[rank::size]


@answers.wrong(
    "each rank shuffles in a way of its own: the generator has no seed. Seed it with seed + epoch "
    "on all ranks."
)
def without_generator(count: int, rank: int, size: int, **options: Any) -> Any:
    order = list(range(count)) if options["seed"] is None else torch.randperm(count).tolist()
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "the epoch alone is the seed: two runs with different seeds would have the same orders. Add "
    "the two."
)
def epoch_alone(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=None if options["seed"] is None else 0)[rank::size]


@answers.wrong(
    "the shard is shuffled, not the data set: a rank would see the same samples in all epochs. "
    "Shuffle first, then deal out."
)
def shuffles_the_shard(count: int, rank: int, size: int, **options: Any) -> Any:
    mine = fitted(list(range(count)), size, options["uneven"])[rank::size]
    return [mine[place] for place in shuffled(len(mine), added(options["seed"], options["epoch"]))]


@answers.wrong("it shuffles also where seed is None: then the samples keep their order.")
def always_shuffles(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=options["seed"] or 0)[rank::size]


@answers.wrong("seed 0 is taken for none: write if seed is not None, since 0 is false, too.")
def seed_0_is_none(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=options["seed"] or None)[rank::size]


@answers.wrong("nothing is shuffled: with a seed, all ranks make the same shuffled list.")
def never_shuffles(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=None)[rank::size]


@answers.wrong(
    "torch.manual_seed seeds the generator from which everything else takes its random numbers, "
    "dropout too: make one of its own, torch.Generator()."
)
def seeds_torch(count: int, rank: int, size: int, **options: Any) -> Any:
    order = list(range(count))
    if options["seed"] is not None:
        torch.manual_seed(options["seed"] + options["epoch"])
        order = torch.randperm(count).tolist()
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "random.seed and random.shuffle share their generator with all other code that takes random "
    "numbers from Python's random: make one of its own, random.Random(seed + epoch)."
)
def seeds_python(count: int, rank: int, size: int, **options: Any) -> Any:
    order = list(range(count))
    if options["seed"] is not None:
        random.seed(options["seed"] + options["epoch"])
        random.shuffle(order)
    return fitted(order, size, options["uneven"])[rank::size]


@answers.wrong(
    "each epoch begins the first one's order elsewhere, and neighbours stay neighbours: shuffle "
    "anew, by a generator seeded with seed + epoch."
)
def turns_by_the_epoch(count: int, rank: int, size: int, **options: Any) -> Any:
    order = shuffled(count, options["seed"])
    begin = options["epoch"] % count if options["seed"] is not None else 0
    return fitted(order[begin:] + order[:begin], size, options["uneven"])[rank::size]


@answers.wrong(ANOTHER_PROCESS)
def by_the_process(count: int, rank: int, size: int, **options: Any) -> Any:
    return ready(count, size, options, seed=added(options["seed"], 1000 * os.getpid()))[rank::size]


@answers.right
def round_by_round(count: int, rank: int, size: int, **options: Any) -> Any:
    order = ready(count, size, options, uneven="keep")
    if options["uneven"] == "pad":
        while len(order) % size:
            order.append(order[len(order) - count])
    if options["uneven"] == "drop":
        while len(order) % size:
            order.pop()
    return [one for place, one in enumerate(order) if place % size == rank]


@answers.right
def with_numpy(count: int, rank: int, size: int, **options: Any) -> Any:
    order = np.arange(count)
    if options["seed"] is not None:
        order = np.random.default_rng([options["seed"], options["epoch"]]).permutation(count)
    rounds = {"pad": -(-count // size), "drop": count // size}
    length = rounds[options["uneven"]] * size if options["uneven"] in rounds else count
    return np.resize(order, length)[rank::size].tolist()


@answers.right
def with_pythons_own(count: int, rank: int, size: int, **options: Any) -> Any:
    order = list(range(count))
    if options["seed"] is not None:
        random.Random(100 * options["seed"] + options["epoch"]).shuffle(order)
    return fitted(order, size, options["uneven"])[rank::size]


@answers.right
def for_a_list_that_is_never_made(count: int, rank: int, size: int, **options: Any) -> Any:
    order = torch.tensor(shard_indices(count, 0, 1, seed=options["seed"], epoch=options["epoch"]))
    end = {"pad": -(-count // size) * size, "drop": count // size * size, "keep": count}[
        options["uneven"]
    ]
    return [int(order[place % count]) for place in range(rank, end, size)]
