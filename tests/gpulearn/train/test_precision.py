"""Autocast and loss scaling, on the CPU."""

import copy

import pytest
import torch
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train.precision import PRECISIONS, Precision, scale_the_loss
from gpulearn.train.step import clip_by_global_norm

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


@pytest.fixture
def batch():
    maker = torch.Generator().manual_seed(2)
    return torch.rand(16, 1, 8, 8, generator=maker), torch.arange(16) % 10


def gradient_error(model, batch, precision):
    """How far the gradient is from float32's: ‖g − g₃₂‖ / ‖g₃₂‖."""
    parameters = list(model.parameters())
    gradients = []
    for passes in (Precision(), precision):
        parts = torch.autograd.grad(loss_of(model, batch, passes) * passes.scale, parameters)
        gradients.append(torch.cat([part.flatten() for part in parts]) / passes.scale)
    return float((gradients[1] - gradients[0]).norm() / gradients[0].norm())


def loss_of(model, batch, precision):
    with precision.autocast():
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


@pytest.mark.parametrize("name", PRECISIONS)
def test_the_layers_compute_in_the_precision_and_the_parameters_stay_float32(network, batch, name):
    precision, seen = Precision(name), []
    network[1].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    loss = loss_of(network, batch, precision)
    assert loss.dtype == torch.float32
    precision.backward(loss)
    assert seen == [PRECISIONS[name]]
    assert {p.dtype for p in network.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in network.parameters()} == {torch.float32}


def test_bfloat16_is_coarser_than_float16(network, batch):
    errors = {name: gradient_error(network, batch, Precision(name)) for name in PRECISIONS}
    assert errors["float32"] == 0 < errors["float16"] < errors["bfloat16"] < 0.05
    assert all(p.grad is None for p in network.parameters())


def test_scaling_brings_vanished_gradients_back(network, batch):
    small = Precision("float16", scale=2.0**-16)  # a loss that a long training has made small
    error = gradient_error(network, batch, Precision("float16"))
    assert gradient_error(network, batch, small) > 10 * error


def test_bad_input():
    with pytest.raises(BadInput, match="There is no precision 'bf16': did you mean 'bfloat16'"):
        Precision("bf16")
    with pytest.raises(BadInput, match="scale is 0"):
        Precision("float16", scale=0)


@pytest.mark.parametrize(("scale", "max_norm"), [(1024.0, 0.1), (1024.0, 1e3), (2.0**60, 0.1)])
def test_the_step_written_out_is_the_one_of_the_scaler(network, batch, scale, max_norm):
    twin = copy.deepcopy(network)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9) for m in (network, twin)]
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    for _ in range(3):
        optimizers[1].zero_grad()
        scaler.scale(loss_of(twin, batch, Precision("float16"))).backward()
        scaler.unscale_(optimizers[1])
        clip_by_global_norm(twin.parameters(), max_norm)
        scaler.step(optimizers[1])
        scaler.update()
        scale = scale_the_loss(network, optimizers[0], *batch, scale, max_norm)
        assert scale == scaler.get_scale()
    for p, expected in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, expected, rtol=1e-5, atol=1e-6)
