"""Trial of a layer of which each rank has a part: what comes out, and every gradient.

All is in float64. An answer is a function of tensors; what comes out is multiplied by known
numbers and added up, and that is differentiated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import failed_alike, plain, watched
from gpulearn.parallel.communicator import rank
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, rank_exercise, same_notes
from gpulearn_lessons.tensor_parallel import layers

TOLERANCE = 1e-9


@dataclass(frozen=True)
class LayerPart:
    """What one rank is given, and what should come of it."""

    given: dict[str, Any]  # name → tensor of float64 or of whole numbers, or another argument
    result: np.ndarray  # what the function should return
    # the gradient of the result; None where nothing is differentiated
    upstream: np.ndarray | None = None
    # name → what the gradient should be
    gradients: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitLayer:
    """A layer dealt out over ranks."""

    ranks: int  # how many
    part: Callable[[int], LayerPart]  # a rank's number → its part


@dataclass(frozen=True)
class LayerNotes:
    """What an answer made of a rank's part."""

    result: Any  # described in words if it is no tensor
    gradients: dict[str, Any] = field(default_factory=dict)  # by name; None where there is none
    called: bool = False  # whether the library's own function was called
    changed: str = ""  # the first argument whose numbers it has changed in place


def act(answer: Answer, layer: SplitLayer) -> LayerNotes:
    """Be one rank: call the answer with this rank's part, and go backward."""
    part = layer.part(rank())
    arguments = {
        name: torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
        for name, value in part.given.items()
    }
    for name in part.gradients:
        arguments[name].requires_grad_()
    with watched(answer, layers) as called:
        result = answer(*arguments.values())
    tensors = [(name, value) for name, value in arguments.items() if isinstance(value, Tensor)]
    changes = (name for name, t in tensors if not np.array_equal(plain(t), part.given[name]))
    changed = next(changes, "")
    if not isinstance(result, Tensor):
        return LayerNotes(shown(result), {}, bool(called), changed)
    upstream = part.upstream
    if upstream is not None and result.shape == upstream.shape and result.requires_grad:
        (result * torch.from_numpy(upstream)).sum().backward()
    gradients = {name: arguments[name].grad for name in part.gradients}
    grads = {name: None if grad is None else plain(grad) for name, grad in gradients.items()}
    return LayerNotes(plain(result), grads, bool(called), changed)


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    if any(own.called for own in got.ranks):
        return "it calls the library's function of that name: write it from the operations"
    pairs = list(zip(got.ranks, want.ranks, strict=True))
    for number, (own, right) in enumerate(pairs):
        if isinstance(own.result, str):
            return (
                f"rank {number} returns {own.result}, expected a tensor of shape "
                f"{right.result.shape}"
            )
        if sentence := _numbers(own.result, right.result):
            return f"what rank {number} returns {sentence}"
    for number, (own, right) in enumerate(pairs):
        for name, gradient in right.gradients.items():
            if own.gradients.get(name) is None:
                return f"the results are right, but on rank {number} {name} gets no gradient"
            if sentence := _numbers(own.gradients[name], gradient):
                return (
                    f"the results are right, but on rank {number} the gradient of {name} {sentence}"
                )
    for number, own in enumerate(got.ranks):
        if own.changed:
            return (
                f"all numbers are right, but rank {number} changes {own.changed}, which it was "
                f"given"
            )
    return None


def _numbers(value: np.ndarray, right: np.ndarray) -> str | None:
    if value.shape != right.shape:
        return f"has shape {value.shape}, expected {right.shape}"
    wrong = wrong_numbers(value, right, TOLERANCE * max(1.0, np.abs(right).max(initial=0)))
    return wrong and f"has {wrong}"


def target(layer: SplitLayer) -> list[LayerNotes]:
    parts = [layer.part(number) for number in range(layer.ranks)]
    return [LayerNotes(part.result, part.gradients) for part in parts]


def layer_exercise(
    task: str,
    reference: Answer,
    cases: Callable[[], Sequence[Case]],
    real: Callable[[int], LayerPart],
) -> Exercise:
    """An exercise on a layer of which each rank has a part; its cases are `SplitLayer`s.

    `real` makes what each of two real ranks is given, where an answer is right on simulated ones.
    """
    return rank_exercise(
        task=task,
        reference=reference,
        cases=cases,
        act=act,
        target=target,
        difference=difference,
        kinships=(failed_alike(same_notes),),
        counts=(2,),
        real=lambda ranks: [SplitLayer(ranks, real)],
    )
