"""Trial of an answer that averages weights over ranks: simulated ones first, then real ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import told_apart
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import plain, watched
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, alike, rank_exercise
from gpulearn_lessons.parameter_server.server import local_steps


@dataclass(frozen=True)
class AveragedWeights:
    """What a rank has after an answer has averaged."""

    weights: np.ndarray
    returned: Any  # "weights", "nothing", or other numbers
    called: bool = False  # whether the answer calls the library's function instead of being one


def act(answer: Answer, work: Any) -> AveragedWeights:
    weights = work.weights(rank())
    memory = weights.detach()  # what others see who hold the same tensor
    with watched(answer, local_steps) as called:
        returned = work.call(answer, rank(), weights)
    if returned is weights and weights.data_ptr() == memory.data_ptr():
        result: Any = "weights"
    elif isinstance(returned, Tensor):
        result = plain(returned)
    else:
        result = "nothing"
    return AveragedWeights(plain(memory), result, bool(called))


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    if any(own.called for own in got.ranks):
        return "it calls the library's function: write it from sum_over_ranks"
    for number, (own, target) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        value, right = own.weights, target.weights
        if not _close(value, right):
            if isinstance(own.returned, np.ndarray) and _close(own.returned, right):
                return "it returns the right weights in a new tensor: change the given one in place"
            place = tuple(int(i) for i in np.argwhere(~_near(value, right))[0])
            where = f"[{', '.join(map(str, place))}]" if place else ""
            numbers = told_apart(value[place], right[place])
            return f"rank {number} ends with weights{where} = {numbers}"
    for number, (own, target) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        if isinstance(own.returned, np.ndarray) and not _close(own.returned, target.weights):
            return f"rank {number} returns other numbers than its weights: return the weights"
        if not isinstance(own.returned, np.ndarray) and own.returned == "nothing":
            return f"rank {number} returns no tensor: return the weights"
    return too_much(got)


def too_much(got: RanksOutcome) -> str | None:
    sentence: str | None = got.work.too_much(got.sent)
    return sentence


def same(one: RanksOutcome, other: RanksOutcome) -> bool:
    return alike(one.ranks, other.ranks, 1e-5) and too_much(one) == too_much(other)


def _near(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    # a share that was computed in float32 is right, too
    digits = 1e-5 if other.dtype == np.float32 else 1e-6
    size = np.abs(other[np.isfinite(other)]).max(initial=0)
    return np.asarray(np.isclose(one, other, rtol=0, atol=digits * (1 + size), equal_nan=True))


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and bool(_near(one, other).all())


def averaging_exercise(
    task: str,
    reference: Answer,
    cases: Callable[[], Sequence[Case]],
    real: Callable[[int], Sequence[Any]],
) -> Exercise:
    """An exercise on weights that ranks average, as `LocalSteps` and `Clients` say what to do."""
    return rank_exercise(
        task=task,
        reference=reference,
        cases=cases,
        act=act,
        target=lambda work: [AveragedWeights(end, "weights") for end in work.end()],
        difference=difference,
        same=same,
        counts=(2, 3),
        real=real,
    )
