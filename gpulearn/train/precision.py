"""Mixed precision: 16-bit forward and backward passes over float32 parameters."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from gpulearn import require

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
FIRST_SCALE = 2.0**16  # torch's own; doubled after 2000 good steps, halved after a bad one


class Precision:
    """What the passes of a training step are computed in, and the loss scaling it may need.

    The parameters stay float32. Within `autocast`, layers that multiply matrices compute with
    16-bit copies. float16 has no number between 0 and 6e-8, so that small gradients vanish:
    the loss, and with it every gradient, is multiplied by a scale, and the gradients are divided
    by it before they are used. A step whose gradients are not finite is left out and the scale
    halved. bfloat16 reaches as far down as float32 and needs no scale.
    Source: P. Micikevicius et al., Mixed Precision Training, 2018, arXiv 1710.03740.

    Args:
        name: "float32", "bfloat16" or "float16".
        device: where the model is, such as "cpu" or "cuda".
        scale: the first scale; only float16 uses it.

    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> precision = Precision("float16", scale=1024)
    >>> with precision.autocast():
    ...     loss = model(torch.ones(1, 2)).square().mean()
    >>> precision.backward(loss)
    >>> precision.unscale(optimizer)  # from here on gradients may be clipped
    >>> precision.step(optimizer)
    True
    """

    def __init__(
        self, name: str = "float32", device: torch.device | str = "cpu", scale: float = FIRST_SCALE
    ) -> None:
        self.name = require.choice("precision", name, PRECISIONS)
        require.above_zero("scale", scale)
        self.device_type = torch.device(device).type
        self.scaler = torch.amp.GradScaler(
            self.device_type, init_scale=scale, enabled=name == "float16"
        )

    def __repr__(self) -> str:
        scaled = f", scale {self.scale:g}" if self.name == "float16" else ""
        return f"Precision({self.name} on {self.device_type}{scaled})"

    @property
    def scale(self) -> float:
        """What the loss is multiplied by; 1 where no scaling is needed."""
        return float(self.scaler.get_scale())

    def autocast(self) -> AbstractContextManager[Any]:
        """The context in which to call the model and compute the loss."""
        dtype, enabled = PRECISIONS[self.name], self.name != "float32"
        return torch.amp.autocast(self.device_type, dtype=dtype, enabled=enabled)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the gradients of scale · loss."""
        self.scaler.scale(loss).backward()

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the gradients by the scale, once a step: before they are clipped or looked at."""
        self.scaler.unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Update the parameters, unscaling first where that is still to do, and adapt the scale.

        Returns:
            Whether the step was taken; with float16, one whose gradients are not finite is not.
        """
        before = self.scale
        self.scaler.step(optimizer)
        self.scaler.update()
        return self.scale >= before

    def state_dict(self) -> dict[str, Any]:
        """The scale and the count of good steps since it last changed; empty without scaling."""
        return dict(self.scaler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with a scale that was saved."""
        if state or self.name == "float16":
            self.scaler.load_state_dict(state)


def gradient_error(
    model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, precision: Precision
) -> float:
    """How far a batch's gradient in a precision is from float32's: ‖g − g₃₂‖ / ‖g₃₂‖.

    All parameters' gradients count as one long vector; `.grad` stays as it was. Dropout must be
    off (`model.eval()`), or the two gradients are of two networks.

    >>> model = torch.nn.Linear(4, 10)
    >>> images, labels = torch.ones(5, 4), torch.arange(5)
    >>> gradient_error(model, images, labels, Precision("float32"))
    0.0
    """
    trained = [p for p in model.parameters() if p.requires_grad]

    def gradients(passes: Precision) -> list[torch.Tensor]:
        with passes.autocast():
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        return [g / passes.scale for g in torch.autograd.grad(loss * passes.scale, trained)]

    exact = gradients(Precision("float32", precision.device_type))
    errors = [(r - e).norm() for r, e in zip(gradients(precision), exact, strict=True)]
    return float(torch.stack(errors).norm() / torch.stack([e.norm() for e in exact]).norm())


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
    gradient has overflowed, no step is taken, and the next one is tried with half the scale.
    Source: P. Micikevicius et al., Mixed Precision Training, 2018, arXiv 1710.03740, section 3.2.

    Images (n, …) and labels (n,), int64, are on the model's device; the model gives scores (n,
    classes). `max_norm` is as for `clip_by_global_norm`. Returned is the scale for the next step.

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
