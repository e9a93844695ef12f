"""Answers that run on ranks: tried on simulated ones first, then on real ones.

A simulated deadlock is seen at once and a real one after seconds, so an answer that is wrong on
simulated ranks never meets real ones.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from gpulearn.errors import RankError
from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.exercise import TooLong
from gpulearn.judge.isolation import layers, told_of_calls
from gpulearn.judge.limits import waiting_elsewhere
from gpulearn.judge.stubs import unwrapped
from gpulearn.judge.trial import in_line
from gpulearn.parallel.launch.forkserver import processes
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.simulate.simulate import simulate
from gpulearn.parallel.simulate.simulation import Simulation
from gpulearn.require import shorten
from simt.device.selection import waited_seconds

QUIET_SECONDS = 5.0  # that a simulated rank may run without speaking to another
REAL_SECONDS = 5.0  # that a real rank waits for another
PATIENT_SECONDS = 25.0  # the same where that was too short, for a busy machine

Work = TypeVar("Work")
Returns = TypeVar("Returns")
Kinship = Callable[[Any, Any], bool]  # whether two outcomes have one cause
Act = Callable[[Answer, Any], Any]  # be one rank: call the answer, and say what came of it

MAX_LISTED = 4  # waiting ranks


def on_simulated_ranks(
    act: Act, count: int, answer: Answer, work: Any
) -> Simulation[Any] | RankFailure:
    """Let each simulated rank act; how the answer fails, if it does."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return simulate(act, count, answer, work, timeout=QUIET_SECONDS)
    except RankError as error:
        failure = rank_failure(error, answer)
        if failure.kind == "endless":
            raise TooLong(failure.sentence) from None
        return failure
    finally:
        torch.set_num_threads(threads)


_waited: dict[int, float] = {}  # by process; what has ended counts on


def ranks_wait() -> float:
    """The seconds that this process's real ranks and their server have waited for a core so far."""
    for pid in processes():
        _waited[pid] = max(_waited.get(pid, 0.0), waited_seconds(pid, pid))
    return sum(_waited.values())


def on_real_ranks(
    start: Callable[[float], list[Returns]], answer: Answer
) -> list[Returns] | RankFailure:
    """What real ranks return, or how the answer fails.

    `start` launches ranks that wait for each other for so many seconds. A rank that waits too long
    may wait for one that has no core to run on. So the ranks then start once more, with far more
    patience: a deadlock is one again, whatever else the machine does.
    """
    if ranks_wait not in waiting_elsewhere:
        waiting_elsewhere.append(ranks_wait)
    for seconds in (REAL_SECONDS, PATIENT_SECONDS):
        try:
            return start(seconds)
        except RankError as error:
            failure = rank_failure(error, answer)
        if failure.kind != "deadlock":
            break
    return failure


def demand_on_real_ranks(
    act: Act,
    counts: Sequence[int],
    works: Callable[[int], Sequence[Work]],
    judge: Callable[[Work, list[Any]], str | None],
) -> Callable[[Answer, Sequence[Any]], str | None]:
    """A demand on an answer that is right on simulated ranks: to be right on real ones too.

    Args:
        act: what a rank does with one work.
        counts: how many ranks there are, one launch after another.
        works: for so many ranks, what they do one after another.
        judge: one sentence on what the ranks made of a work, or None.
    """

    def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
        for count in counts if hasattr(os, "fork") else ():  # else there are no real ranks
            todo = works(count)
            ranks = _acted(answer, count, act, todo)
            if isinstance(ranks, RankFailure):
                sentences: Iterable[str | None] = [ranks.sentence]
            else:
                by_work = zip(todo, *ranks, strict=True)
                sentences = (judge(work, results) for work, *results in by_work)
            for sentence in filter(None, sentences):
                return f"right on simulated ranks, but on {count} real ones {sentence}."
        return None

    return demand


@where_it_runs
def _acted(answer: Answer, count: int, act: Act, works: Sequence[Any]) -> list[Any] | RankFailure:
    """What real ranks return, of each the results of all works."""

    def start(seconds: float) -> list[Any]:
        ranks = launch(_act_often, count, act, answer, works, timeout=seconds, backend="gloo")
        return list(ranks)  # what is graded apart travels as plain data

    return on_real_ranks(start, answer)


