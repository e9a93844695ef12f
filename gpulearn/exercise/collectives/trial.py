"""Trial of an all-reduce: on simulated ranks, each message counted, then on real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.checker.answers import Answer
from gpulearn.checker.exercise import Case
from gpulearn.checker.ranks import Ending, demand_on_real_ranks, on_simulated_ranks, plain, watched
from gpulearn.parallel import allreduce, collectives
from gpulearn.parallel.communicator import rank

__all__ = [
    "KINSHIPS",
    "RanCollective",
    "Work",
    "expected",
    "on_real_ranks",
    "results",
    "simulated",
]

BESIDE = -77.0  # numbers beside the tensor, which nobody may touch
LIBRARY = (allreduce.__file__, collectives.__file__)
NAMES = {*allreduce.__all__, *collectives.__all__}


@dataclass(frozen=True)
class Work:
    """What the ranks are to add up.

    Attributes:
        ranks: how many ranks.
        shape: the shape of each rank's tensor.
        dtype: its dtype.
        layout: "plain"; "gaps", every second number of a longer row; "turned", a transpose.
    """

    ranks: int
    shape: tuple[int, ...]
    dtype: str = "float64"
    layout: str = "plain"

    @property
    def size(self) -> int:
        """Bytes of one tensor."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    def numbers(self, rank: int) -> np.ndarray:
        """What a rank starts with: whole numbers or halves, so that every sum is exact."""
        random = np.random.default_rng(1000 * self.ranks + rank)
        if self.dtype.startswith("int"):
            return random.integers(1, 100, self.shape).astype(self.dtype)
        return (random.integers(1, 200, self.shape) / 2).astype(self.dtype)

    def lay(self, rank: int) -> tuple[Tensor, Tensor]:
        """A rank's tensor, and the one in whose memory it lies."""
        numbers = torch.from_numpy(self.numbers(rank))
        if self.layout == "plain":
            return numbers, numbers
        if self.layout == "turned":
            around = torch.empty(self.shape[::-1], dtype=numbers.dtype)
            tensor = around.T
        else:
            around = torch.full((2 * len(numbers),), BESIDE).to(numbers.dtype)
            tensor = around[::2]
        tensor.copy_(numbers)
        return tensor, around


@dataclass(frozen=True)
class RanCollective:
    """What came of an answer on all ranks.

    Attributes:
        work: what was to be done.
        ending: how it ended, if not as it should.
        after: each rank's tensor at the end.
        returned: each rank's: the tensor that it returned if it is another one, or None.
        beside: whether each rank left the numbers beside its tensor alone.
        called: the library's collectives that it called.
        pairs: messages by (sender, receiver).
        messages: messages that each rank sent.
        bytes: bytes that each rank sent.
    """

    work: Work
    ending: Ending | None = None
    after: list[np.ndarray] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)
    beside: bool = True
    called: frozenset[str] = frozenset()
    pairs: tuple[tuple[tuple[int, int], int], ...] = ()
    messages: tuple[int, ...] = ()
    bytes: tuple[int, ...] = ()


def act(answer: Answer, work: Work) -> tuple[np.ndarray, Any, bool, frozenset[str]]:
    """Be one rank: lay out its tensor, let the answer reduce it, and look."""
    tensor, around = work.lay(rank())
    with watched(answer, LIBRARY, NAMES) as called:
        returned = answer(tensor)
    other = isinstance(returned, Tensor) and returned is not tensor
    beside = work.layout != "gaps" or bool((around[1::2] == BESIDE).all())
    return plain(tensor), plain(returned) if other else None, beside, frozenset(called)


def simulated(answer: Answer, case: Case) -> RanCollective:
    """Try an answer on simulated ranks.

    Raises:
        TooLong: a rank runs on and on.
    """
    work: Work = case.args[0]
    run = on_simulated_ranks(act, work.ranks, answer, work)
    if isinstance(run, Ending):
        return RanCollective(work, run)
    return RanCollective(
        work,
        None,
        [after for after, *_ in run.results],
        [returned for _, returned, *_ in run.results],
        all(beside for _, _, beside, _ in run.results),
        frozenset().union(*(called for *_, called in run.results)),
        tuple(sorted(run.messages.items())),
        tuple(run.messages_sent),
        tuple(run.bytes_sent),
    )


def expected(case: Case) -> RanCollective:
    """What should come out of a case; what it may cost is for each exercise to say."""
    work: Work = case.args[0]
    total = np.sum([work.numbers(rank) for rank in range(work.ranks)], axis=0)
    return RanCollective(work, after=[total.astype(work.dtype)] * work.ranks)


def results(got: RanCollective, wanted: RanCollective) -> str | None:
    """One sentence on what is wrong with the numbers, whatever they cost; or None."""
    if got.ending:
        return got.ending.said
    if got.called:
        names = " and ".join(sorted(got.called))
        return f"it calls the library's {names}: write it from send, recv and sendrecv"
    if sentence := _numbers(got, wanted):
        return sentence
    return None if got.beside else "it writes to memory beside the tensor"


def _numbers(got: RanCollective, wanted: RanCollective) -> str | None:
    for rank_, (found, total) in enumerate(zip(got.after, wanted.after, strict=True)):
        if found.shape != total.shape or found.dtype != total.dtype:
            return (
                f"rank {rank_} ends with {found.dtype} of shape {found.shape}, expected "
                f"{total.dtype} of shape {total.shape}"
            )
        wrong = np.argwhere(~(found == total))
        if not len(wrong):
            continue
        other = got.returned[rank_]
        if other is not None and np.array_equal(other, total):
            return "it returns the sums in a new tensor: write them into the one that it is given"
        first = tuple(int(i) for i in wrong[0])
        where = ", ".join(map(str, first))
        return (
            f"on rank {rank_}, {len(wrong)} of {total.size} numbers are wrong, first [{where}]: "
            f"{found[first]:g}, expected {total[first]:g}"
        )
    return None


def on_real_ranks(counts: Sequence[int], works: Callable[[int], Sequence[Work]]) -> Any:
    """A demand on an answer that is right on simulated ranks: to be right on real ones too."""
    return demand_on_real_ranks(act, counts, works, _judge)


def _judge(work: Work, runs: list[Any]) -> str | None:
    got = RanCollective(work, after=[run[0] for run in runs], returned=[run[1] for run in runs])
    return _numbers(got, expected(Case("", (work,))))


def same_way(one: Any, other: Any) -> bool:
    """Whether two outcomes are the same, down to each rank's messages and bytes."""
    ways = [(ran.pairs, ran.messages, ran.bytes) for ran in (one, other)]
    return ways[0] == ways[1] and same_numbers(one, other)


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two outcomes end with the same numbers, or in the same failure.

    Where the numbers are right it is the messages that count, however the chunks are dealt out.
    """
    if one.ending or other.ending:
        return bool(one.ending == other.ending)
    if bool(one.called) != bool(other.called):
        return False
    if _right(one) and _right(other):
        return bool(one.pairs == other.pairs and sum(one.bytes) == sum(other.bytes))
    return all(map(_close, (*one.after, *one.returned), (*other.after, *other.returned)))


def same_floats(one: Any, other: Any) -> bool:
    """The same, where integers may fail in a way of their own: when they are divided, say."""
    return one.work.dtype.startswith("int") or same_numbers(one, other)


KINSHIPS = (same_way, same_numbers, same_floats)


def _right(ran: RanCollective) -> bool:
    return _numbers(ran, expected(Case("", (ran.work,)))) is None


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape:
        return False
    return bool(np.allclose(one, other, rtol=1e-6, equal_nan=True))
