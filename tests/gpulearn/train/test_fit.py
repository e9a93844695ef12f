"""gl.fit: a plain loop's numbers, twice the same bits, one sentence for bad input."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import gpulearn as gl
from gpulearn.train.settings import Settings
from tests.support.digits import few_digits

DIGITS = gl.digits()
SMALL = few_digits(70)


pytestmark = pytest.mark.usefixtures("one_thread")


def small_fit(model=None, data=SMALL, **options):
    """A run of a few steps; the model's weights and the history."""
    options = {"epochs": 2, "lr": 0.01, "batch": 16, "progress": False, **options}
    model = gl.train.LeNet(width=4) if model is None else model
    history = gl.fit(model, data, **options)
    return weights(model), history


def weights(model):
    values = [value.flatten().float() for value in model.state_dict().values()]
    return torch.cat([*values, torch.empty(0)])


def test_the_cnn_knows_97_of_100_held_out_digits_from_one_call():
    model = gl.train.LeNet(seed=0)
    history = gl.fit(model, DIGITS, epochs=8, lr=1e-2, schedule="cosine")
    assert history.accuracy >= 0.97
    assert history.seconds == sum(epoch.seconds for epoch in history.epochs) > 0
    assert not model.training
    guessed = gl.train.classify(model, DIGITS.test_images)
    assert history.accuracy == pytest.approx(np.mean(guessed == DIGITS.test_labels))
    assert gl.train.evaluate(model, DIGITS.test_images, DIGITS.test_labels) == (
        history.epochs[-1].test_loss,
        history.accuracy,
    )


PLAIN = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
}


@pytest.mark.parametrize("name", PLAIN)
def test_it_takes_the_steps_of_a_plain_loop(name):
    images, labels = torch.tensor(SMALL[0]), torch.tensor(SMALL[1])
    model = gl.train.MLP((64, 10), seed=3)
    optimizer = PLAIN[name](model.parameters())
    generator = torch.Generator().manual_seed(5)
    order = torch.utils.data.DataLoader(range(70), 16, shuffle=True, generator=generator)
    losses, step = [], 0
    for _ in range(2):
        for chosen in order:
            optimizer.param_groups[0]["lr"] = 0.1 * 0.5 * (1 + math.cos(math.pi * step / 10))
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
    end, history = small_fit(
        gl.train.MLP((64, 10), seed=3), optimizer=name, lr=0.1, schedule="cosine", seed=5
    )
    assert [s.loss for s in history.steps] == losses
    assert torch.equal(end, weights(model))


def test_two_runs_are_equal_to_the_bit_and_leave_the_callers_generator():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    trained, first = small_fit()
    torch.rand(3)
    # a model that was in use before is in evaluation mode
    again, second = small_fit(gl.train.LeNet(width=4).eval())
    other, _ = small_fit(seed=1)
    assert first == second
    assert torch.equal(trained, again)
    assert not torch.equal(trained, other)
    torch.set_rng_state(before)
    small_fit()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("accumulate", [3, 16])
def test_micro_batches_equal_the_large_batch(accumulate):
    # 70 images in batches of 16: the last batch has 6, fewer than 16 micro-batches and not a
    # multiple of their size
    model = gl.train.LeNet(width=4, dropout=0)
    large, whole = small_fit(model, optimizer="sgd")
    model, seen = gl.train.LeNet(width=4, dropout=0), []
    model.register_forward_hook(
        lambda model, given, _: seen.append((model.training, len(given[0])))
    )
    parts, split = small_fit(model, optimizer="sgd", accumulate=accumulate)
    assert max(size for training, size in seen if training) == math.ceil(16 / accumulate)
    assert (large - parts).abs().max() < 1e-6
    for a, b in zip(whole.steps, split.steps, strict=True):
        assert a.loss == pytest.approx(b.loss, abs=1e-6)
        assert a.gradient_norm == pytest.approx(b.gradient_norm, abs=1e-5)


def test_the_clip_limits_the_gradient():
    model = gl.train.MLP((64, 10))
    seen = [weights(model)]
    options = {"optimizer": "sgd", "lr": 0.5, "clip": 0.1}
    _, history = small_fit(model, on_step=lambda step: seen.append(weights(model)), **options)
    assert all(step.gradient_norm > 0.1 for step in history.steps)  # so all are clipped
    for before, after in itertools.pairwise(seen):
        assert (after - before).norm().item() == pytest.approx(0.5 * 0.1, rel=1e-3)


def test_a_spoilt_pixel_stops_training_and_names_all_that_helps(tmp_path):
    images = SMALL[0].copy()
    images[44, 0, 3, 3] = np.nan
    model = gl.train.LeNet(width=4)
    seen, path = [], tmp_path / "run.pt"
    small_fit(gl.train.LeNet(width=4), checkpoint=path, epochs=1)
    with pytest.raises(gl.errors.TrainingError) as caught:
        small_fit(
            model,
            (images, *SMALL[1:]),
            resume=path,
            on_step=lambda step: seen.append(weights(model)),
        )
    message = str(caught.value)
    assert seen
    assert f"Step {len(seen) + 6} stopped: the loss is nan. It was" in message
    assert f"batch {len(seen) + 1} of epoch 2" in message
    assert "image 44 has a pixel that is not finite" in message
    assert f"The last good checkpoint is {path}" in message
    assert torch.equal(weights(model), seen[-1])


def test_a_rate_that_explodes_stops_before_the_weights_are_nan():
    model = gl.train.MLP()
    with pytest.raises(
        gl.errors.TrainingError, match=r"at rate 1e\+12.*There is no checkpoint yet"
    ):
        small_fit(model, optimizer="sgd", lr=1e12, epochs=20)
    assert weights(model).isfinite().all()


