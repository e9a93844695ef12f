"""Gradient averaging: the mean over all samples, on replicas with equal shards and not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import RankFailure, plain, watched
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, alike, rank_exercise

TOLERANCE = 1e-5  # a share may be rounded to float32 before the gradient is multiplied by it


def two_layers() -> nn.Module:
    """Four parameters, of 15, 5, 10 and 2 numbers."""
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def convolution() -> nn.Module:
    """Four parameters: one number, 18 of a filter, 24 and 3 of a block inside of the model."""
    head = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    model = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.ReLU(), head)
    model.register_parameter("temperature", nn.Parameter(torch.zeros(())))
    return model


def channels_last() -> nn.Module:
    """Two parameters, of 54 and 3 numbers; the filter's channels lie side by side in memory."""
    model: Any = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU())
    model.to(memory_format=torch.channels_last)
    return nn.Sequential(*model)


def tied() -> nn.Module:
    """Three parameters: 16 of a weight that two layers share, and each one's 4 of a bias."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second)


@dataclass(frozen=True)
class ReplicaStep:
    """What the ranks have after `backward`."""

    samples: tuple[int, ...]  # of each rank; a rank with none has no gradients
    build: Callable[[], nn.Module] = two_layers  # makes the model
    unused: tuple[tuple[int, int], ...] = ()  # pairs (rank, parameter) without a gradient
    frozen: tuple[int, ...] = ()  # parameters that need no gradient
    dtype: torch.dtype = torch.float32  # of the parameters
    scale: float = 1.0  # of the gradients

    @property
    def ranks(self) -> int:
        return len(self.samples)

    def replica(self, rank: int) -> nn.Module:
        """A rank's model; its parameters are its own too, so that an average of them is seen."""
        model = self.build().to(self.dtype)
        for number, parameter in enumerate(model.parameters()):
            parameter.requires_grad_(number not in self.frozen)
            with torch.no_grad():
                parameter.fill_(1 + number + rank / 4)
            gradient = self.gradient(rank, number, parameter)
            if gradient is not None:  # in the order in which the parameter lies in memory
                parameter.grad = torch.empty_like(parameter).copy_(torch.from_numpy(gradient))
        return model

    def gradient(self, rank: int, number: int, parameter: Tensor) -> np.ndarray | None:
        """A parameter's gradient on a rank: whole numbers other than zero, times the scale."""
        if (rank, number) in self.unused or number in self.frozen or not self.samples[rank]:
            return None
        random = np.random.default_rng((rank, number))
        whole = random.integers(1, 9, parameter.shape) * random.choice([-1, 1], parameter.shape)
        return np.asarray(whole * self.scale, dtype=plain(parameter).dtype)

    def means(self) -> list[np.ndarray | None]:
        """What each gradient should become; None where no rank has one."""
        means: list[np.ndarray | None] = []
        for number, parameter in enumerate(self.replica(0).parameters()):
            parts = [self.gradient(rank, number, parameter) for rank in range(self.ranks)]
            weighed = [n * g for n, g in zip(self.samples, parts, strict=True) if g is not None]
            means.append(np.sum(weighed, axis=0) / sum(self.samples) if weighed else None)
        return means


@dataclass(frozen=True)
class Averaged:
    """What a rank has after an answer has averaged."""

    gradients: list[np.ndarray | None]
    parameters: list[np.ndarray] | None = None  # if they are not as they were
    called: bool = False  # whether the answer calls the function that it is to be
    swapped: str = ""  # what the rank's model has that it had not before, if anything


def act(answer: Answer, step: ReplicaStep) -> Averaged:
    """Be one rank: build its replica, let the answer average, and look."""
    model = step.replica(rank())
    own = list(model.parameters())
    trained = [parameter.requires_grad for parameter in own]
    before = [plain(parameter) for parameter in own]
    with watched(answer, average_gradients) as called:
        answer(model, step.samples[rank()])
    gradients = [None if p.grad is None else plain(p.grad) for p in model.parameters()]
    after = [plain(parameter) for parameter in model.parameters()]
    swapped = ""
    if [id(parameter) for parameter in model.parameters()] != [id(parameter) for parameter in own]:
        swapped = "the model has other parameters afterwards, which no optimizer knows of"
    elif [parameter.requires_grad for parameter in own] != trained:
        swapped = "requires_grad changes, and what was frozen would be trained or the reverse"
    unchanged = not swapped and all(map(np.array_equal, before, after))
    return Averaged(gradients, None if unchanged else after, bool(called), swapped)


