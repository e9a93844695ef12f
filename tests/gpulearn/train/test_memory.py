"""The memory of a training step: what the layers' rules predict is what torch keeps."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train import activation_memory
from gpulearn.train.activation_memory import GpuMeter, most_kept, saved_for_backward
from gpulearn.train.memory import STATES, LiveMemory, measured_memory, memory_budget, peak_memory
from gpulearn.train.models import MLP, LeNet
from gpulearn.train.precision import PRECISIONS, Precision
from gpulearn.train.recompute import in_stages

pytestmark = pytest.mark.usefixtures("one_thread")


def batch(count):
    return torch.rand(count, 1, 8, 8), torch.arange(count) % 10


def network(kind, recompute):
    model = kind(seed=0)
    model.recompute = recompute
    return model


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", [LeNet, MLP])
def test_activations_are_predicted_to_the_byte(kind, precision, recompute):
    model = network(kind, recompute)
    measured = measured_memory(model, *batch(64), "sgd", precision)
    assert memory_budget(model, (64, 1, 8, 8), "sgd", precision) == measured


@pytest.mark.parametrize("optimizer", STATES)
@pytest.mark.parametrize("kind", [LeNet, MLP])
def test_state_is_predicted_but_for_the_counts_of_steps(kind, optimizer):
    model = network(kind, recompute=False)
    predicted = memory_budget(model, (8, 1, 8, 8), optimizer, "float32")
    measured = measured_memory(model, *batch(8), optimizer, "float32")
    counts = measured.state - predicted.state
    assert counts in (0, 4 * len(list(model.parameters())))
    assert predicted._replace(state=0) == measured._replace(state=0)


FLAT = ("linear", "relu", "sigmoid", "tanh", "gelu", "dropout", "identity")
FLAT_LAYERS = st.lists(st.sampled_from(FLAT), max_size=5)
IMAGE = ("conv", "frozen conv", "relu", "in-place relu", "max", "average", "dropout", "gelu")
IMAGE_LAYERS = st.lists(st.sampled_from(IMAGE), max_size=6)


def layer(kind, width):
    if kind == "linear":
        return nn.Linear(width, width, bias=False)
    if "conv" in kind:
        return nn.Conv2d(3, 3, 3, padding=1).requires_grad_(kind == "conv")
    pooling = {"stride": 1, "padding": 1}
    plain = {"relu": nn.ReLU(), "in-place relu": nn.ReLU(inplace=True), "sigmoid": nn.Sigmoid()}
    plain |= {"tanh": nn.Tanh(), "gelu": nn.GELU(), "dropout": nn.Dropout(0.3)}
    plain |= {"identity": nn.Identity()}
    plain |= {"max": nn.MaxPool2d(3, **pooling), "average": nn.AvgPool2d(3, **pooling)}
    return plain[kind]


TWICE = {
    "pool": (nn.Conv2d(1, 4, 3, padding=1), nn.MaxPool2d(2)),
    "dropout": (nn.Conv2d(1, 1, 3, padding=1), nn.Dropout(0.3)),
    "linear": (nn.Linear(8, 8), nn.Linear(8, 8)),
    "frozen": (nn.Linear(8, 8), nn.Linear(8, 8).requires_grad_(False)),
}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", TWICE)
def test_a_layer_that_is_used_twice_keeps_twice_and_stays_what_it_is(kind, precision):
    first, shared = TWICE[kind]
    last = nn.Linear(16 if kind == "pool" else 64, 10)
    model = nn.Sequential(first, shared, nn.ReLU(), shared, nn.Flatten(), last)
    predicted = memory_budget(model, (6, 1, 8, 8), "sgd", precision)
    assert all(p.device.type == "cpu" for p in model.parameters())
    assert predicted == measured_memory(model, *batch(6), "sgd", precision)


@pytest.mark.parametrize("frozen", ["all", "weight", "first"])
def test_a_frozen_linear_layer_keeps_no_input(frozen):
    layers = [nn.Flatten(), nn.Linear(64, 16), nn.Linear(16, 16), nn.Linear(16, 10)]
    chosen = layers[1] if frozen == "first" else layers[2]
    (chosen.weight if frozen == "weight" else chosen).requires_grad_(False)
    model = nn.Sequential(*layers)
    predicted = memory_budget(model, (6, 1, 8, 8), "sgd", "bfloat16")
    assert predicted == measured_memory(model, *batch(6), "sgd", "bfloat16")


@settings(max_examples=30, deadline=None)
@given(
    IMAGE_LAYERS,
    FLAT_LAYERS,
    st.sampled_from(list(PRECISIONS)),
    st.integers(0, 3),
    st.booleans(),
    st.integers(1, 5),
)
def test_any_chain_of_known_layers_is_predicted(images, flat, precision, stages, training, count):
    # torch refuses to overwrite what another layer, or a stage, keeps
    before = zip(["conv", *images], images, strict=False)
    images = [k for last, k in before if "in-place" not in k or (last == "conv" and not stages)]
    layers = [nn.Conv2d(1, 3, 3, padding=1), *(layer(kind, 0) for kind in images), nn.Flatten()]
    layers += [nn.Linear(192, 7), *(layer(kind, 7) for kind in flat), nn.Linear(7, 10)]
    model = nn.Sequential(*layers)
    if stages:
        model = in_stages(model, stages)
        model.recompute = True
    model.train(training)
    shape = (count, 1, 8, 8)
    predicted = memory_budget(model, shape, "adam", precision)
    measured = measured_memory(model, *batch(count), "adam", precision)
    assert predicted._replace(state=0) == measured._replace(state=0)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("kind", [LeNet, MLP])
def test_by_an_allocator_it_is_the_same_within_5_percent(monkeypatch, kind, recompute):
    """The way of a GPU, forced here: all memory in use before and after."""
    model = network(kind, recompute)
    predicted = memory_budget(model, (64, 1, 8, 8), "sgd", "bfloat16").activations
    with LiveMemory() as live:
        monkeypatch.setattr(activation_memory, "in_use", lambda: live.now)
        twin = copy.deepcopy(model)
        measured = most_kept(twin, *batch(64), Precision("bfloat16"), GpuMeter(twin))
    assert measured.bytes == pytest.approx(predicted, rel=0.05)


def test_the_peak_of_a_whole_step_falls_where_stages_are_many_and_alike():
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU()]
    for _ in range(15):
        layers += [nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()]
    model = in_stages(nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10)), 4)
    images, labels = batch(64)
    peak, kept = {}, {}
    for model.recompute in (False, True):
        model.zero_grad()
        kept[model.recompute] = memory_budget(model, (64, 1, 8, 8), "sgd", "float32").activations
        peak[model.recompute] = peak_memory(
            lambda: nn.functional.cross_entropy(model(images), labels).backward()
        )
    assert peak[True] < 0.5 * peak[False]
    assert kept[True] < 0.4 * kept[False]
    assert all(kept[recompute] < peak[recompute] for recompute in (False, True))


def test_the_peak_counts_what_is_alive_at_once():
    ones = torch.ones(1000)
    assert peak_memory(lambda: ones.add_(1)) == 0
    assert peak_memory(lambda: [ones * 2 for _ in range(5)]) == 20_000
    assert peak_memory(lambda: [(ones * 2).sum().item() for _ in range(5)]) == 4004


def test_a_step_on_the_cpu_is_counted_where_a_gpu_has_been_used(monkeypatch):
    values = {"is_available": True, "is_initialized": True, "synchronize": None}
    values |= {"reset_peak_memory_stats": None}
    for name, value in (
        values | dict.fromkeys(["memory_allocated", "max_memory_allocated"], 5000)
    ).items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    ones = torch.ones(1000)
    assert peak_memory(lambda: ones * 2) == 4000
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 20_000)
    assert peak_memory(lambda: ones * 2) == 15_000


def test_nothing_is_left_changed():
    model = network(LeNet, recompute=True)
    before, random = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    memory_budget(model, (8, 1, 8, 8), "adam", "float16")
    measured_memory(model, torch.ones(8, 1, 8, 8), torch.arange(8), "adam", "float16")
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)
    assert all(p.grad is None for p in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


SHAPE = (2, 1, 8, 8)


@pytest.mark.parametrize(
    ("model", "shape", "message"),
    [
        (MLP(), (2, 1, 9, 9), r"shape \(2, 1, 9, 9\) does not fit the model"),
        (MLP(), 64, "batch is 64: give the shape of a batch"),
        (MLP(), (0, 1, 8, 8), "a size in batch is 0"),
        (3, SHAPE, "model is 3: give a torch.nn.Module"),
        (nn.Flatten(0), SHAPE, "does not fit the model"),
        (MLP().double(), SHAPE, "linear1.weight is of float64"),
    ],
)
def test_what_cannot_be_predicted_is_told(model, shape, message):
    with pytest.raises(BadInput, match=message):
        memory_budget(model, shape, "sgd", "float32")


def test_unknown_names_are_told():
    with pytest.raises(BadInput, match="no optimizer 'adan': did you mean 'adam'"):
        memory_budget(MLP(), SHAPE, "adan", "float32")
    with pytest.raises(BadInput, match="There is no precision 'half'"):
        memory_budget(MLP(), SHAPE, "sgd", "half")


def test_the_list_names_each_tensor_once():
    saved = saved_for_backward(LeNet(), (4, 1, 8, 8), "bfloat16")
    assert len({(s.layer, s.what) for s in saved}) == len(saved)
    assert {s.layer for s in saved} >= {"stage1.conv1", "stage3.linear2", "loss"}
