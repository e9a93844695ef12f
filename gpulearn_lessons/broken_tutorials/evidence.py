"""What a step of a data-parallel training leaves to be measured, and which mistakes explain it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.allreduce import ring_all_reduce
from gpulearn.parallel.communicator import rank, sendrecv, world_size
from gpulearn.parallel.simulate.simulate import simulate
from gpulearn.require import shown

MISTAKES = (
    "no exchange",
    "own starts",
    "exchange too early",
    "exchange each time",
    "sum over ranks",
    "sum over micro-batches",
    "shards overlap",
    "whole tensors",
)
SIZE = 60  # numbers in the gradient: 2, 3, 4, 5 and 6 ranks cut it evenly
ROWS = 2  # samples of a micro-batch on a rank


@dataclass(frozen=True)
class StepReport:
    """What was measured of one step of a training."""

    ranks: int  # how many, N
    micro_batches: int  # that a rank adds up for a step, M
    gradient_bytes: int  # of one gradient, S
    sent: int  # bytes that a rank sends in the step
    # the largest difference from rank 0's weights, over all ranks, before the step
    apart_before: float
    apart_after: float  # the same after it
    update: float  # length of rank 0's update, relative to that of one process with all samples
    visits: tuple[int, ...]  # how often each sample of the step is used, over all ranks


def _report(value: object) -> None:
    if not isinstance(value, StepReport):
        raise BadInput(f"report is {shown(value)}: give what step_report returned.")


@require.checked(report=_report)
def case_reports(report: StepReport) -> list[str]:
    """The mistakes that would explain what is amiss in a report; of all that fit, each.

    >>> case_reports(step_report())
    []
    >>> case_reports(step_report("sum over ranks", ranks=2, micro_batches=2))
    ['sum over ranks', 'sum over micro-batches']
    """
    n, m = report.ranks, report.micro_batches
    same = partial(math.isclose, rel_tol=1e-6, abs_tol=1e-6)  # measured numbers are rounded
    ring = 2 * (n - 1) / n * report.gradient_bytes
    whole = (n - 1) * report.gradient_bytes
    parting = not same(report.apart_before, report.apart_after)
    explains = {
        "no exchange": parting and report.sent == 0,
        "own starts": not same(report.apart_before, 0),
        "exchange too early": parting and report.sent > 0,
        "exchange each time": (m > 1 and any(same(report.sent, k) for k in (m * ring, m * whole))),
        "sum over ranks": not parting and n > 1 and any(same(report.update, k) for k in (n, n * m)),
        "sum over micro-batches": (
            not parting and m > 1 and any(same(report.update, k) for k in (m, n * m))
        ),
        "shards overlap": any(visits != 1 for visits in report.visits),
        "whole tensors": n > 2 and any(same(report.sent, k) for k in (whole, m * whole)),
    }
    return [mistake for mistake in MISTAKES if explains[mistake]]


def step_report(*mistakes: str, ranks: int = 4, micro_batches: int = 1) -> StepReport:
    """Take a step on simulated ranks with some mistakes in it, and measure.

    The loss of a sample is linear in the weights, and the rate is 1. Mistakes are those of
    `MISTAKES`, none for a right step, on 2 to 6 ranks.

    >>> step_report("sum over ranks").update
    4.0
    """
    for mistake in mistakes:
        require.choice("mistake", mistake, MISTAKES)
    if require.whole("ranks", ranks) not in (2, 3, 4, 5, 6):
        raise BadInput(f"ranks is {ranks}: give 2, 3, 4, 5 or 6, which cut {SIZE} numbers evenly.")
    require.whole("micro_batches", micro_batches)
    count = ranks * micro_batches * ROWS
    # entries of either sign on top of a common part, so that no rank's gradient is near zero
    samples = np.random.default_rng(count).integers(-3, 4, (count, SIZE)) + 4.0
    run = simulate(_step, ranks, torch.from_numpy(samples), frozenset(mistakes), micro_batches)
    starts, ends, used = zip(*run.results, strict=True)
    visits = Counter(number for numbers in used for number in numbers)
    update = np.linalg.norm(ends[0] - starts[0]) / np.linalg.norm(samples.mean(0))
    return StepReport(
        ranks=ranks,
        micro_batches=micro_batches,
        gradient_bytes=SIZE * 8,
        sent=run.bytes_sent[0],
        apart_before=_apart(starts),
        apart_after=_apart(ends),
        update=round(float(update), 9),
        visits=tuple(visits[number] for number in range(count)),
    )


def _apart(weights: Any) -> float:
    return round(float(max(np.abs(row - weights[0]).max() for row in weights)), 9)


def _step(
    samples: torch.Tensor, mistakes: Collection[str], micro_batches: int
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Be one rank: the weights before, those after, and the samples used."""
    weights = torch.zeros(SIZE, dtype=torch.float64)
    if "own starts" in mistakes:
        weights += rank()
    start, used = weights.numpy().copy(), []
    total = torch.zeros_like(weights)
    rounds = [micro_batches - 1]  # the micro-batches after which gradients are exchanged
    if "exchange too early" in mistakes:
        rounds = [0]
    if "exchange each time" in mistakes:
        rounds = list(range(micro_batches))
    if "no exchange" in mistakes:
        rounds = []
    for number in range(micro_batches):
        first = (number * world_size() + rank()) * ROWS
        if "shards overlap" in mistakes:
            first = max(0, first - rank())  # each begins a little earlier than the one before ends
        numbers = list(range(first, first + ROWS))
        used += numbers
        total += samples[numbers].mean(0)
        if number in rounds:
            _exchange(total, mistakes)
    if "sum over micro-batches" not in mistakes:
        total /= micro_batches
    weights -= total
    return start, weights.numpy().copy(), used


def _exchange(total: torch.Tensor, mistakes: Collection[str]) -> None:
    if "whole tensors" in mistakes:
        arrived, passed_on = torch.empty_like(total), total.clone()
        right, left = (rank() + 1) % world_size(), (rank() - 1) % world_size()
        for _ in range(world_size() - 1):
            total += sendrecv(passed_on, right, arrived, left)
            passed_on = arrived.clone()
    else:
        ring_all_reduce(total)
    if "sum over ranks" not in mistakes:
        total /= world_size()
