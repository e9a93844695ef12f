"""The study of batch sizes: its steps are plain SGD, and those of N real ranks."""

import functools
import math
import re

import pytest
import torch
from torch.nn import functional

import gpulearn as gl
from gpulearn.train.data import training_data
from gpulearn_lessons import scaling_out
from gpulearn_lessons.scaling_out import batch_size_runs as batch_sizes
from gpulearn_lessons.scaling_out.batch_size_runs import Growth, _train, batch_size_study

RATE, BATCH, EPOCHS = 0.1, 240, 2


def few():
    data = gl.digits()
    return (data.train_images[:600], data.train_labels[:600], *data[2:])


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def emulated(factor=1.0, warm_up=0):
    model = gl.train.MLP((64, 16, 10), seed=3)
    data = training_data(few(), model)
    return model, _train(model, data, BATCH, EPOCHS, 5, Growth(RATE, factor, warm_up))


def one_of_many():
    """A rank's own shard and its own part of each batch, gradients averaged: nothing emulated."""
    model = gl.train.MLP((64, 16, 10), seed=3)
    images, labels = (torch.from_numpy(array) for array in few()[:2])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for epoch in range(EPOCHS):
        mine = gl.parallel.shard_indices(
            len(labels), gl.parallel.rank(), 4, uneven="keep", seed=5, epoch=epoch
        )
        for part in torch.tensor(mine).split(BATCH // gl.parallel.world_size()):
            optimizer.zero_grad()
            functional.cross_entropy(model(images[part]), labels[part]).backward()
            gl.parallel.average_gradients(model, len(part))
            optimizer.step()
    return weights(model)


def test_one_process_with_the_whole_batch_stands_for_four_real_ranks():
    model, _ = emulated()
    ranks = gl.launch(one_of_many, 4, timeout=20)
    start = weights(gl.train.MLP((64, 16, 10), seed=3))
    assert (weights(model) - start).norm() > 0.1
    for replica in ranks:
        assert torch.equal(replica, ranks[0])
        assert (replica - weights(model)).abs().max() <= 1e-6


def test_a_factor_of_one_is_plain_training_and_a_larger_one_is_not():
    plain, _ = emulated()
    images, labels = (torch.from_numpy(array) for array in few()[:2])
    model = gl.train.MLP((64, 16, 10), seed=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for epoch in range(EPOCHS):
        order = torch.tensor(gl.parallel.shard_indices(600, 0, 1, seed=5, epoch=epoch))
        for part in order.split(BATCH):
            gl.train.train_step(model, optimizer, images[part], labels[part])
    assert (weights(model) - weights(plain)).abs().max() <= 1e-6
    assert torch.equal(weights(emulated(factor=1.0, warm_up=3)[0]), weights(plain))
    assert not torch.equal(weights(emulated(factor=2.0)[0]), weights(plain))


def test_each_rule_gives_its_rate_and_the_first_batch_is_trained_once(monkeypatch):
    seen = []

    def note(model, data, batch, epochs, seed, grown, by_layer):
        assert by_layer is None
        seen.append((batch, seed, grown))
        return 0.01 * seed

    monkeypatch.setattr(batch_sizes, "_train", note)
    study = batch_size_study((16, 64), epochs=10)
    steps = math.ceil(1438 / 64) * 10
    assert [(batch, grown) for batch, seed, grown in seen if seed == 1] == [
        (16, Growth(0.1, 1, 0)),
        (64, Growth(0.1, 1, 0)),
        (64, Growth(0.1, 4, 0)),
        (64, Growth(0.1, 4, steps // 5)),
        (64, Growth(0.1, 2, 0)),
    ]
    assert study.accuracies["linear", 16] == study.accuracies["kept", 16] == (0.0, 0.01, 0.02)
    assert tuple(study.accuracy("kept", 64)) == pytest.approx((0.01, 0.0, 0.02))


@pytest.fixture(scope="module")
def study():
    return batch_size_study((32, 256, 512), ("kept", "linear", "square root"))


def test_the_rule_helps_up_to_a_limit_for_every_seed(study):
    for seed in (0, 1, 2):
        right = {key: values[seed] for key, values in study.accuracies.items()}
        assert right["kept", 256] + 0.2 < right["linear", 256] < right["linear", 32]
        assert right["linear", 512] + 0.2 < right["square root", 512]


def test_the_picture_says_the_medians(study):
    alt = scaling_out.batch_sizes(study).alt
    assert "over batch sizes 32, 256, 512, median of 3 seeds: kept 94%" in alt


def test_layers_with_rates_of_their_own_stand_a_batch_that_the_linear_rule_does_not():
    rules = ("linear", "LARS", "Adam, root")
    study = batch_size_study((32, 512), rules, epochs=8)
    assert batch_sizes.rate_of("Adam, root", 512, 32) == pytest.approx(0.1 * 0.1 * 4)
    for seed in (0, 1, 2):
        right = {key: values[seed] for key, values in study.accuracies.items()}
        assert right["linear", 512] + 0.3 < min(right["LARS", 512], right["Adam, root", 512])
        assert right["LARS", 32] < right["linear", 32]


def test_a_step_of_layers_is_the_step_function_on_each():
    model = gl.train.MLP((64, 16, 10), seed=3)
    data = training_data(few(), model)
    step = functools.partial(gl.optim.lars_step, momentum=0.0, trust=0.02)
    _train(model, data, 600, 1, 5, Growth(RATE, 1.0, 0), step)
    by_hand = gl.train.MLP((64, 16, 10), seed=3)
    order = torch.tensor(gl.parallel.shard_indices(600, 0, 1, seed=5))
    images, labels = (torch.from_numpy(array) for array in few()[:2])
    functional.cross_entropy(by_hand(images[order]), labels[order]).backward()
    for p, before in zip(model.parameters(), by_hand.parameters(), strict=True):
        moved = (p - before).norm() / before.norm()
        assert moved.item() == pytest.approx(RATE * 0.02, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scaling_out.batch_size_study((64, 16)), "ascending"),
        (lambda: scaling_out.batch_size_study(rules=["lineal"]), "did you mean 'linear'"),
        (lambda: scaling_out.batch_size_study(rules=[]), "at least one rule"),
        (lambda: scaling_out.batch_size_study(rules="linear"), "rules is 'linear': give a list"),
        (lambda: scaling_out.batch_sizes(3), "study is 3"),
    ],
)
def test_bad_input_is_told(call, message):
    with pytest.raises(gl.errors.BadInput, match=re.escape(message)):
        call()
