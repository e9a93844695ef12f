"""Steps and schedules against torch.optim, which they must equal to rounding."""

import functools

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

import gpulearn as gl
from gpulearn.optim.optimizers import OPTIMIZERS, adam_step, momentum_step, rmsprop_step

STEPS = 100
RATE = 0.05

# step function, its options, torch's class, its options
PAIRS = {
    **{
        name: (entry.step, {}, getattr(torch.optim, entry.torch_class), entry.torch_options)
        for name, entry in OPTIMIZERS.items()
    },
    "light momentum": (momentum_step, {"momentum": 0.5}, torch.optim.SGD, {"momentum": 0.5}),
    "rmsprop, short": (
        rmsprop_step,
        {"alpha": 0.6, "epsilon": 1e-3},
        torch.optim.RMSprop,
        {"alpha": 0.6, "eps": 1e-3},
    ),
    "adam, short": (
        adam_step,
        {"beta1": 0.5, "beta2": 0.8, "epsilon": 1e-2},
        torch.optim.Adam,
        {"betas": (0.5, 0.8), "eps": 1e-2},
    ),
}
DTYPES = [(np.float64, 1e-14), (np.float32, 1e-6)]


def torch_path(theta, slope, optimizer, rates):
    """The parameters after each step of torch's optimizer."""
    parameter = torch.nn.Parameter(torch.tensor(theta))
    torchs = optimizer([parameter])
    for lr in rates:
        parameter.grad = torch.tensor(slope(parameter.detach().numpy()))
        torchs.param_groups[0]["lr"] = lr
        torchs.step()
        yield parameter.detach().numpy().copy()


@pytest.mark.parametrize(("dtype", "allowed"), DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("name", PAIRS)
def test_steps_equal_torch(name, weight_decay, dtype, allowed):
    step, options, optimizer, torch_options = PAIRS[name]
    worst = 0.0
    for seed, shape in enumerate([(7,), (3, 4), (2, 3, 2), (1,), ()]):
        rng = np.random.default_rng(seed)
        target = rng.normal(size=shape).astype(dtype)
        scale = np.asarray(np.exp(rng.normal(size=shape))).astype(dtype)
        noise = rng.normal(size=(STEPS, *shape)).astype(dtype)
        # on a convex loss whose gradients are noisy, as those of batches are
        counts = {"ours": 0, "torch": 0}

        def slope(theta, who, target=target, scale=scale, noise=noise, counts=counts):
            counts[who] += 1
            return scale * (theta - target) + noise[counts[who] - 1]

        theta, state = rng.normal(size=shape).astype(dtype), None
        build = functools.partial(
            optimizer, lr=RATE, weight_decay=weight_decay, foreach=False, **torch_options
        )
        rates = [RATE * (1 + (i % 3)) for i in range(STEPS)]
        path = torch_path(theta, functools.partial(slope, who="torch"), build, rates)
        off, size = 0.0, 0.0
        for lr, expected in zip(rates, path, strict=True):
            theta, state = step(
                theta, slope(theta, "ours"), state, lr=lr, weight_decay=weight_decay, **options
            )
            assert theta.shape == shape
            off = max(off, np.abs(theta - expected).max())
            size = max(size, np.abs(expected).max())
        worst = max(worst, off / size)
    assert worst <= allowed


def torch_rates(build, steps):
    """The rate of each step under one of torch's schedulers."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
    scheduler = build(optimizer)
    for _ in range(steps):
        yield optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def warm_up_then_cosine(optimizer):
    parts = [
        lr_scheduler.LinearLR(optimizer, start_factor=1 / 5, total_iters=4),
        lr_scheduler.CosineAnnealingLR(optimizer, T_max=35),
    ]
    return lr_scheduler.SequentialLR(optimizer, parts, milestones=[5])


@pytest.mark.parametrize(
    ("schedule", "options", "build"),
    [
        (
            gl.optim.cosine_rate,
            {"steps": 60, "lowest": 0.003},
            functools.partial(lr_scheduler.CosineAnnealingLR, T_max=60, eta_min=0.003),
        ),
        (gl.optim.warm_up_cosine_rate, {"steps": 40, "warm_up": 5}, warm_up_then_cosine),
    ],
)
def test_schedules_equal_torch(schedule, options, build):
    count = options["steps"] + 1
    ours = [schedule(step, RATE, **options) for step in range(count)]
    assert ours == pytest.approx(list(torch_rates(build, count)), rel=1e-12, abs=1e-17)
