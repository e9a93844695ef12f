"""Notebook 14: images a second in a step of training, by network, precision and batch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.perf import timing
from gpulearn.perf.matmul_times import float32_products, runs_here
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.plot.recorders.measuring import agree, timed, torch_on

PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
BATCH = 1024
CHECKED = 64  # images whose gradient is held against float32 on the CPU
WIDE = 256  # channels of the wide network's first convolution; LeNet has 32

# how far a gradient may be off, relative to its largest element: well above what rounding in
# this precision makes, well below a wrong one
BOUNDS = {"float32": 1e-3, "tf32": 5e-2, "bfloat16": 0.25, "float16": 0.1}


def networks() -> dict[str, Callable[[], Any]]:
    """How the notebook calls a network → makes it."""
    from gpulearn.train.models import MLP, LeNet

    return {
        "LeNet": lambda: LeNet(seed=0),
        "MLP": lambda: MLP(seed=0),
        f"LeNet, {WIDE // 32} times as wide": lambda: LeNet(width=WIDE, seed=0),
    }


def record_training(batch: int = BATCH, precisions: Sequence[str] = PRECISIONS) -> Recording:
    """Time a step of AdamW on a batch of random 8 × 8 images, with the host's part of it.

    "float32" is without TF32, "bfloat16" and "float16" are mixed precision; what the GPU has no
    units for is left out. The rows have `network`, `precision`, `batch` and `seconds` of a step.
    """
    return recorded_here("training", _rows(batch, precisions), torch_on())


def _rows(batch: int, precisions: Sequence[str]) -> Iterator[dict[str, Any]]:
    torch, on = require.package("torch", "Recording"), torch_on()
    generator = torch.Generator().manual_seed(12)
    images = torch.randn(batch, 1, 8, 8, generator=generator).to(on)
    labels = torch.randint(10, (batch,), generator=generator).to(on)
    usable = [name for name in precisions if on == "cpu" or runs_here(name)]
    for (name, make), precision in itertools.product(networks().items(), usable):
        fields = {"network": name, "precision": precision, "batch": batch}
        with _arithmetic(precision):
            prepare = partial(_step, make, precision, images, labels)
            row = timed(fields, prepare, _host_seconds)
        yield row


def _host_seconds(step: Callable[[], object]) -> float:
    """The median seconds as the host sees it: launches and copies are counted."""
    return timing.measure(step, seconds=0.03).median


def _step(
    make: Callable[[], Any], precision: str, images: Any, labels: Any
) -> Callable[[], object]:
    from torch.nn import functional

    from gpulearn.train.precision import Precision

    torch, on = require.package("torch", "Recording"), torch_on()

    def loss_of(model: Any, passes: Precision, images: Any, labels: Any) -> Any:
        with passes.autocast():
            return functional.cross_entropy(model(images), labels)

    def gradient(model: Any, passes: Precision, *some: Any) -> np.ndarray[Any, Any]:
        loss = loss_of(model, passes, *some) * passes.scale
        parts = torch.autograd.grad(loss, list(model.parameters()))
        flat = torch.cat([part.flatten() for part in parts]) / passes.scale
        return flat.double().cpu().numpy()  # type: ignore[no-any-return]

    name = "float32" if precision == "tf32" else precision
    passes, model = Precision(name, on), make().to(on)
    model.eval()  # without dropout, so that both gradients are of one network
    some, theirs = images[:CHECKED], labels[:CHECKED]
    # a scale so low that nothing overflows: the first steps of a run may, and leave it out
    computed = gradient(model, Precision(name, on, scale=2.0**10), some, theirs)
    expected = gradient(make().eval(), Precision(), some.cpu(), theirs.cpu())
    agree(f"the gradient in {precision}", computed, expected, BOUNDS[precision])
    model.train()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler(on, enabled=name == "float16")

    def step() -> None:
        optimizer.zero_grad()
        scaler.scale(loss_of(model, passes, images, labels)).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


@contextmanager
def _arithmetic(precision: str) -> Iterator[None]:
    """Let matrix products and convolutions use TF32, or keep them from it."""
    torch = require.package("torch", "Recording")
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    try:
        with float32_products(torch, precision == "tf32"):
            yield
    finally:
        torch.backends.cudnn.allow_tf32 = before