def failed(failure: RankFailure, step: ReplicaStep) -> str:
    meet = failure.kind == "misfit" and not step.unused and all(step.samples)
    question = " (do all ranks go through the parameters in the same order?)" if meet else ""
    return f"{failure.sentence}{question}"


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    if any(own.called for own in got.ranks):
        return "it calls the library's average_gradients: write it from sum_over_ranks"
    swapped: str = max(own.swapped for own in got.ranks)
    if swapped:
        return swapped
    for number, own in enumerate(got.ranks):
        if own.parameters is not None:
            return f"the parameters change on rank {number}: only the gradients should"
    names = [name for name, _ in got.work.replica(0).named_parameters()]
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        for name, gradient, mean in zip(names, own.gradients, right.gradients, strict=True):
            if sentence := _gradient(gradient, mean):
                return f"on rank {number}, the gradient of {name} {sentence}"
    return None


def _gradient(value: np.ndarray | None, mean: np.ndarray | None) -> str | None:
    if mean is None:
        if value is None or not value.any():  # NaN is not zero
            return None
        return "is not zero, though no rank has used it"
    if value is None:
        return "is None, though a rank has used it"
    wrong = wrong_numbers(value, mean, TOLERANCE * np.abs(mean).max())
    return wrong and f"has {wrong}"


def cases() -> list[Case]:
    """Equal shards and not, a rank without samples, layers that some ranks do not use."""
    steps = {
        "2 ranks with 1 sample each": ReplicaStep((1, 1)),
        "2 ranks with 3 samples and 1": ReplicaStep((3, 1)),
        "3 ranks with 8 samples each": ReplicaStep((8, 8, 8), convolution),
        "4 ranks with 5, 2, 4 and 1 samples": ReplicaStep((5, 2, 4, 1), convolution),
        "1 rank with 6 samples": ReplicaStep((6,)),
        "3 ranks, of which rank 1 has no samples": ReplicaStep((4, 0, 2)),
        "2 ranks, of which rank 1 did not use the first layer": ReplicaStep(
            (2, 2), unused=((1, 0), (1, 1))
        ),
        "3 ranks, of which only one used the last layer": ReplicaStep(
            (2, 1, 3), unused=((0, 2), (0, 3), (2, 2), (2, 3)), dtype=torch.float64
        ),
        "2 ranks and a last parameter that one of them used": ReplicaStep(
            (1, 2), convolution, unused=((0, 3),)
        ),
        "2 ranks and a parameter that none has used": ReplicaStep((3, 2), unused=((0, 3), (1, 3))),
        "2 ranks and a first layer that is frozen": ReplicaStep((2, 3), frozen=(0, 1)),
        "2 ranks and a weight that two layers share": ReplicaStep((1, 3), tied),
        "2 ranks and a filter whose channels lie side by side": ReplicaStep((3, 1), channels_last),
        "2 ranks with 70000 samples and 3": ReplicaStep((70_000, 3)),
        "2 ranks and large gradients in float64": ReplicaStep(
            (7, 2), dtype=torch.float64, scale=1e60
        ),
    }
    return [Case(label, (step,)) for label, step in steps.items()]


def real(count: int) -> list[ReplicaStep]:
    uneven = tuple(range(1, count + 1))
    return [
        ReplicaStep((4,) * count, convolution),
        ReplicaStep(uneven, dtype=torch.float64),
        ReplicaStep((*uneven[1:], 0), convolution),
        ReplicaStep(uneven, unused=((0, 0), (count - 1, 3))),
    ]


EXERCISE = rank_exercise(
    task="Replace each gradient, on every rank, by that of the mean loss over all samples.",
    reference=average_gradients,
    cases=cases,
    act=act,
    target=lambda step: [Averaged(step.means())] * step.ranks,
    failed=failed,
    difference=difference,
    same=lambda one, other: alike(one.ranks, other.ranks, TOLERANCE),
    counts=(2, 3),
    real=real,
)
