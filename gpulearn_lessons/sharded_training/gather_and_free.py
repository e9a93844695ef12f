"""ZeRO stage 3: whole weights of one layer at a time, judged by the peak of what is held too."""

from __future__ import annotations

import itertools
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
    """x ↦ tanh(W·x + b), with W (w, v) and b (w,) handed over as one row of w·v + w numbers."""

    def __init__(self, given: int, width: int, now: Callable[[], int] = lambda: 0) -> None:
        self.bytes: int | None = None  # alive when it first went forward
        self._now = now
        self.count = width * given + width
        self._shape = width, given

    def _cut(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        if weights.shape != (self.count,):
            raise ValueError(
                f"weights of shape {tuple(weights.shape)} for a layer of {self.count}: cut off the "
                f"padding"
            )
        matrix, bias = weights.split([self.count - self._shape[0], self._shape[0]])
        return matrix.view(self._shape), bias

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        """(n, v) → (n, w)."""
        if self.bytes is None:
            self.bytes = self._now()
        matrix, bias = self._cut(weights)
        return torch.tanh(x @ matrix.T + bias)

    def backward(self, weights: Tensor, x: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients by x, (n, v), and by the weights, (count,)."""
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
    widths: tuple[int, ...]  # of what each layer is given, and of what the last returns

    def stack(self, now: Callable[[], int] = lambda: 0) -> list[TanhLayer]:
        return [TanhLayer(*pair, now) for pair in itertools.pairwise(self.widths)]

    @property
    def counts(self) -> list[int]:
        return [layer.count for layer in self.stack()]

    def row(self, layer: int) -> Tensor:
        random = np.random.default_rng((layer, width := self.widths[layer]))
        return torch.from_numpy(random.normal(size=self.counts[layer]) / width**0.5)

    def shard(self, row: Tensor, rank: int) -> Tensor:
        """A rank's part of a row, padded."""
        length = -(-len(row) // self.ranks)
        padded = torch.nn.functional.pad(row, (0, self.ranks * length - len(row)))
        return padded.view(self.ranks, length)[rank].clone()

    def batch(self, rank: int) -> Tensor:
        return torch.from_numpy(np.random.default_rng(50 + rank).normal(size=(2, self.widths[0])))

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Be one rank; count what is alive at most, beyond what is handed over."""
        live = LiveMemory()
        layers = self.stack(lambda: live.now)
        shards = [self.shard(self.row(number), rank()) for number in range(len(layers))]
        before = [shard.clone() for shard in shards]
        with live:
            rows = answer(layers, shards, self.batch(rank()), slope)
        numbers: Numbers = {"the shards": "change"}
        if all(map(torch.equal, shards, before)):
            numbers["the shards"] = "stay"
        for number in range(len(layers)):
            row = rows[number] if isinstance(rows, list | tuple) and number < len(rows) else None
            numbers[f"the gradients of layer {number}"] = trial.as_row(row)
        return numbers, {"most": live.most, "first": layers[0].bytes or 0}

    def target(self, rank: int) -> Numbers:
        """This rank's part of the mean gradient of one process."""
        layers = self.stack()
        rows = [self.row(number).requires_grad_() for number in range(len(layers))]
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
        whole, layers = 8 * (max(self.counts) + self.ranks), len(self.counts)
        own = layers * (whole // self.ranks + 8)
        inputs = 8 * 2 * max(self.widths) * (layers + 8)
        return MAX_LAYERS * whole + own + inputs

    def too_much(self, facts: Facts, sent: int) -> str | None:
        """Whether a rank held or sent more than it has to."""
        whole, deep = max(self.counts), len(self.counts) > MAX_LAYERS
        most = 3 * (self.ranks - 1) * sum(-(-count // self.ranks) for count in self.counts) * 8
        if deep and facts["first"] > MAX_LAYERS * 8 * whole:
            layers = facts["first"] / whole / 8
            return f"{layers:.0f} layers are whole when the first goes forward, but one is enough"
        over = (facts["most"] - self.most) / whole / 8
        if deep and over > 0:
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
    """One rank to five; layers that they divide and that they do not, alike or not; many."""
    works = [
        LayersWork(2, (2,) * 2), LayersWork(2, (3,) * 3), LayersWork(4, (3,) * 4),
        LayersWork(3, (4,) * 3), LayersWork(4, (5,) * 3), LayersWork(5, (3,) * 4),
        LayersWork(1, (3,) * 3), LayersWork(2, (24,) * 17), LayersWork(2, (2, 3, 4, 3)),
    ]  # fmt: skip
    return [
        Case(
            f"{w.ranks} rank{'s' * (w.ranks > 1)} and {(n := len(w.counts))} layer{'s' * (n > 1)} "
            f"of {', '.join(map(str, dict.fromkeys(w.counts)))} weights",
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
    return [LayersWork(count, (3,) * 3)]


EXERCISE = trial.sharding_exercise(
    task="Run forward and backward with the full weights of only one layer at a time.",
    reference=gather_and_free,
    cases=cases,
    ready=with_counter_loaded,
    real=real,
)
