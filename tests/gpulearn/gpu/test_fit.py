"""`gl.fit` on a GPU: the same bits twice, and a CPU's losses within rounding."""

import pytest
import torch

import gpulearn as gl
from tests.support.digits import few_digits

SMALL = few_digits(70)
PLACE = "cuda" if torch.cuda.is_available() else "cpu"


def fitted(place):
    """The weights after a run of a few steps, and its history."""
    model = gl.train.LeNet(width=4, dropout=0)
    history = gl.fit(model, SMALL, epochs=2, lr=0.01, batch=16, progress=False, device=place)
    return torch.cat([v.flatten().float().cpu() for v in model.state_dict().values()]), history


@pytest.mark.gpu
def test_two_runs_are_equal_to_the_bit_and_near_the_cpus():
    one, first = fitted(PLACE)
    two, second = fitted(PLACE)
    assert torch.equal(one, two)
    assert [step.loss for step in first.steps] == [step.loss for step in second.steps]
    _, here = fitted("cpu")
    assert first.steps[0].loss == pytest.approx(here.steps[0].loss, rel=1e-2)
    assert first.steps[-1].loss < first.steps[0].loss
