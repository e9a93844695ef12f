"""Data sharding: which samples each rank sees, whatever shuffles them."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

import itertools
import operator
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gpulearn.errors import BadInput
from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.compare import NOTHING
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.isolation import undisturbed
from gpulearn.judge.ranks import RankFailure, on_real_ranks
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.sharding import shard_indices
from gpulearn.require import shown

ANOTHER_PROCESS = (
    "another process makes another order of the same seed and epoch, and ranks are processes: "
    "hash() of a text, id() and os.getpid() differ from one to the next. Seed the generator with "
    "seed + epoch."
)

EPOCHS = (0, 1, 2, 3, 4)
MANY = 10  # samples, whose shuffled orders are never alike by chance
Shards = tuple[Any, ...]


@dataclass(frozen=True)
class ShardsOutcome:
    """The shards that an answer returned."""

    count: int  # how many samples there are
    size: int  # how many ranks
    uneven: str  # what to do with the rest
    seed: int | None  # of the shuffling
    shards: tuple[Shards, ...]  # for each epoch, each rank's
    again: Shards  # of epoch 0 once more
    other: Shards  # of epoch 0 with another seed
    wider: Shards  # of the last epoch with one rank more, the rest kept
    reseeds: str  # whose own generator was seeded, which all else uses; "" if nobody's


def cases() -> list[Case]:
    """Even and not, fewer samples than ranks, each way to be uneven, in order and shuffled."""
    works: dict[str, tuple[int, int, str, int | None]] = {
        "8 samples in order and 2 ranks": (8, 2, "pad", None),
        "12 samples in order and 4 ranks": (12, 4, "keep", None),
        "10 samples in order and 4 ranks, padded": (10, 4, "pad", None),
        "10 samples in order and 4 ranks, the rest dropped": (10, 4, "drop", None),
        "10 samples in order and 4 ranks, the rest kept": (10, 4, "keep", None),
        "12 samples in order and 4 ranks, no rest to drop": (12, 4, "drop", None),
        "2 samples in order and 5 ranks, padded": (2, 5, "pad", None),
        "2 samples in order and 5 ranks, the rest dropped": (2, 5, "drop", None),
        "7 samples in order and 1 rank": (7, 1, "pad", None),
        "24 samples shuffled by seed 3 and 4 ranks": (24, 4, "pad", 3),
        "23 samples shuffled by seed 0 and 3 ranks, padded": (23, 3, "pad", 0),
        "23 samples shuffled by seed 5 and 4 ranks, the rest dropped": (23, 4, "drop", 5),
        "23 samples shuffled by seed 5 and 4 ranks, the rest kept": (23, 4, "keep", 5),
        "3 samples shuffled by seed 1 and 7 ranks, padded": (3, 7, "pad", 1),
    }
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> ShardsOutcome:
    """Ask for each rank's shard of three epochs, and of the first one again."""
    count, size, uneven, seed = case.args

    def shards(epoch: int, seed: int | None, ranks: int = size, rest: str = uneven) -> Shards:
        lists = []
        for rank in range(ranks):
            seed_all(rank)  # ranks share no random numbers
            lists.append(answer(count, rank, ranks, uneven=rest, seed=seed, epoch=epoch))
        return tuple(map(listed, lists))

    with undisturbed():
        all_shards = tuple(shards(epoch, seed) for epoch in EPOCHS)
        reseeds = reseeded(size - 1)
        other = () if seed is None else shards(0, seed + 70)
        wider = () if seed is None else shards(EPOCHS[-1], seed, size + 1, "keep")
        again = shards(0, seed)
        return ShardsOutcome(count, size, uneven, seed, all_shards, again, other, wider, reseeds)


def seed_all(rank: int) -> None:
    """Give a rank random numbers of its own."""
    torch.default_generator.manual_seed(1000 + rank)
    random.seed(1000 + rank)
    np.random.seed(1000 + rank)


