"""A stale gradient: the rate falls with its staleness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import is_number, told_apart
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.parameter_server.server.staleness import apply_stale_gradient


@dataclass(frozen=True)
class StalePush:
    """A gradient at the server, and what the server knows about it."""

    weights: np.ndarray
    gradient: np.ndarray
    lr: float
    version: int
    computed_at: int


@dataclass(frozen=True)
class PushOutcome:
    """What the server has afterwards: its weights, the gradient, and what was returned."""

    weights: np.ndarray
    gradient: np.ndarray
    version: Any


def cases() -> list[Case]:
    """Fresh and stale, small and large versions, one axis and two, float32, tensors."""
    random = np.random.default_rng(0)

    def push(
        shape: tuple[int, ...], lr: float, version: int, computed_at: int, dtype: str = "float64"
    ) -> tuple[StalePush]:
        weights, gradient = (random.normal(size=shape).astype(dtype) for _ in range(2))
        return (StalePush(weights, gradient, lr, version, computed_at),)

    works = {
        "the first update of all": push((3,), 0.5, 0, 0),
        "version 1, computed at 0": push((3,), 0.5, 1, 0),
        "version 7, computed at 7": push((2, 4), 0.1, 7, 7),
        "version 7, computed at 3": push((2, 4), 0.1, 7, 3),
        "version 1,000, computed at 998": push((5,), 3.5, 1000, 998),
        "version 40, computed at 0": push((5,), 2.0, 40, 0),
        "float32, version 12 computed at 9": push((6,), 0.25, 12, 9, "float32"),
        "tensors, version 5 computed at 4": push((3, 2), 0.5, 5, 4),
    }
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> PushOutcome:
    """Let an answer apply the gradient to copies."""
    push: StalePush = case.args[0]
    weights, gradient = push.weights.copy(), push.gradient.copy()
    kind: Any = torch.from_numpy if case.label.startswith("tensors") else np.asarray
    version = answer(kind(weights), kind(gradient), push.lr, push.version, push.computed_at)
    return PushOutcome(weights, gradient, version)


def difference(got: PushOutcome, want: PushOutcome) -> str | None:
    if not np.array_equal(got.gradient, want.gradient):
        return "it changes the gradient: change only the weights"
    allowed = 1e-5 if want.weights.dtype == np.float32 else 1e-12
    apart = np.abs(got.weights - want.weights)
    near = apart <= allowed * (1 + np.abs(want.weights))
    if not near.all():
        place = tuple(int(i) for i in np.argwhere(~near)[0])
        text = told_apart(got.weights[place], want.weights[place])
        return f"weights[{', '.join(map(str, place))}] is {text}"
    if not is_number(got.version) or got.version != want.version:
        return f"it returns {shown(got.version)}, expected the new version, {want.version}"
    return None


def same(one: PushOutcome, other: PushOutcome) -> bool:
    if is_number(one.version) and is_number(other.version):
        return difference(one, other) is None
    kinds = {(type(version), np.shape(version)) for version in (one.version, other.version)}
    return len(kinds) == 1 and np.allclose(one.weights, other.weights, equal_nan=True)


EXERCISE = Exercise(
    task="Apply a gradient with the rate lr / (1 + τ), where τ is its staleness.",
    reference=apply_stale_gradient,
    cases=cases,
    run=run,
    by_hand=False,
    difference=difference,
    kinships=(same,),
)
