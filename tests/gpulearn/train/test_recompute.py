"""Stages that are computed again: the same gradients, from one more forward pass."""

import copy

import pytest
import torch
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train.memory import measured_memory
from gpulearn.train.models import MLP, LeNet
from gpulearn.train.precision import PRECISIONS, Precision
from gpulearn.train.recompute import Stages, in_stages, recompute_peak

pytestmark = pytest.mark.usefixtures("one_thread")


IMAGES, LABELS = torch.linspace(0, 1, 12 * 64).reshape(12, 1, 8, 8), torch.arange(12) % 10


def gradients(model, precision="float32"):
    torch.manual_seed(5)  # of the dropout
    passes = Precision(precision, scale=256)
    with passes.autocast():
        loss = nn.functional.cross_entropy(model(IMAGES), LABELS)
    passes.backward(loss)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", [LeNet, MLP])
def test_the_gradients_are_the_same_bits(kind, precision):
    plain, again = kind(), kind()
    again.recompute = True
    assert torch.equal(gradients(again, precision), gradients(plain, precision))


def test_each_stage_runs_twice_and_in_evaluation_once():
    model, runs = LeNet(), []
    model.recompute = True
    model.stage1.conv1.register_forward_hook(lambda *_: runs.append(1))
    gradients(model)
    assert len(runs) == 2
    with torch.no_grad():
        model(IMAGES)
    assert len(runs) == 3


@pytest.mark.parametrize("stages", [1, 2, 4, 5])
def test_a_chain_in_stages_shares_its_layers(stages):
    torch.manual_seed(1)
    chain = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 10)
    )
    cut = in_stages(copy.deepcopy(chain), stages)
    cut.recompute = True
    assert len(cut) == stages
    assert torch.equal(gradients(cut), gradients(chain))
    assert next(in_stages(chain, stages).parameters()) is next(chain.parameters())


def test_bad_input():
    with pytest.raises(BadInput, match="stages is 3, and there are 2 layers"):
        in_stages(nn.Sequential(nn.ReLU(), nn.ReLU()), 3)


def stage(width, hidden, output):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, output))


@pytest.mark.parametrize("recomputed", [(), (0,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_the_peak_is_what_torch_keeps(recomputed):
    """Stages that begin and end with a product keep their input and what is hidden inside."""
    torch.manual_seed(0)
    widths, hidden, n = (64, 40, 24, 10), (300, 20, 90), 12
    chain = nn.Sequential(nn.Flatten())
    for number in range(3):
        link = Stages(stage(widths[number], hidden[number], widths[number + 1]))
        link.recompute = number in recomputed
        chain.append(link)
    measured = measured_memory(chain, IMAGES, LABELS).activations
    inputs, inside = ([4 * n * size for size in sizes] for sizes in (widths[:3], hidden))
    loss = 4 * n * widths[3] + 8 * n + 4  # scores, labels and the sum of their weights
    last = sum(inputs) + sum(b for s, b in enumerate(inside) if s not in recomputed)
    # in the backward pass of a stage, the loss is done with; at the end of the forward it is not
    assert max(recompute_peak(inputs, inside, recomputed), last + loss) == measured