def reseeded(rank: int) -> str:
    """Whose own generator has been used since it was seeded for a rank; "" if nobody's."""
    if torch.default_generator.initial_seed() != 1000 + rank:
        return "torch"
    if random.getstate() != random.Random(1000 + rank).getstate():
        return "Python"
    fresh = np.random.RandomState(1000 + rank).get_state(legacy=False)["state"]["key"]
    used = np.random.get_state(legacy=False)["state"]["key"]
    return "" if np.array_equal(used, fresh) else "NumPy"


def listed(shard: Any) -> Any:
    """A shard as a list of whole numbers; None as it is, and in words what else was given."""
    if shard is None:
        return None
    if isinstance(shard, list | tuple | range):
        numbers = [index.item() if hasattr(index, "item") else index for index in shard]
        if all(isinstance(index, int) and not isinstance(index, bool) for index in numbers):
            return numbers
    return shown(shard)


def first_epoch(answer: Answer, count: int, size: int, uneven: str, seed: int) -> Shards:
    """All ranks' shards of epoch 0, made in the process that calls."""
    shards = (answer(count, r, size, uneven=uneven, seed=seed, epoch=0) for r in range(size))
    return tuple(map(listed, shards))


@where_it_runs
def _in_another_process(answer: Answer, *work: Any) -> Shards | None:
    """All ranks' shards of epoch 0, made in a process of its own; None if it cannot make them."""

    def start(seconds: float) -> list[Shards]:
        return launch(first_epoch, 1, answer, *work, timeout=seconds, backend="gloo")

    try:
        ranks = on_real_ranks(start, answer)  # what they wait for a core is not the answer's time
    except BadInput:
        return None  # it cannot travel: nothing is known then
    return None if isinstance(ranks, RankFailure) else ranks[0]


