"""Trial of an answer that averages weights over ranks: simulated ones first, then real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import told_apart
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import (
    RankFailure,
    failed_alike,
    failed_the_same,
    on_simulated_ranks,
    plain,
    watched,
)
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks
from gpulearn_lessons.parameter_server.server import local_steps


class RankWork(Protocol):
    """What the ranks do with an answer."""

    @property
    def ranks(self) -> int:
        """How many."""

    def weights(self, rank: int) -> Tensor:
        """A rank's own, at the start."""

    def call(self, answer: Answer, rank: int, weights: Tensor) -> Any:
        """Call the answer as this rank."""

    def end(self) -> Sequence[np.ndarray]:
        """What each rank's weights should be."""

    def too_much(self, sent: Sequence[int]) -> str | None:
        """One sentence if the ranks have sent more bytes than they need, or None."""


@dataclass(frozen=True)
class WeightsOutcome:
    """An answer's outcome on all ranks."""

    failure: RankFailure | None = None  # how it failed, if it did
    after: list[np.ndarray] = field(default_factory=list)  # each rank's weights at the end
    # what each rank returned: "weights", "nothing", or other numbers
    returned: list[Any] = field(default_factory=list)
    called: bool = False  # whether it calls the library's function instead of being one
    # what was sent for nothing, in one sentence; seen on simulated ranks
    too_much: str | None = None


def act(answer: Answer, work: RankWork) -> tuple[np.ndarray, Any, bool]:
    weights = work.weights(rank())
    with watched(answer, local_steps) as called:
        returned = work.call(answer, rank(), weights)
    if returned is weights:
        result: Any = "weights"
    elif isinstance(returned, Tensor):
        result = plain(returned)
    else:
        result = "nothing"
    return plain(weights), result, bool(called)


def simulated(answer: Answer, case: Case) -> WeightsOutcome:
    work: RankWork = case.args[0]
    with torch_on_simulated_ranks():
        run = on_simulated_ranks(act, work.ranks, answer, work)
    if isinstance(run, RankFailure):
        return WeightsOutcome(run)
    return _gathered(run.results, work.too_much(run.bytes_sent))


def _gathered(ranks: Sequence[Any], too_much: str | None = None) -> WeightsOutcome:
    after, returned, called = zip(*ranks, strict=True)
    return WeightsOutcome(None, list(after), list(returned), any(called), too_much)


def expected(case: Case) -> WeightsOutcome:
    work: RankWork = case.args[0]
    return WeightsOutcome(None, list(work.end()), ["weights"] * work.ranks)


def difference(got: WeightsOutcome, want: WeightsOutcome) -> str | None:
    if got.failure:
        return got.failure.sentence
    if got.called:
        return "it calls the library's function: write it from sum_over_ranks"
    for number, (value, right) in enumerate(zip(got.after, want.after, strict=True)):
        if not _close(value, right):
            place = tuple(int(i) for i in np.argwhere(~_near(value, right))[0])
            other = got.returned[number]
            if (
                isinstance(other, np.ndarray)
                and other.shape == right.shape
                and _close(other, right)
            ):
                return "it returns the right weights in a new tensor: change the given one in place"
            where = f"[{', '.join(map(str, place))}]" if place else ""
            numbers = told_apart(value[place], right[place])
            return f"rank {number} ends with weights{where} = {numbers}"
    for number, result in enumerate(got.returned):
        if isinstance(result, str) and result == "nothing":
            return f"rank {number} returns no tensor: return the weights"
        if isinstance(result, np.ndarray) and not _close(result, want.after[number]):
            return f"rank {number} returns other numbers than its weights: return the weights"
    return got.too_much


def judge(work: RankWork, ranks: list[Any]) -> str | None:
    return difference(_gathered(ranks), expected(Case("", (work,))))


def _same_numbers(one: WeightsOutcome, other: WeightsOutcome) -> bool:
    if (one.called, one.too_much) != (other.called, other.too_much):
        return False
    pairs = zip([*one.after, *one.returned], [*other.after, *other.returned], strict=True)
    return all(_alike(a, b) for a, b in pairs)


KINSHIPS = (failed_the_same(_same_numbers), failed_alike(_same_numbers))


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    return one.shape == other.shape and _close(one, other)


def _near(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    # a share that was computed in float32 is right, too
    digits = 1e-5 if other.dtype == np.float32 else 1e-6
    size = np.abs(other[np.isfinite(other)]).max(initial=0)
    return np.asarray(np.isclose(one, other, rtol=0, atol=digits * (1 + size), equal_nan=True))


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and bool(_near(one, other).all())
