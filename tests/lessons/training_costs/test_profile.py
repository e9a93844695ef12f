"""Where a step's time goes."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train.models import MLP
from gpulearn_lessons.training_costs import profile
from gpulearn_lessons.training_costs.profile import (
    StepTimes,
    find_the_bottleneck,
    step_times,
)

BATCH = torch.ones(8, 1, 8, 8), torch.arange(8)


class Clock:
    """A clock that only moves when it is told to."""

    time = 0.0

    def pass_by(self, seconds):
        self.time += seconds


class Slow(nn.Module):
    """A model whose forward pass takes 2 s, whose backward pass 4 s."""

    def __init__(self, clock):
        super().__init__()
        self.inner, self.clock = MLP(), clock

    def forward(self, x):
        self.clock.pass_by(2)
        logits = self.inner(x)
        logits.register_hook(lambda gradient: self.clock.pass_by(4))
        return logits


def test_time_counts_in_the_phase_where_it_is_spent(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(profile, "now", lambda: clock.time)
    model = Slow(clock)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: clock.pass_by(8))

    def batches():
        for seconds in (100, 1, 3):  # the first step warms up and does not count
            clock.pass_by(seconds)
            yield BATCH

    assert step_times(model, optimizer, batches()) == (1, 2, 4, 8)


def test_the_steps_really_train():
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    before = nn.functional.cross_entropy(model(BATCH[0]), BATCH[1]).item()
    step_times(model, optimizer, [BATCH] * 5)
    assert nn.functional.cross_entropy(model(BATCH[0]), BATCH[1]).item() < before


def test_it_reads_as_a_table():
    times = StepTimes(0.001, 0.002, 0.004, 0.001)
    assert re.search(r"backward +4 ms +50%", repr(times))
    assert ">50%</td>" in times._repr_html_()


def test_one_batch_is_too_few():
    model = MLP()
    with pytest.raises(BadInput, match="batches holds 1: give two or more"):
        step_times(model, torch.optim.SGD(model.parameters(), lr=0.1), [BATCH])


def simulated(fetch, copy, compute, workers, batches=400):
    """Seconds a step of a run: each batch waits for its worker, the link and the GPU in turn."""
    fetched, copied, computed = [], [], []
    for i in range(batches):
        if workers == 0:
            began = computed[-1] if i else 0.0
            fetched.append(began + fetch)
            copied.append(fetched[i] + copy)
            computed.append(copied[i] + compute)
            continue
        began = fetched[i - workers] if i >= workers else 0.0
        if i >= 2 * workers:  # a worker is at most two batches ahead
            began = max(began, copied[i - 2 * workers])
        fetched.append(began + fetch)
        copied.append(max(fetched[i], copied[-1] if i else 0.0) + copy)
        computed.append(max(copied[i], computed[-1] if i else 0.0) + compute)
    half = batches // 2
    return (computed[-1] - computed[half - 1]) / (batches - half)


TIME = st.floats(0.1, 10.0)


@given(TIME, TIME, TIME, st.sampled_from([0, 1, 2, 4, 8]))
def test_the_slowest_part_sets_the_pace_of_a_run(fetch, copy, compute, workers):
    name, step, busy = find_the_bottleneck(fetch, copy, compute, workers)
    assert step == pytest.approx(simulated(fetch, copy, compute, workers), rel=1e-6)
    assert busy == pytest.approx(compute / step)
    times = {"fetch": fetch / (workers or 1), "copy": copy, "compute": compute}
    assert times[name] == max(times.values())
