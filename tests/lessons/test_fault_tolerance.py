"""The exercises of notebook 21, with answers written by other hands than the catalogue's."""

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


def test_other_ways_to_find_the_straggler():
    assert check("find_the_straggler", by_ratios)
    for answer in (total_time, least_waiting):
        with pytest.raises(WrongAnswer):
            check("find_the_straggler", answer)
    with pytest.raises(WrongAnswer, match="it never finds one"):
        check("find_the_straggler", lambda compute, wait, times=1.2: None)


def epochs_by_number(run, steps):
    """Saves how many orders were drawn, and draws as many again."""
    saved = run.load() or {"drawn": 1, "used": 0, "losses": []}
    if "model" in saved:
        run.model.load_state_dict(saved["model"])
        run.optimizer.load_state_dict(saved["optimizer"])
    drawn, used, losses = saved["drawn"], saved["used"], list(saved["losses"])
    for _ in range(drawn):
        order = torch.randperm(run.count, generator=run.draws)
    while len(losses) < steps:
        if run.count - used < run.batch:
            order, used, drawn = torch.randperm(run.count, generator=run.draws), 0, drawn + 1
        batch = order[used : used + run.batch].numpy()
        used += len(batch)
        losses += [run.step(np.array_split(batch, world_size())[rank()])]
        state = {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
        run.save({**state, "drawn": drawn, "used": used, "losses": losses})
    return losses


def never_saves(run, steps):
    losses = []
    while len(losses) < steps:
        losses.append(run.step(torch.arange(run.batch)[rank() :: world_size()]))
    return losses


def test_other_ways_to_go_on():
    assert check("resume_elastic", epochs_by_number)
    with pytest.raises(WrongAnswer):
        check("resume_elastic", never_saves)
