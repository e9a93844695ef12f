"""The three stages of sharding against one process: numbers; memory and bytes."""

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

import gpulearn as gl
from gpulearn.errors import BadInput, RankError, TrainingError
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.train.memory import LiveMemory
from gpulearn_lessons.sharded_training import (
    ShardedGradients,
    ShardedOptimizer,
    ShardedParameters,
    zero_bytes_per_rank,
    zero_memory,
)

SHAPE = DecoderShape(vocabulary=11, context=6, width=8, heads=2, layers=2)
STAGES = {"state": ShardedOptimizer, "gradients": ShardedGradients, "parameters": ShardedParameters}
SGD = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
ADAMW = partial(torch.optim.AdamW, lr=1e-2)
BATCH, STEPS = 24, 5  # each number of ranks divides the batch


def perceptron(seed, dtype):
    """Layers of 35, 24 and 8 numbers: 4 and 8 ranks do not divide them all."""
    torch.manual_seed(seed)
    layers = nn.Linear(4, 7), nn.Tanh(), nn.Linear(7, 3), nn.Tanh(), nn.Linear(3, 2)
    return nn.Sequential(*layers).to(dtype)


def decoder(seed, dtype):
    return Decoder(SHAPE, seed=seed).to(dtype)


def loss_of(model, step, share, dtype):
    generator = torch.Generator().manual_seed(step)
    if isinstance(model, Decoder):
        tokens = torch.randint(11, (BATCH, 7), generator=generator)
        return model.loss(tokens[share])
    inputs = torch.rand(BATCH, 4, generator=generator, dtype=dtype)
    classes = torch.randint(2, (BATCH,), generator=generator)
    return functional.cross_entropy(model(inputs[share]), classes[share])


def alone(build, make, dtype, clip=None):
    model = build(0, dtype)
    optimizer = make(list(model.parameters()))
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, step, slice(None), dtype).backward()
        if clip:
            gl.train.clip_by_global_norm(list(model.parameters()), clip)
        optimizer.step()
    return {name: p.detach() for name, p in model.named_parameters()}


def sharded(stage, build, make, dtype, clip=None):
    """All weights after some steps, and bytes kept between the last backward and its step."""
    model = build(rank(), dtype)
    trained = STAGES[stage](model, make)
    for step in range(STEPS):
        loss_of(model, step, slice(rank(), None, world_size()), dtype).backward()
        kept = trained.memory()
        if clip:
            trained.clip(clip)
        trained.step()
    for block in trained.blocks:
        block.gather()  # where it is not there
    return {name: p.detach().clone() for name, p in model.named_parameters()}, kept


def away(found, right):
    """The largest difference of a parameter, relative to its length.

    The keys' biases are left out: softmax does not see them, so that their gradient is rounding
    alone, and Adam divides it by its own length.
    """
    return max(
        ((found[name] - right[name]).norm() / right[name].norm()).item()
        for name in right
        if not name.endswith("key.bias")
    )


@pytest.mark.parametrize(
    ("build", "ranks"), [(perceptron, 1), (perceptron, 4), (perceptron, 8), (decoder, 2)]
)
def test_each_stage_equals_one_process(build, ranks):
    for make in (SGD, ADAMW):
        right = alone(build, make, torch.float64)
        for stage in STAGES:
            run = gl.simulate(sharded, ranks, stage, build, make, torch.float64)
            for weights, _ in run.results:
                assert away(weights, right) < 1e-12, stage


def test_real_ranks_train_as_one_process_too():
    right = alone(decoder, ADAMW, torch.float64)
    for stage in ("gradients", "parameters"):
        for weights, _ in gl.launch(sharded, 3, stage, decoder, ADAMW, torch.float64):
            assert away(weights, right) < 1e-12