class Infinite(torch.nn.Module):
    """A finite loss whose gradient is not: the square root of zero."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        return x.flatten(1)[:, :10] * 0 + self.weight.sqrt()


def test_a_gradient_without_a_loss_to_show_for_it_is_seen_too():
    model = Infinite()
    with pytest.raises(gl.errors.TrainingError, match="the norm of its gradient is"):
        small_fit(model)
    assert weights(model).eq(0).all()


def test_without_gradients_switched_on_it_trains_all_the_same():
    with torch.no_grad():
        trained, _ = small_fit()
        assert not torch.is_grad_enabled()
    assert torch.equal(trained, small_fit()[0])


def empty(data):
    return (data[0][:0], data[1][:0], *data[2:])


class CutOff(torch.nn.Linear):
    """Its scores are numbers without a graph."""

    def forward(self, x):
        return super().forward(x.flatten(1)).detach()


BAD = {
    "rate below zero": ({"lr": -0.1}, "lr is -0.1: give a number above zero"),
    "batch": ({"batch": 2.5}, "batch is 2.5"),
    "accumulate": ({"accumulate": 17}, "accumulate is 17, but a batch has 16 images"),
    "optimizer": ({"optimizer": "adamm"}, "no optimizer 'adamm': did you mean 'adam'"),
    "schedule": ({"schedule": "cosin"}, "did you mean 'cosine'"),
    "scheduled rate": ({"schedule": lambda step: -1.0}, "schedule gave -1.0 for step 0"),
    "clip": ({"clip": 0}, "clip is 0"),
    "seed": ({"seed": -1}, "seed is -1"),
    "device": ({"device": "cuda:77"}, "no device 'cuda:77' here"),
    "model": ({"model": torch.nn.ReLU()}, "give a torch module with parameters"),
    "not four": ({"data": SMALL[:2]}, "give gl.digits"),
    "empty": ({"data": empty(SMALL)}, "0 train_images and 0 train_labels"),
    "no array": ({"data": ("cat", *SMALL[1:])}, "train_images is 'cat'"),
    "lengths": ({"data": (SMALL[0][:9], *SMALL[1:])}, "9 train_images and 70 train_labels"),
    "float labels": ({"data": (SMALL[0], SMALL[1] / 2, *SMALL[2:])}, "train_labels has shape"),
    "one-hot": ({"data": (SMALL[0], np.eye(10)[SMALL[1]], *SMALL[2:])}, "(70, 10)"),
    "label too high": ({"data": (*SMALL[:3], SMALL[3] + 1)}, "test_labels holds 10, but the model"),
    "label below 0": ({"data": (SMALL[0], SMALL[1] - 1, *SMALL[2:])}, "train_labels holds -1"),
    "test shape": ({"data": (*SMALL[:2], SMALL[2][..., 1:], SMALL[3])}, "they must be alike"),
    "image shape": (
        {"data": (SMALL[0][..., :6], SMALL[1], SMALL[2][..., :6], SMALL[3])},
        "takes no images of shape (1, 8, 6)",
    ),
    "float64": ({"model": gl.train.MLP().double()}, "linear1.weight is of float64"),
    "no graph": ({"model": CutOff(64, 10)}, "do not depend on what it can train"),
    "no path": ({"resume": True}, "resume is True: give a path"),
    "under a file": ({"checkpoint": f"{__file__}/run.pt"}, "checkpoint cannot be written"),
    "log under a file": ({"log": f"{__file__}/log"}, "log cannot be written"),
    "scores": ({"model": torch.nn.Conv2d(1, 1, 3)}, "it must give scores"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_sentence_before_anything_changes(case):
    options, expected = BAD[case]
    model = options.get("model", gl.train.LeNet(width=4))
    before, random, mode = weights(model), torch.get_rng_state(), model.training
    with pytest.raises((gl.errors.BadInput, gl.errors.DeviceError)) as caught:
        small_fit(**{"model": model, **options})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert torch.equal(before, weights(model))
    assert torch.equal(random, torch.get_rng_state())
    assert model.training == mode


def test_records_reach_the_callbacks_and_are_plain_data():
    steps, epochs = [], []
    _, history = small_fit(on_step=steps.append, on_epoch=epochs.append, schedule="warm-up")
    assert steps == history.steps
    assert epochs == history.epochs
    assert [s.samples for s in steps] == [16, 16, 16, 16, 6] * 2
    assert [s.step for s in steps] == list(range(1, 11))
    assert [s.epoch for s in steps] == [1] * 5 + [2] * 5
    assert steps[0].rate == 0.01
    assert steps[-1].rate < 0.001
    mean = np.average([s.loss for s in steps[:5]], weights=[16, 16, 16, 16, 6])
    assert epochs[0].train_loss == pytest.approx(mean)
    assert repr(history).startswith("10 steps in 2 epochs; accuracy on held-out data ")


def test_the_bar_is_for_terminals_and_notebooks_and_not_for_logs(capsys, monkeypatch):
    small_fit(progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    small_fit(progress=True)
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "accuracy" in shown
    small_fit(progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("steps", [1, 2, 690])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "warm-up"])
def test_every_step_of_a_schedule_moves_and_none_is_above_the_rate(schedule, steps):
    settings = Settings(1, 0.5, 1, "sgd", schedule, None, 1, 0)
    rates = [settings.rate_at(step, steps) for step in range(steps)]
    assert min(rates) > 0
    assert max(rates) == 0.5
    top = rates.index(0.5)
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
