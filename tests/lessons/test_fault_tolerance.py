"""The exercises of notebook 21, with answers written by other hands than the catalogue's."""

import statistics

import numpy as np
import pytest
import torch

from gpulearn import check
from gpulearn.errors import WrongAnswer
from gpulearn.parallel.communicator import rank, world_size


def by_ratios(compute, wait, times=1.2):
    usual = np.percentile(np.asarray(compute), 50, axis=0)
    ratios = [
        u / np.median([o for j, o in enumerate(usual) if j != i]) for i, u in enumerate(usual)
    ]
    worst = int(np.argmax(ratios))
    return np.int64(worst) if ratios[worst] > times else None


def least_waiting(compute, wait, times=1.2):
    waits = np.median(wait, axis=0)
    first, second = np.argsort(waits)[:2]
    return first if waits[second] > (times - 1) * np.median(compute) else None


def total_time(compute, wait, times=1.2):
    total = np.sum(compute, axis=0)
    slowest = total.argmax()
    return slowest if total[slowest] > times * np.median(total) else None


def lower_middle(compute, wait, times=1.2, usual=statistics.median_low):
    medians = [usual(steps) for steps in compute.T.tolist()]
    slowest = int(np.argmax(medians))
    return slowest if medians[slowest] > times * np.median(np.delete(medians, slowest)) else None


def upper_middle(compute, wait, times=1.2):
    return lower_middle(compute, wait, times, statistics.median_high)


def in_most_steps(compute, wait, times=1.2):
    usual = np.median(compute, axis=0)
    slowest = int(np.argmax(usual))
    slow = compute[:, slowest] > times * np.median(np.delete(usual, slowest))
    return slowest if slow.mean() > 0.5 else None


def test_other_ways_to_find_the_straggler():
    assert check("find_the_straggler", by_ratios)
    for answer in (total_time, least_waiting, in_most_steps):
        with pytest.raises(WrongAnswer):
            check("find_the_straggler", answer)
    for answer in (lower_middle, upper_middle):
        with pytest.raises(WrongAnswer, match="takes one of them"):
            check("find_the_straggler", answer)
    with pytest.raises(WrongAnswer, match="it never finds one"):
        check("find_the_straggler", lambda compute, wait, times=1.2: None)


def never_saves(run, steps):
    losses = []
    while len(losses) < steps:
        losses.append(run.step(torch.arange(run.batch)[rank() :: world_size()]))
    return losses


def test_a_run_that_never_saves_is_wrong():
    with pytest.raises(WrongAnswer):
        check("resume_elastic", never_saves)
