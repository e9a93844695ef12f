"""Trial of an all-reduce: on simulated ranks, each message counted, then on real ones."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import (
    RankFailure,
    demand_on_real_ranks,
    on_simulated_ranks,
    plain,
    watched,
)
from gpulearn.parallel import allreduce, collectives
from gpulearn.parallel.communicator import rank
from gpulearn.parallel.links import as_link
from gpulearn.perf.timing import format_seconds

LINK = "100 Gbit"  # between simulated ranks
PADDING = -77.0  # numbers beside the tensor, which nobody may touch


@dataclass(frozen=True)
class Work:
    """What the ranks are to add up."""

    ranks: int  # how many ranks
    shape: tuple[int, ...]  # the shape of each rank's tensor
    dtype: str = "float64"  # its dtype
    # "plain"; "gaps", every second number of a longer row; "turned", a transpose
    layout: str = "plain"
    # "few", whole numbers or halves below 100; "wide", numbers that fit in no smaller dtype;
    # "digits", 10^r times 1, 2, 3 … on rank r, so that a wrong sum says whose numbers are missing
    # or there twice
    kind: str = "few"

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    def numbers(self, rank: int) -> Any:
        """What a rank starts with; every sum is exact in the dtype."""
        if self.kind == "digits":
            places = np.arange(1, 1 + np.prod(self.shape)).reshape(self.shape)
            return np.asarray((10**rank * places).astype(self.dtype))
        random = np.random.default_rng(1000 * self.ranks + rank)
        if self.kind == "wide":
            numbers = random.integers(1, 100, self.shape).astype(self.dtype)
            if self.dtype == "float32":
                return np.asarray(numbers * np.float32(2.0**90))
            numbers *= 2**40 + 1
            if self.dtype == "float64":
                numbers.flat[::2] = np.round(numbers.flat[::2] / (2**40 + 1)) * 2.0**100
            return np.asarray(numbers)
        signs = random.choice([-1, 1], self.shape)
        if self.dtype.startswith("int"):
            return np.asarray((signs * random.integers(1, 100, self.shape)).astype(self.dtype))
        return np.asarray((signs * random.integers(1, 200, self.shape) / 2).astype(self.dtype))

    @property
    def ends(self) -> list[np.ndarray]:
        """What the ranks are to end with: the sum over all."""
        total = np.sum([self.numbers(r) for r in range(self.ranks)], axis=0)
        return [np.asarray(total.astype(self.dtype))] * self.ranks

    def lay(self, rank: int) -> tuple[Tensor, Tensor]:
        """A rank's tensor, and the one in whose memory it lies."""
        numbers = torch.from_numpy(self.numbers(rank))
        if self.layout == "plain":
            return numbers, numbers
        if self.layout == "turned":
            around = torch.empty(self.shape[::-1], dtype=numbers.dtype)
            tensor = around.T
        else:
            around = torch.full((2 * len(numbers),), PADDING).to(numbers.dtype)
            tensor = around[::2]
        tensor.copy_(numbers)
        return tensor, around


@dataclass(frozen=True)
class CollectiveOutcome:
    work: Work  # what was to be done
    failure: RankFailure | None = None  # how it failed, if it did
    after: list[np.ndarray] = field(default_factory=list)  # each rank's tensor at the end
    # each rank's: the tensor that it returned if it is another one, or None
    returned: list[Any] = field(default_factory=list)
    beside: bool = True  # whether each rank left the numbers beside its tensor alone
    called: frozenset[str] = frozenset()  # the library's collectives that it called
    pairs: tuple[tuple[tuple[int, int], int], ...] = ()  # messages by (sender, receiver)
    messages: tuple[int, ...] = ()  # messages that each rank sent
    bytes: tuple[int, ...] = ()  # bytes that each rank sent
    seconds: float = 0.0  # on the simulated clock, until the last rank had ended


def act(answer: Answer, work: Work) -> tuple[np.ndarray, Any, bool, frozenset[str]]:
    """Be one rank: lay out its tensor, let the answer reduce it, and look."""
    tensor, around = work.lay(rank())
    memory = tensor.detach()  # the same, whatever becomes of the tensor that is handed over
    with watched(answer, allreduce, collectives) as called:
        returned = answer(tensor)
    other = isinstance(returned, Tensor) and returned is not tensor
    beside = work.layout != "gaps" or bool((around[1::2] == PADDING).all())
    return plain(memory), plain(returned) if other else None, beside, frozenset(called)


def simulated(answer: Answer, case: Case) -> CollectiveOutcome:
    work: Work = case.args[0]
    run = on_simulated_ranks(act, work.ranks, answer, work)
    if isinstance(run, RankFailure):
        return CollectiveOutcome(work, run)
    after, returned, beside, called = map(list, zip(*run.results, strict=True))
    pairs = tuple(sorted(run.messages.items()))
    return CollectiveOutcome(
        work, None, after, returned, all(beside), frozenset().union(*called), pairs,
        tuple(run.messages_sent), tuple(run.bytes_sent), run.seconds,
    )  # fmt: skip


def expected(case: Case) -> CollectiveOutcome:
    """What should come out of a case; what it may cost is for each exercise to say."""
    work: Work = case.args[0]
    return CollectiveOutcome(work, after=work.ends)


