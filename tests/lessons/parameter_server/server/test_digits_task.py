"""The digits as one vector of weights: gradients, and who has which digits."""

import pytest
import torch

from gpulearn.errors import BadInput
from gpulearn_lessons.parameter_server.server.digits_task import DigitsTask


def test_the_gradient_is_the_same_each_time_and_leads_down():
    task = DigitsTask([40], batch=40)
    weights = task.start
    assert torch.equal(task.gradient(weights, 0, 0), task.gradient(weights, 0, 0))
    for step in range(60):
        weights = weights - 0.5 * task.gradient(weights, 0, step)
    assert task.loss(weights) < task.loss(task.start)
    assert task.accuracy(weights) > 0.3 > task.accuracy(task.start)


def test_an_epoch_goes_through_all_digits_and_the_next_in_another_order():
    task = DigitsTask([64, 32], batch=16)
    first = [task.gradient(task.start, 0, step) for step in range(8)]
    mean = torch.stack(first[:4]).mean(dim=0)
    again = torch.stack(first[4:]).mean(dim=0)
    assert torch.allclose(mean, again, atol=1e-6)
    assert not torch.allclose(first[0], first[4], atol=1e-6)


def test_what_cannot_be_is_refused():
    with pytest.raises(BadInput, match="together 2,000: there are 1,438 digits"):
        DigitsTask([1000, 1000])
    with pytest.raises(BadInput, match="an entry of samples is 0"):
        DigitsTask([0])