def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked: the same order in every process."""
    if not hasattr(os, "fork"):
        return None
    here = next(outcome for outcome in outcomes if outcome.seed is not None)
    there = _in_another_process(answer, here.count, here.size, here.uneven, here.seed)
    return None if there in (None, here.shards[0]) else ANOTHER_PROCESS


def difference(got: ShardsOutcome, want: ShardsOutcome) -> str | None:
    for epoch, shards in zip(EPOCHS, got.shards, strict=True):
        for rank, shard in enumerate(shards):
            if shard is None:
                return NOTHING
            if not isinstance(shard, list):
                return f"it returns {shard}, expected a list of whole numbers"
            if sentence := _misses(got, rank, shard, want.shards[epoch][rank]):
                return f"in epoch {epoch}, {sentence}"
    if got.seed is None:
        return None
    members = {str([sorted(shard) for shard in shards]) for shards in got.shards}
    if got.count >= MANY and len(members) == 1 and len(set(map(str, got.shards))) > 1:
        return (
            "each rank sees the same samples in every epoch, in another order: shuffle the list "
            "of all samples, and deal out then"
        )
    for epoch, shards in zip(EPOCHS, got.shards, strict=True):
        if sentence := _order_fault(got, shards):
            return f"in epoch {epoch}, {sentence}"
    return _shuffling(got) if got.count >= MANY else None


def _shuffling(got: ShardsOutcome) -> str | None:
    """What is wrong with the orders of the epochs, each of which has every sample once."""
    orders = [_interleaved(shards)[: got.count] for shards in got.shards]
    if orders[0] == list(range(len(orders[0]))):
        return "nothing is shuffled, though there is a seed"
    for epoch, order in zip(EPOCHS, orders, strict=True):
        if 2 * sum(map(operator.eq, order, range(got.count))) >= got.count:
            return (
                f"in epoch {epoch}, half of the samples and more are where they were: shuffle all"
            )
        steps = [one < other for one, other in itertools.pairwise(order)]
        if not 0.1 <= sum(steps) / len(steps) <= 0.9:
            return f"in epoch {epoch}, the list runs up or down nearly all the way: shuffle it"
    if got.again != got.shards[0]:
        return "epoch 0 has another order when it is asked for again"
    if len(set(map(str, orders))) < len(EPOCHS):
        return "two epochs have the same order: is epoch used?"
    for epoch, order in zip(EPOCHS, orders, strict=True):
        for turned in (order, order[::-1]):
            if any(turned[n:] + turned[:n] in orders[:epoch] for n in range(len(turned))):
                return (
                    f"epoch {epoch} has the order of one before, begun elsewhere or turned "
                    f"round: shuffle anew"
                )
    if got.other == got.shards[0]:
        return "another seed gives the same order: is seed used?"
    cut = [frozenset(range(got.count)).difference(order) for order in orders]
    if cut[0] and len(set(cut)) == 1:
        return (
            f"samples {_listing(sorted(cut[0]))} are dropped in every epoch, so that no rank ever "
            f"sees them: shuffle first, then cut off the end"
        )
    more = _interleaved(got.wider)
    if any(map(operator.ne, orders[-1], more)):
        return (
            f"{got.size} ranks and {got.size + 1} deal from lists in different orders, with one "
            f"seed and epoch: the number of ranks must make no difference to the order"
        )
    if got.reseeds:
        return (
            f"it seeds {got.reseeds}'s own generator, whose numbers all else uses: make one, such "
            f"as torch.Generator()"
        )
    return None


def _misses(got: ShardsOutcome, rank: int, shard: list[int], want: list[int]) -> str | None:
    """What is wrong with one shard: its length, or where nothing is shuffled, its samples."""
    if got.seed is None and shard != want:
        block = len(shard) > 1 and shard == list(range(shard[0], shard[0] + len(shard)))
        kind = " (a block: the ranks should take turns)" if block else ""
        return f"rank {rank} sees {_listing(shard)}{kind}, expected {_listing(want)}"
    if len(shard) != len(want):
        return f"rank {rank} sees {len(shard)} samples, expected {len(want)}"
    strange = next((sample for sample in shard if not 0 <= sample < got.count), None)
    if strange is not None:
        return f"rank {rank} sees sample {strange}, and there are {got.count}, from 0"
    return None


def _order_fault(got: ShardsOutcome, shards: Shards) -> str | None:
    """What is wrong with the list that ranks take turns to take from."""
    order = _interleaved(shards)
    first = order[: got.count]
    if len(order) > got.count and len(set(first)) < got.count:
        padded = Counter(place % got.count for place in range(len(order)))
        if Counter(order) == padded:
            return (
                "the padded list is shuffled: shuffle the samples first, then repeat the "
                "beginning of what comes out"
            )
    twice = next((sample for place, sample in enumerate(first) if sample in first[:place]), None)
    if twice is not None:
        ranks = [rank for rank, shard in enumerate(shards) for sample in shard if sample == twice]
        return (
            f"sample {twice} is seen twice, by ranks {ranks[0]} and {ranks[1]}: do all ranks make "
            f"the same list?"
        )
    extra = order[got.count :]
    begin = [order[place % got.count] for place in range(len(extra))]
    if extra != begin:
        return f"it is padded with samples {_listing(extra)}, expected {_listing(begin)}"
    return None


def _interleaved(shards: Shards) -> list[int]:
    """The list that was dealt out to these ranks, as far as all are lists."""
    rounds = max((len(shard) for shard in shards if isinstance(shard, list)), default=0)
    return [
        shard[turn]
        for turn in range(rounds)
        for shard in shards
        if isinstance(shard, list) and turn < len(shard)
    ]


def _listing(numbers: list[int]) -> str:
    return str(numbers) if len(numbers) <= 8 else f"[{', '.join(map(str, numbers[:8]))}, …]"


EXERCISE = Exercise(
    task="List the samples that one rank sees in one epoch: the same order on all, dealt out.",
    reference=shard_indices,
    cases=cases,
    run=run,
    difference=difference,
    demand=demand,
    kinships=(operator.eq,),
)