def results(got: CollectiveOutcome, want: CollectiveOutcome) -> str | None:
    """One sentence on what is wrong with the numbers, whatever they cost; or None."""
    if got.failure:
        return got.failure.sentence
    if got.called:
        names = " and ".join(sorted(got.called))
        return f"it calls the library's {names}: write it from send, recv and sendrecv"
    if sentence := _wrong_numbers(got):
        return sentence
    return None if got.beside else "it writes to memory beside the tensor"


def _wrong_numbers(got: CollectiveOutcome) -> str | None:
    for rank_, (values, total) in enumerate(zip(got.after, got.work.ends, strict=True)):
        if values.shape != total.shape or values.dtype != total.dtype:
            return (
                f"rank {rank_} ends with {values.dtype} of shape {values.shape}, expected "
                f"{total.dtype} of shape {total.shape}"
            )
        wrong = np.argwhere(~(values == total))
        if not len(wrong):
            continue
        other = got.returned[rank_]
        if other is not None and np.array_equal(other, total):
            return "it returns the result in a new tensor: write it into the one that it is given"
        first = tuple(int(i) for i in wrong[0])
        where = ", ".join(map(str, first))
        form = "d" if total.dtype.kind == "i" else ".12g"
        start = "with 10^r times 1, 2, 3 … on rank r: " if got.work.kind == "digits" else ""
        return (
            f"{start}on rank {rank_}, {len(wrong)} of {total.size} numbers are wrong, first "
            f"[{where}]: {values[first]:{form}}, expected {total[first]:{form}}"
            f"{_whose(got.work, values[first], total[first])}"
        )
    return None


def _whose(work: Work, value: Any, total: Any) -> str:
    """Whose numbers are missing in a sum or there too often, where the digits say it."""
    place, rest = divmod(float(total), sum(10**r for r in range(work.ranks)))
    if work.kind != "digits" or rest or not np.isfinite(value) or value % place or value < 0:
        return ""
    counts = [int(value // place) // 10**r % 10 for r in range(work.ranks)]
    if sum(10**r * count for r, count in enumerate(counts)) * place != value:
        return ""
    missing = [str(r) for r, count in enumerate(counts) if not count]
    often = [str(r) for r, count in enumerate(counts) if count > 1]
    faults = ((missing, "missing"), (often, "in it more than once"))
    parts = [f"of rank {' and '.join(ranks)} are {what}" for ranks, what in faults if ranks]
    return f" (the numbers {', '.join(parts)})" if parts else ""


def beyond_a_neighbor(got: CollectiveOutcome) -> str | None:
    """One sentence if a rank sends to several others, as none does in a ring, or None."""
    targets: dict[int, set[int]] = {}
    for (source, target), _ in got.pairs:
        targets.setdefault(source, set()).add(target)
    for sender, others in targets.items():
        if len(others) > 1:
            listed = ", ".join(map(str, sorted(others)))
            return f"rank {sender} sends to ranks {listed}: in a ring each sends to one neighbor"
    return None


def slow(got: CollectiveOutcome, rounds: int, size: int) -> str | None:
    """One sentence if it took longer than so many messages of a size one after another, or None."""
    needed = rounds * as_link(LINK).seconds(size)
    if got.seconds <= 1.05 * needed:
        return None
    return (
        f"the numbers are right, but it takes {format_seconds(got.seconds)} on the simulated "
        f"clock, where {format_seconds(needed)} are enough: ranks that could send at the same time "
        f"wait for one another"
    )


def on_real_ranks(counts: Sequence[int], works: Callable[[int], Sequence[Work]]) -> Any:
    """A demand on an answer that is right on simulated ranks: to be right on real ones too.

    The first work comes twice: nothing may be left of an earlier call.
    """
    return demand_on_real_ranks(act, counts, lambda n: [works(n)[0], *works(n)], _judge)


def _judge(work: Work, runs: list[Any]) -> str | None:
    after, returned, *_ = map(list, zip(*runs, strict=True))
    return _wrong_numbers(CollectiveOutcome(work, after=after, returned=returned))


def same_way(one: Any, other: Any) -> bool:
    """Whether two outcomes are the same, down to each rank's messages and bytes, and the clock."""
    ways = [(ran.pairs, ran.messages, ran.bytes, f"{ran.seconds:.6e}") for ran in (one, other)]
    return ways[0] == ways[1] and same_numbers(one, other)


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two outcomes end with the same numbers, or in the same failure.

    Where the numbers are right it is the messages that count, however the chunks are dealt out.
    """
    if one.failure or other.failure:
        return bool(one.failure == other.failure)
    if bool(one.called) != bool(other.called):
        return False
    if not _wrong_numbers(one) and not _wrong_numbers(other):
        same_time = math.isclose(one.seconds, other.seconds, rel_tol=0.01)
        return bool(one.pairs == other.pairs and sum(one.bytes) == sum(other.bytes) and same_time)
    return all(map(_close, (*one.after, *one.returned), (*other.after, *other.returned)))


def same_floats(one: Any, other: Any) -> bool:
    """The same, where integers may fail in a way of their own: when they are divided, say."""
    return one.work.dtype.startswith("int") or same_numbers(one, other)


KINSHIPS = (same_way, same_numbers, same_floats)


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape:
        return False
    digits = 1e-9 if one.dtype.itemsize == 8 else 1e-6
    return bool(np.allclose(one, other, rtol=digits, atol=1e-6, equal_nan=True))