def _act_often(act: Act, answer: Answer, works: Sequence[Any]) -> list[Any]:
    """Be one real rank, for several works one after another."""
    return [act(answer, work) for work in works]


def apart(number: int, weights: np.ndarray, first: np.ndarray) -> str | None:
    """One sentence on a replica whose weights are not rank 0's to the bit, or None."""
    if np.array_equal(weights, first):
        return None
    away = np.linalg.norm(weights - first) / np.linalg.norm(first)
    return (
        f"at the end the weights of rank {number} and rank 0 differ by {away:.2g}, relative to "
        f"their length; they should be equal to the bit"
    )


def plain(tensor: Tensor) -> np.ndarray:
    """A tensor's numbers, as they can travel and stay."""
    return tensor.detach().cpu().contiguous().numpy().copy()


@contextmanager
def watched(answer: Answer, *library: Callable[..., Any] | ModuleType) -> Iterator[set[str]]:
    """Notes which of the library's functions an answer calls; what those call is theirs.

    In `library` a module stands for the functions that it makes public.
    """
    called: set[str] = set()
    public = [getattr(m, name) for m in library if isinstance(m, ModuleType) for name in m.__all__]
    codes = [stack[-1].__code__ for function in (*library, *public) if (stack := layers(function))]
    places = {(code.co_filename, code.co_name) for code in codes}
    code = getattr(unwrapped(answer), "__code__", None)
    if code is None or code.co_filename in {file for file, _ in places}:
        yield called
        return

    def note(frame: FrameType) -> None:
        outer = frame.f_back
        while outer is not None:
            if (outer.f_code.co_filename, outer.f_code.co_name) in places:
                return  # one of those functions calls another
            outer = outer.f_back
        called.add(frame.f_code.co_name)

    with told_of_calls(codes, note):
        yield called


@dataclass(frozen=True)
class RankFailure:
    """How ranks failed; two are equal when they are of one kind and the same ranks wait."""

    kind: str  # "deadlock", "endless", the name of an exception, or what it is about
    sentence: str = field(compare=False)  # without its full stop
    # in a deadlock of simulated ranks, who sends to or receives from whom, after how many messages
    waits: frozenset[tuple[int, str, int]] = frozenset()
    messages: int = 0


def failed_alike(same: Kinship) -> Kinship:
    """A comparison of outcomes with a `failure`: failures by their kind, all others by `same`."""

    @functools.wraps(same)
    def compared(one: Any, other: Any) -> bool:
        if one.failure or other.failure:
            return bool(one.failure and other.failure and one.failure.kind == other.failure.kind)
        return same(one, other)

    return compared


def failed_the_same(same: Kinship) -> Kinship:
    """The same, and of failures also who waits for whom."""
    alike = failed_alike(same)
    return lambda one, other: one.failure == other.failure and alike(one, other)


def rank_failure(error: RankError, answer: Answer) -> RankFailure:
    """What a launcher's error says of an answer."""
    named = re.findall(r"line (\d+), in (\w+)", str(error))
    where = in_line(answer, [("", int(line), function) for line, function in named])
    if error.waits is not None:
        return _deadlock(error, error.waits)
    if error.kind == "deadlock":
        # a rank that fails of itself is named before those that waited for it
        return RankFailure("deadlock", f"it is a deadlock: rank {error.rank} waits forever{where}")
    if error.kind:
        message = shorten(error.message.rstrip("."), 160)
        sentence = f"rank {error.rank} raises {error.kind}{where}" + f": {message}" * bool(message)
        return RankFailure(error.about or error.kind, sentence)
    first = str(error).partition("\n")[0]
    return RankFailure(error.about or first, shorten(first.rstrip("."), 160))


def _deadlock(error: RankError, waits: Sequence[tuple[int, str, int, bool]]) -> RankFailure:
    parts, who = [], set()
    for rank, verb, peer, ended in waits:
        if not verb.endswith("any of"):
            parts.append(f"rank {rank} {verb} rank {peer}" + ", which has ended" * ended)
            who.add((rank, verb, peer))
    if len(parts) > MAX_LISTED:
        parts[MAX_LISTED:] = [f"{len(parts) - MAX_LISTED} more wait"]
    listed = "; ".join(parts) or "all ranks wait"
    return RankFailure("deadlock", f"it is a deadlock: {listed}", frozenset(who), error.messages)
