"""Known answers to `shard_indices`: wrong ones with their hints, and other right ones."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import torch

from gpulearn.checker.answers import Answers
from gpulearn.parallel.sharding import shard_indices

__all__ = ["ANOTHER_PROCESS", "answers"]

answers = Answers(shard_indices)

ANOTHER_PROCESS = (
    "another process makes another order of the same seed and epoch, and ranks are processes: "
    "hash() of a text, id() and os.getpid() differ from one to the next. Seed the generator with "
    "seed + epoch."
)

BEGIN = "order = list(range(count))"
SEEDED = "seed is not None"
GENERATOR = "generator = torch.Generator().manual_seed(seed + epoch)"
SHUFFLED = "order = torch.randperm(count, generator=generator).tolist()"
SHUFFLE = f"    if {SEEDED}:\n        {GENERATOR}\n        {SHUFFLED}\n"
IF_PAD = 'if uneven == "pad":'
AGAIN = "[order[place % count] for place in range(padded)]"
IF_DROP = 'elif uneven == "drop":'
KEPT = "order[: count // size * size]"
TAKE = "return order[rank::size]"

answers.edit(
    {
        TAKE: (
            "begins = [len(order) * one // size for one in range(size + 1)]\n"
            "    return order[begins[rank] : begins[rank + 1]]"
        )
    },
    "each rank takes a block, one sample after another: take entries rank, rank + size, … with "
    "order[rank::size].",
)
answers.edit(
    {TAKE: "return order[rank : rank + len(order[rank::size])]"},
    "shards overlap: order[rank:] begins at the right place and takes each entry from there on, "
    "where it should take every size-th.",
)
answers.edit(
    {TAKE: "return order"},
    "every rank sees all samples: nothing is dealt out.",
)
answers.edit(
    {TAKE: "return order[::size]"},
    "every rank sees the same samples, those of rank 0: begin at its own number, "
    "order[rank::size].",
)
answers.edit(
    {TAKE: "return order[rank + 1 :: size]"},
    "ranks are counted from 0: rank r begins at entry r, not at r + 1.",
)
answers.edit(
    {IF_PAD: "if False:"},
    'the padding is missing: with "pad" all ranks have equally many, so that none waits in vain '
    "for another's last step.",
)
answers.edit(
    {IF_PAD: "if False:", IF_DROP: "else:"},
    'the rest of the samples is dropped whatever uneven says: "pad" and "keep" lose none.',
)
answers.edit(
    {IF_PAD: "if True:"},
    'the list is padded whatever uneven says: "drop" cuts off, "keep" leaves it.',
)
answers.edit(
    {IF_PAD: "if False:", IF_DROP: "elif False:"},
    "nothing is ever padded or dropped: uneven is not used.",
)
answers.edit(
    {IF_DROP: "else:"},
    '"keep" drops the rest as well: it leaves the list as it is.',
)
answers.edit(
    {IF_PAD: 'if uneven != "drop":'},
    '"keep" pads as well: it leaves the list as it is, and some ranks have one sample more.',
)
answers.edit(
    {AGAIN: "order + (order * size)[count * size - (padded - count) :]"},
    "the list is padded with its last entries: repeat it from its beginning.",
)
answers.edit(
    {AGAIN: "order + order[-1:] * (padded - count)"},
    "the list is padded with its last entry over and over: repeat its beginning.",
)
answers.edit(
    {AGAIN: "order + order[:1] * (padded - count)"},
    "the list is padded with its first entry over and over: go on with the second.",
)
answers.edit(
    {AGAIN: "order + [place % count for place in range(padded - count)]"},
    "the list is padded with samples 0, 1, …, also where it is shuffled: repeat the shuffled list "
    "from its beginning.",
)
answers.edit(
    {AGAIN: "order + order[: padded - count]"},
    "order[:missing] pads too little where there are more ranks than samples: there are not so "
    "many entries. Go round the list as often as it takes, order[place % count].",
)
answers.edit(
    {AGAIN: "order + (order * size)[: size - count % size]"},
    "where the number of ranks divides the length, a whole round of padding is added: "
    "size − count % size is size there, and −count % size is 0.",
)
answers.edit(
    {AGAIN: "order + order[: size - count % size]"},
    "order[: size − count % size] pads a whole round where the number of ranks divides the length, "
    "and too little where there are more ranks than samples. −count % size are missing; go round "
    "the list as often as it takes, order[place % count].",
)
answers.edit(
    {IF_PAD: 'if uneven != "keep":'},
    '"drop" pads as well: it cuts off the end, so that no sample is seen twice.',
)
answers.edit(
    {KEPT: "order[: -(count % size)]"},
    '"drop" with order[:-rest] leaves nothing where the rest is 0: cut at count // size * size.',
)
answers.edit(
    {
        SHUFFLED: (
            'padded = -(-count // size) * size if uneven == "pad" else count\n'
            "        turned = torch.randperm(padded, generator=generator).tolist()\n"
            "        order = [place % count for place in turned]"
        ),
        AGAIN: "[order[place % len(order)] for place in range(padded)]",
    },
    "the padded list is shuffled, so that the padding is anywhere in it: shuffle the samples "
    "first, then repeat the beginning of what comes out.",
)
answers.edit(
    {BEGIN: f'if uneven == "drop":\n        count = count // size * size\n    {BEGIN}'},
    '"drop" cuts before the shuffle, so that the same samples are left out in every epoch: shuffle '
    "first, then cut off the end.",
)
answers.edit(
    {KEPT: "order[count % size :]"},
    '"drop" cuts off the beginning of the list: leave out its end.',
)
answers.edit(
    {"seed + epoch": "seed"},
    "epoch is not used, so every epoch has the order of the first, as if set_epoch had been "
    "forgotten: seed the generator with seed + epoch.",
)
answers.edit(
    {"seed + epoch": "seed + rank + epoch"},
    "each rank shuffles in a way of its own, by seed + rank, so that shards overlap and samples "
    "are lost: all ranks make the same list, and each takes its part of it.",
)
answers.edit(
    {", generator=generator": ""},
    "each rank shuffles in a way of its own: the generator has no seed. Seed it with seed + epoch "
    "on all ranks.",
)
answers.edit(
    {"seed + epoch": "epoch"},
    "the epoch alone is the seed: two runs with different seeds would have the same orders. Add "
    "the two.",
)
answers.edit(
    {
        SHUFFLE: "",
        TAKE: (
            f"mine = order[rank::size]\n    if {SEEDED}:\n        {GENERATOR}\n"
            "        turned = torch.randperm(len(mine), generator=generator).tolist()\n"
            "        mine = [mine[place] for place in turned]\n"
            "    return mine"
        ),
    },
    "the shard is shuffled, not the data set: a rank would see the same samples in all epochs. "
    "Shuffle first, then deal out.",
)
answers.edit(
    {SEEDED: "True", "seed + epoch": "(seed or 0) + epoch"},
    "it shuffles also where seed is None: then the samples keep their order.",
)
answers.edit(
    {SEEDED: "seed"},
    "seed 0 is taken for none: write if seed is not None, since 0 is false, too.",
)
answers.edit(
    {SEEDED: "False"},
    "nothing is shuffled: with a seed, all ranks make the same shuffled list.",
)
answers.edit(
    {
        GENERATOR: "torch.manual_seed(seed + epoch)",
        SHUFFLED: "order = torch.randperm(count).tolist()",
    },
    "torch.manual_seed seeds the generator from which everything else takes its random numbers, "
    "dropout too: make one of its own, torch.Generator().",
)
answers.edit(
    {GENERATOR: "random.seed(seed + epoch)", SHUFFLED: "random.shuffle(order)"},
    "random.seed and random.shuffle share their generator with all other code that takes random "
    "numbers from Python's random: make one of its own, random.Random(seed + epoch).",
    random=random,
)
answers.edit(
    {
        "seed + epoch": "seed",
        SHUFFLED: (
            f"{SHUFFLED}\n        begin = epoch % count\n"
            "        order = order[begin:] + order[:begin]"
        ),
    },
    "each epoch begins the first one's order elsewhere, and neighbours stay neighbours: shuffle "
    "anew, by a generator seeded with seed + epoch.",
)
answers.edit(
    {"seed + epoch": "seed + epoch + 1000 * os.getpid()"},
    ANOTHER_PROCESS,
    os=os,
)
answers.variant(
    {
        f"padded = -(-count // size) * size\n        order = {AGAIN}": (
            "while len(order) % size:\n            order.append(order[len(order) - count])"
        ),
        f"order = {KEPT}": "while len(order) % size:\n            order.pop()",
        TAKE: "return [one for place, one in enumerate(order) if place % size == rank]",
    }
)


@answers.right
def with_numpy(count: int, rank: int, size: int, **options: Any) -> Any:
    order = np.arange(count)
    if options["seed"] is not None:
        order = np.random.default_rng([options["seed"], options["epoch"]]).permutation(count)
    rounds = {"pad": -(-count // size), "drop": count // size}
    length = rounds[options["uneven"]] * size if options["uneven"] in rounds else count
    return np.resize(order, length)[rank::size].tolist()


answers.variant(
    {
        f"        {GENERATOR}\n": "",
        SHUFFLED: "random.Random(100 * seed + epoch).shuffle(order)",
    },
    random=random,
)


@answers.right
def for_a_list_that_is_never_made(count: int, rank: int, size: int, **options: Any) -> Any:
    order = torch.tensor(shard_indices(count, 0, 1, seed=options["seed"], epoch=options["epoch"]))
    ends = {"pad": -(-count // size) * size, "drop": count // size * size, "keep": count}
    return [int(order[place % count]) for place in range(rank, ends[options["uneven"]], size)]
