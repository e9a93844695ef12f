"""How an answer is tried on ranks: on simulated ones first, then on real ones.

A simulated deadlock is seen at once and a real one after seconds, so an answer that is wrong on
simulated ranks never meets real ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from gpulearn.checker.answers import Answer
from gpulearn.checker.exercise import TooLong
from gpulearn.checker.rank_endings import Ending, ending
from gpulearn.checker.stubs import unwrapped
from gpulearn.errors import RankError
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.simulate.simulate import simulate
from gpulearn.parallel.simulate.simulation import Simulation

__all__ = ["REAL_SECONDS", "demand_on_real_ranks", "on_simulated_ranks", "plain", "watched"]

QUIET_SECONDS = 2.0  # that a simulated rank may run without speaking to another
REAL_SECONDS = 5.0  # that a real rank waits for another

Work = TypeVar("Work")
Act = Callable[[Answer, Any], Any]  # be one rank: call the answer, and say what came of it


def on_simulated_ranks(act: Act, count: int, answer: Answer, work: Any) -> Simulation[Any] | Ending:
    """Let each simulated rank act; how the answer ended, if not as it should.

    Raises:
        TooLong: a rank runs on and on.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return simulate(act, count, answer, work, timeout=QUIET_SECONDS)
    except RankError as error:
        end = ending(error, answer)
        if end.kind == "endless":
            raise TooLong(end.said) from None
        return end
    finally:
        torch.set_num_threads(threads)


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
        if not hasattr(os, "fork"):
            return None  # no real ranks here
        for count in counts:
            if sentence := _real(act, answer, works(count), count, judge):
                return f"right on simulated ranks, but on {count} real ones {sentence}."
        return None

    return demand


def _real(
    act: Act,
    answer: Answer,
    works: Sequence[Work],
    count: int,
    judge: Callable[[Work, list[Any]], str | None],
) -> str | None:
    try:
        ranks = launch(_act_often, count, act, answer, works, timeout=REAL_SECONDS, backend="gloo")
    except RankError as error:
        return ending(error, answer).said
    for number, work in enumerate(works):
        if sentence := judge(work, [outcomes[number] for outcomes in ranks]):
            return sentence
    return None


def _act_often(act: Act, answer: Answer, works: Sequence[Any]) -> list[Any]:
    """Be one real rank, for several works one after another."""
    return [act(answer, work) for work in works]


def plain(tensor: Tensor) -> np.ndarray:
    """A tensor's numbers, as they can travel and stay."""
    return tensor.detach().cpu().contiguous().numpy().copy()


@contextmanager
def watched(answer: Answer, files: Collection[str], names: Collection[str]) -> Iterator[set[str]]:
    """Notes which of the library's functions an answer calls; the library's own may.

    Args:
        answer: whose calls count.
        files: where the functions are defined.
        names: of the functions.
    """
    called: set[str] = set()
    code = getattr(unwrapped(answer), "__code__", None)
    if code is None or code.co_filename in files:
        yield called
        return

    def note(frame: Any, event: str, argument: Any) -> None:
        about = frame.f_code
        if event == "call" and about.co_filename in files and about.co_name in names:
            called.add(about.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)
