"""What happened in a training run, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Epoch", "History", "Step"]


@dataclass(frozen=True)
class Step:
    """One step of the optimiser.

    Attributes:
        step: its number, from 1.
        epoch: the number of its epoch, from 1.
        samples: how many images its batch held.
        loss: mean cross-entropy over the batch, before the step.
        rate: the learning rate of this step.
        gradient_norm: global norm of the gradient, before clipping.
        scale: what the loss was multiplied by (1 without loss scaling).
    """

    step: int
    epoch: int
    samples: int
    loss: float
    rate: float
    gradient_norm: float
    scale: float = 1.0

    @property
    def skipped(self) -> bool:
        """Whether scaled gradients overflowed in float16, so that no step was taken."""
        return not math.isfinite(self.gradient_norm)


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data.

    Attributes:
        epoch: its number, from 1.
        step: the number of its last step.
        train_loss: mean of the batches' losses, weighted by their samples.
        test_loss: mean cross-entropy over the held-out data after the epoch.
        test_accuracy: share of the held-out data that is classified right, 0 to 1.
        seconds: how long it took, with evaluation and callbacks; two epochs are equal without it.
    """

    epoch: int
    step: int
    train_loss: float
    test_loss: float
    test_accuracy: float
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class History:
    """All steps and all epochs of a run, those before a resume included."""

    steps: list[Step]
    epochs: list[Epoch]

    @property
    def accuracy(self) -> float:
        """Share of the held-out data that is classified right after the last epoch, 0 to 1."""
        return self.epochs[-1].test_accuracy

    @property
    def seconds(self) -> float:
        """How long all epochs took together."""
        return sum(epoch.seconds for epoch in self.epochs)

    def __repr__(self) -> str:
        done = f"{len(self.steps):,} steps in {len(self.epochs)} epochs"
        return f"{done}; accuracy on held-out data {self.accuracy:.1%}" if self.epochs else done
