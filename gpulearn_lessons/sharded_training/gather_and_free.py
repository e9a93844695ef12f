"""ZeRO stage 3: whole weights of one layer at a time, judged by the peak of what is held too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.parallel.communicator import rank
from gpulearn.train.memory import LiveMemory
from gpulearn_lessons.sharded_training import trial
from gpulearn_lessons.sharded_training.by_hand import gather_and_free
from gpulearn_lessons.sharded_training.trial import Facts, Numbers

MAX_LAYERS = 3  # whole at once beyond what `most` allows for; who deletes nothing needs one more


class TanhLayer:
    """x ↦ tanh(W·x + b), with W (w, w) and b (w,) handed over as one row of w² + w numbers."""

    def __init__(self, width: int, now: Callable[[], int] = lambda: 0) -> None:
        self.bytes: int | None = None  # alive when it first went forward
        self._now = now
        self.count = width * width + width
        self._width = width

    def _cut(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        w = self._width
        if weights.shape != (self.count,):
            raise ValueError(
                f"weights of shape {tuple(weights.shape)} for a layer of {self.count}: cut off the "
                f"padding"
            )
        return weights[: w * w].view(w, w), weights[w * w :]

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        """(n, w) → (n, w)."""
        if self.bytes is None:
            self.bytes = self._now()
        matrix, bias = self._cut(weights)
        return torch.tanh(x @ matrix.T + bias)

    def backward(self, weights: Tensor, x: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients by x, (n, w), and by the weights, (count,)."""
        matrix, bias = self._cut(weights)
        inner = after * (1 - torch.tanh(x @ matrix.T + bias) ** 2)
        return inner @ matrix, torch.cat([(inner.T @ x).flatten(), inner.sum(0)])


def slope(output: Tensor) -> Tensor:
    """The gradient of half the sum of the squares."""
    return output


@dataclass(frozen=True)
class LayersWork:
    """A stack of layers, a batch for each rank."""

    ranks: int  # how many
    width: int  # of each layer
    layers: int  # how many

    def row(self, layer: int) -> Tensor:
        count = TanhLayer(self.width).count
        random = np.random.default_rng((layer, self.width))
        return torch.from_numpy(random.normal(size=count) / self.width**0.5)

    def shard(self, row: Tensor, rank: int) -> Tensor:
        """A rank's part of a row, padded."""
        length = -(-len(row) // self.ranks)
        padded = torch.nn.functional.pad(row, (0, self.ranks * length - len(row)))
        return padded.view(self.ranks, length)[rank].clone()

    def batch(self, rank: int) -> Tensor:
        return torch.from_numpy(np.random.default_rng(50 + rank).normal(size=(2, self.width)))

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Be one rank; count what is alive at most, beyond what is handed over."""
        live = LiveMemory()
        layers = [TanhLayer(self.width, lambda: live.now) for _ in range(self.layers)]
        shards = [self.shard(self.row(number), rank()) for number in range(self.layers)]
        before = [shard.clone() for shard in shards]
        with live:
            rows = answer(layers, shards, self.batch(rank()), slope)
        numbers: Numbers = {"the shards": "change"}
        if all(map(torch.equal, shards, before)):
            numbers["the shards"] = "stay"
        for number in range(self.layers):
            row = rows[number] if isinstance(rows, list | tuple) and number < len(rows) else None
            numbers[f"the gradients of layer {number}"] = trial.as_row(row)
        return numbers, {"most": live.most, "first": layers[0].bytes or 0}

    def target(self, rank: int) -> Numbers:
        """This rank's part of the mean gradient of one process."""
        layers = [TanhLayer(self.width) for _ in range(self.layers)]
        rows = [self.row(number).requires_grad_() for number in range(self.layers)]
        for other in range(self.ranks):
            x = self.batch(other)
            for layer, row in zip(layers, rows, strict=True):
                x = layer.forward(row, x)
            loss: Any = x.square().sum() / 2 / self.ranks
            loss.backward()
        numbers: Numbers = {"the shards": "stay"}
        for number, row in enumerate(rows):
            assert row.grad is not None
            numbers[f"the gradients of layer {number}"] = self.shard(row.grad, rank).numpy()
        return numbers

    @property
    def most(self) -> int:
        """Bytes that may be alive at once: shards of gradients, inputs, and `MAX_LAYERS` layers."""
        whole = 8 * (TanhLayer(self.width).count + self.ranks)
        own = self.layers * (whole // self.ranks + 8)
        inputs = 8 * 2 * self.width * (self.layers + 8)
        return MAX_LAYERS * whole + own + inputs

    def too_much(self, facts: Facts, sent: int) -> str | None:
        """Whether a rank held or sent more than it has to."""
        whole = TanhLayer(self.width).count
        most = self.layers * 3 * (self.ranks - 1) * -(-whole // self.ranks) * 8
        if self.layers > MAX_LAYERS and facts["first"] > MAX_LAYERS * 8 * whole:
            layers = facts["first"] / whole / 8
            return f"{layers:.0f} layers are whole when the first goes forward, but one is enough"
        over = (facts["most"] - self.most) / whole / 8
        if self.layers > MAX_LAYERS and over > 0:
            if over < 2:
                return (
                    f"what one layer needed is still there while the next goes backward: a rank "
                    f"holds {facts['most']:,} bytes, but {self.most:,} are enough"
                )
            twice = "" if sent < most else ", although it gathers each layer twice"
            return (
                f"a rank holds {facts['most']:,} bytes at once, as many as "
                f"{facts['most'] / whole / 8:.0f} full layers{twice}; {self.most:,} are enough"
            )
        if sent > most:
            return (
                f"a rank sends {sent:,} bytes, but {most:,} are enough: gather each layer twice "
                f"and reduce-scatter its gradient once"
            )
        return None


def cases() -> list[Case]:
    """One rank to five; layers that they divide and that they do not; a deep stack."""
    works = [
        LayersWork(2, 2, 1), LayersWork(2, 3, 2), LayersWork(4, 3, 3), LayersWork(3, 4, 2),
        LayersWork(4, 5, 2), LayersWork(5, 3, 3), LayersWork(1, 3, 2), LayersWork(2, 24, 16),
    ]  # fmt: skip
    return [
        Case(
            f"{w.ranks} rank{'s' * (w.ranks > 1)} and {w.layers} layer{'s' * (w.layers > 1)} of "
            f"{TanhLayer(w.width).count} weights",
            (w,),
        )
        for w in works
    ]


def with_counter_loaded(answer: Answer) -> Answer:
    """The answer; torch loads more where it first counts memory, which takes seconds."""
    with LiveMemory():
        torch.zeros(1)
    return answer


def real(count: int) -> list[LayersWork]:
    return [LayersWork(count, 3, 2)]


EXERCISE = trial.sharding_exercise(
    task="Run forward and backward with the full weights of only one layer at a time.",
    reference=gather_and_free,
    cases=cases,
    ready=with_counter_loaded,
    real=real,
)