@pytest.mark.parametrize("stage", ["state", "parameters"])
def test_the_length_of_the_whole_gradient_is_clipped(stage):
    right = alone(perceptron, SGD, torch.float64, 0.05)
    assert away(alone(perceptron, SGD, torch.float64), right) > 1e-3
    found, _ = gl.simulate(sharded, 3, stage, perceptron, SGD, torch.float64, 0.05).results[2]
    assert away(found, right) < 1e-12


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_memory_is_what_the_formula_says(ranks):
    counts = [35, 24, 8]
    padding = [4 * (ranks * math.ceil(count / ranks) - count) for count in counts]
    steps = 4 * len(counts)  # Adam counts its steps, once for each shard
    for number, stage in enumerate(("state", "gradients", "parameters"), start=1):
        kept = gl.simulate(sharded, ranks, stage, perceptron, ADAMW, torch.float32).results[0][1]
        sizes = {"weights": 4, "gradients": 4, "state": 8}
        weights, gradients, state = zero_memory(counts, ranks, number, **sizes)
        rows = weights + (sum(padding) if number < 3 else 0)
        assert kept == (rows, gradients, state + steps, 0)


def held(stage):
    """Bytes of all tensors made since the start that live after backward, and the most ever."""
    with LiveMemory() as live:
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
        trained = STAGES[stage](model, ADAMW)
        for _ in range(2):
            x = torch.ones(1, 64)
            model(x).sum().backward()
            del x
            gl.parallel.barrier()  # who is waited for still holds what we sent
            now = live.now
            trained.step()
    return now, trained.memory().total, live.most


@pytest.mark.parametrize("stage", ["state", "gradients", "parameters"])
def test_no_other_tensor_is_left(stage):
    """Counted by torch's dispatcher, which knows nothing of what we think that we keep."""
    now, _, _ = gl.simulate(held, 4, stage).results[0]
    counts = [64 * 65] * 8
    number = ["state", "gradients", "parameters"].index(stage) + 1
    total = sum(zero_memory(counts, 4, number, weights=4, gradients=4, state=8))
    assert total <= now < 1.01 * total


def test_whole_parameters_are_there_for_one_block_at_a_time():
    block = 4 * 64 * 65
    peaks = {stage: gl.simulate(held, 4, stage).results[0][2] for stage in STAGES}
    at_rest = 8 * block  # 1/4 of parameters, gradients and twice as much state, of 8 blocks
    assert peaks["parameters"] < at_rest + 6 * block
    assert peaks["gradients"] > peaks["parameters"] + 3 * block


def one_step(stage):
    model = nn.Sequential(*(nn.Linear(15, 16, bias=False) for _ in range(1)), nn.Linear(16, 14))
    trained = STAGES[stage](model, SGD)
    model(torch.ones(1, 15)).sum().backward()
    trained.step()


@pytest.mark.parametrize("ranks", [2, 4])
def test_bytes_are_those_of_the_formula(ranks):
    counts = [15 * 16, 17 * 14]
    start = sum(4 * ranks * math.ceil(count / ranks) for count in counts)  # broadcast at the start
    for number, stage in ((1, "state"), (2, "gradients"), (3, "parameters")):
        sent = sum(gl.simulate(one_step, ranks, stage).bytes_sent) - (ranks - 1) * start
        each = zero_bytes_per_rank(counts, ranks, number)
        assert sent == ranks * each
    whole = gl.parallel.ring_bytes_per_rank(ranks, 4 * 240)
    assert zero_bytes_per_rank([240], ranks, 1) == whole
    assert zero_bytes_per_rank([240], ranks, 3) == 1.5 * whole


def twice():
    model = nn.Sequential(nn.Linear(2, 2))
    ShardedGradients(model, SGD)
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()


def refused(what):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    if what == "frozen":
        model[0].weight.requires_grad_(False)
    if what == "left out":
        model.scale = nn.Parameter(torch.ones(1))
    if what == "mixed":
        model[1].bias.data = model[1].bias.data.double()
    with pytest.raises(BadInput) as caught:
        ShardedOptimizer(None if what == "none" else model, SGD)
    return str(caught.value)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("frozen", "0.weight is frozen"),
        ("left out", "scale is in 0 of the model's blocks"),
        ("mixed", "torch.float32 and torch.float64"),
        ("none", "model is None"),
    ],
)
def test_what_cannot_be_sharded_is_said(what, said):
    assert said in gl.simulate(refused, 1, what).results[0]


def test_two_backward_passes_need_a_step_between():
    with pytest.raises(RankError, match="Two backward passes without step") as caught:
        gl.simulate(twice, 2)
    assert TrainingError.__name__ in str(caught.value)


@pytest.mark.parametrize("stage", [-1, 4, True, "3"])
def test_there_are_four_stages(stage):
    with pytest.raises(BadInput, match="stage is"):
        zero_memory([10], 2, stage)
