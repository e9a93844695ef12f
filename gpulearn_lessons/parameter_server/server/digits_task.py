"""The digits as a task for a parameter server: a network whose weights are one vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.data import evaluate
from gpulearn.train.models import MLP


class DigitsTask:
    """An MLP on the digits, dealt out to clients; `start` are its first weights, of shape (n,).

    Args:
        samples: how many training digits each client has; together at most 1,438.
        batch: digits of one gradient; a client that has fewer takes all it has.

    >>> task = DigitsTask([800, 100])
    >>> tuple(task.start.shape), task.gradient(task.start, 1, 0).shape == task.start.shape
    ((2410,), True)
    """

    def __init__(self, samples: Sequence[int] = (359, 359, 359, 359), batch: int = 32) -> None:
        self.samples = tuple(require.whole("an entry of samples", count) for count in samples)
        self.batch = require.whole("batch", batch)
        self._images, self._labels = map(torch.from_numpy, digits()[:2])
        if sum(self.samples) > len(self._labels):
            raise BadInput(
                f"samples is {shown(samples)}, together {sum(self.samples):,}: there are "
                f"{len(self._labels):,} digits."
            )
        self._model = MLP((64, 32, 10), seed=0)
        self.start = parameters_to_vector(self._model.parameters()).detach()
        generator = torch.Generator().manual_seed(0)
        order = torch.randperm(len(self._labels), generator=generator)[: sum(self.samples)]
        self._rows = order.split(list(self.samples))

    def gradient(self, weights: Tensor, client: int, step: int) -> Tensor:
        """The gradient of the mean loss over one batch of a client, the same in every run.

        After all of a client's digits come all of them again, shuffled: `step` counts its batches.
        """
        rows = self._rows[client]
        size = min(self.batch, len(rows))
        epoch, place = divmod(step, max(1, len(rows) // size))
        generator = torch.Generator().manual_seed(1000 * epoch + 17 * client)
        mine = rows[torch.randperm(len(rows), generator=generator)[place * size :][:size]]
        vector_to_parameters(weights, self._model.parameters())
        loss = functional.cross_entropy(self._model(self._images[mine]), self._labels[mine])
        return parameters_to_vector(torch.autograd.grad(loss, list(self._model.parameters())))

    def loss(self, weights: Tensor) -> float:
        """The mean loss over the digits that are held out."""
        return self._held_out(weights)[0]

    def accuracy(self, weights: Tensor) -> float:
        """The share of the digits held out that is told right, 0 to 1."""
        return self._held_out(weights)[1]

    def _held_out(self, weights: Tensor) -> tuple[float, float]:
        vector_to_parameters(weights, self._model.parameters())
        return evaluate(self._model, *digits()[2:])
