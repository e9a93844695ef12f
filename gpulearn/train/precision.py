"""Mixed precision: 16-bit forward and backward passes over float32 parameters."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from gpulearn import require

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """What the passes of a training step are computed in, and the loss scaling it may need.

    The parameters stay float32. Within `autocast`, layers that multiply matrices compute with
    16-bit copies. float16 has no number between 0 and 6e-8, so that small gradients vanish:
    the loss, and with it every gradient, is multiplied by `scale`, which is 1 elsewhere. Divide the
    gradients by it before you use them, as `scale_the_loss` does.
    Source: P. Micikevicius et al., Mixed Precision Training, 2018, arXiv 1710.03740.

    >>> model, precision = torch.nn.Linear(2, 1), Precision("float16", scale=1024)
    >>> with precision.autocast():
    ...     loss = model(torch.ones(1, 2)).square().mean()
    >>> precision.backward(loss)
    """

    def __init__(
        self, name: str = "float32", device: torch.device | str = "cpu", scale: float = 2.0**16
    ) -> None:
        self.name = require.choice("precision", name, PRECISIONS)
        require.above_zero("scale", scale)
        self.device_type = torch.device(device).type
        self.scale = scale if name == "float16" else 1.0

    def autocast(self) -> AbstractContextManager[Any]:
        """The context in which to call the model and compute the loss."""
        dtype, enabled = PRECISIONS[self.name], self.name != "float32"
        return torch.amp.autocast(self.device_type, dtype=dtype, enabled=enabled)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the gradients of scale · loss."""
        (loss * self.scale).backward()


def scale_the_loss(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    labels: torch.Tensor,
    scale: float,
    max_norm: float,
) -> float:
    """One training step in float16 with loss scaling and clipping, every line written out.

    The order is backward, unscale, clip, step: the limit is one for the true gradient. Where the
    gradient has overflowed, no step is taken, and the next one is tried with half the scale, which
    is returned. Source: P. Micikevicius et al., Mixed Precision Training, 2018, arXiv 1710.03740,
    section 3.2.

    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> batch = torch.eye(2), torch.tensor([0, 1])
    >>> scale_the_loss(model, optimizer, *batch, scale=1024.0, max_norm=1.0)
    1024.0
    >>> scale_the_loss(model, optimizer, *batch, scale=2.0**30, max_norm=1.0)
    536870912.0
    """
    optimizer.zero_grad()
    with torch.autocast(images.device.type, dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    (loss * scale).backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(scale)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if not norm.isfinite():
        return scale / 2
    optimizer.step()
    return scale
