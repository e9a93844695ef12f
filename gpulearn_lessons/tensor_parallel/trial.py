"""Trial of a layer of which each rank has a part: what comes out, and every gradient.

All is in float64. An answer is a function of tensors; what comes out is multiplied by known
numbers and added up, and that is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import (
    RankFailure,
    demand_on_real_ranks,
    failed_alike,
    on_simulated_ranks,
    plain,
    watched,
)
from gpulearn.parallel.communicator import rank
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks
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
class LayerResult:
    """An answer's outcome on all ranks."""

    layer: SplitLayer  # what was dealt out
    failure: RankFailure | None = None  # how it failed, if it did
    # each rank's; described in words if it is no tensor
    results: list[Any] = field(default_factory=list)
    # each rank's, by name; None where there is none
    gradients: list[dict[str, Any]] = field(default_factory=list)
    called: bool = False  # whether the library's own function was called
    # each rank's first argument whose numbers it has changed in place; "" if none
    changed: list[str] = field(default_factory=list)


def act(answer: Answer, layer: SplitLayer) -> tuple[Any, dict[str, Any], bool, str]:
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
        return shown(result), {}, bool(called), changed
    upstream = part.upstream
    if upstream is not None and result.shape == upstream.shape and result.requires_grad:
        (result * torch.from_numpy(upstream)).sum().backward()
    gradients = {name: arguments[name].grad for name in part.gradients}
    grads = {name: None if grad is None else plain(grad) for name, grad in gradients.items()}
    return plain(result), grads, bool(called), changed


def run(answer: Answer, case: Case) -> LayerResult:
    layer: SplitLayer = case.args[0]
    with torch_on_simulated_ranks():
        ran = on_simulated_ranks(act, layer.ranks, answer, layer)
    return LayerResult(layer, ran) if isinstance(ran, RankFailure) else gathered(layer, ran.results)


def gathered(layer: SplitLayer, ranks: Sequence[Any]) -> LayerResult:
    results, gradients, called, changed = zip(*ranks, strict=True)
    return LayerResult(layer, None, list(results), list(gradients), any(called), list(changed))


def expected(case: Case) -> LayerResult:
    layer: SplitLayer = case.args[0]
    parts = [layer.part(number) for number in range(layer.ranks)]
    return LayerResult(layer, None, [p.result for p in parts], [p.gradients for p in parts])


def difference(got: LayerResult, want: LayerResult) -> str | None:
    """One sentence on the results, then on the gradients, or None."""
    if got.failure:
        return got.failure.sentence
    if got.called:
        return "it calls the library's function of that name: write it from the operations"
    for number, (value, right) in enumerate(zip(got.results, want.results, strict=True)):
        if isinstance(value, str):
            return f"rank {number} returns {value}, expected a tensor of shape {right.shape}"
        if sentence := _numbers(value, right):
            return f"what rank {number} returns {sentence}"
    pairs = zip(got.gradients, want.gradients, strict=True)
    for number, (grads, rights) in enumerate(pairs):
        for name, right in rights.items():
            if grads.get(name) is None:
                return f"the results are right, but on rank {number} {name} gets no gradient"
            if sentence := _numbers(grads[name], right):
                return (
                    f"the results are right, but on rank {number} the gradient of {name} {sentence}"
                )
    for number, name in enumerate(got.changed):
        if name:
            return f"all numbers are right, but rank {number} changes {name}, which it was given"
    return None


def _numbers(value: np.ndarray, right: np.ndarray) -> str | None:
    if value.shape != right.shape:
        return f"has shape {value.shape}, expected {right.shape}"
    wrong = wrong_numbers(value, right, TOLERANCE * max(1.0, np.abs(right).max(initial=0)))
    return wrong and f"has {wrong}"


def _judge(layer: SplitLayer, ranks: list[Any]) -> str | None:
    return difference(gathered(layer, ranks), expected(Case("", (layer,))))


@failed_alike
def same(one: LayerResult, other: LayerResult) -> bool:
    results = all(map(_close, one.results, other.results))
    return (
        (one.called, one.changed) == (other.called, other.changed)
        and results
        and all(
            _close(mine[name], theirs.get(name))
            for mine, theirs in zip(one.gradients, other.gradients, strict=True)
            for name in mine
        )
    )


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return one is other or (isinstance(one, str) and one == other)
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True)
    )


def layer_exercise(
    task: str,
    reference: Answer,
    cases: Callable[[], Sequence[Case]],
    real: Callable[[int], LayerPart],
) -> Exercise:
    """An exercise on a layer of which each rank has a part; its cases are `SplitLayer`s.

    `real` makes what each of two real ranks is given, where an answer is right on simulated ones.
    """
    return Exercise(
        task=task,
        reference=reference,
        cases=cases,
        run=run,
        by_hand=False,
        expect=expected,
        difference=difference,
        demand=demand_on_real_ranks(act, (2,), lambda ranks: [SplitLayer(ranks, real)], _judge),
        kinships=(same,),
    )
