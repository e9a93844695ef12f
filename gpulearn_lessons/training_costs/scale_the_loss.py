"""A step in float16 with loss scaling, given in the wrong order, to fix from its symptoms."""

from __future__ import annotations

import functools
from typing import Any

import torch

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.precision import scale_the_loss
from gpulearn_lessons.training.trial import Outcome, apart, flat, number, same


def cases() -> list[Case]:
    """Scales that fit and that overflow; short and long gradients; momentum; old gradients."""
    work: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("a scale of 1,024 and a limit that is not reached", (1024.0, 100.0, 1.0, 1, 0)),
        ("a scale of 1,024 and a long gradient", (1024.0, 0.05, 1.0, 1, 0)),
        ("three steps with momentum, clipped", (4096.0, 0.1, 1.0, 3, 0)),
        ("a scale of 2 to the 40", (2.0**40, 1.0, 1.0, 1, 0)),
        ("a scale that overflows, between two good steps", (1024.0, 1.0, 1.0, 3, 2)),
        ("a good step, after a scale that overflows", (1024.0, 1.0, 1.0, 2, 1)),
        ("an overflow behind hidden units that are all dead", (2.0**40, 1.0, 1.0, 1, 0)),
        ("a parameter that holds an old gradient", (1024.0, 100.0, 1.0, 1, 0)),
        ("a scale of 1", (1.0, 0.1, 1.0, 2, 0)),
        (
            "a single layer, a single image and a scale of 2 to the 30",
            (2.0**30, 1.0, 1.0, 1, 0),
        ),
        ("an image that holds nan, and a scale of 1", (1.0, 1.0, float("nan"), 1, 0)),
        ("a scale of 2 to the 18, which just fits", (2.0**18, 0.1, 1.0, 1, 0)),
        ("an overflow in the last layer alone", (1024.0, 1.0, 1.0, 1, 0)),
        ("a first layer that is frozen", (1024.0, 0.05, 1.0, 1, 0)),
        ("a gradient hundreds of times as long as the limit", (16.0, 0.5, 300.0, 1, 0)),
        ("a limit of a millionth", (1024.0, 1e-6, 1.0, 2, 0)),
        ("an optimizer with a group for each layer", (1024.0, 0.05, 1.0, 1, 0)),
    )
    return [Case(label, plan) for label, plan in work]


def network(layers: int) -> torch.nn.Sequential:
    if layers == 1:  # its gradients overflow to inf, without a nan from inf − inf
        return torch.nn.Sequential(torch.nn.Linear(12, 4))
    return torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))


def run(answer: Answer, case: Case) -> Outcome:
    """Take the steps, one of them with an overflowing scale where the case says so."""
    fits, max_norm, size, steps, overflows = case.args
    facts: dict[str, Any] = {}
    with apart(steps):
        alone = "single" in case.label
        model = network(1 if alone else 2)
        if "dead" in case.label:  # no gradient passes them, so none in front of them overflows
            torch.nn.init.constant_(model.get_parameter("0.bias"), -100.0)
        if "last" in case.label:  # whose inputs are so large that only its own gradient overflows
            torch.nn.init.constant_(model.get_parameter("0.bias"), 1000.0)
            torch.nn.init.uniform_(model.get_parameter("2.weight"), -1e-3, 1e-3)
        if "frozen" in case.label:
            model.get_submodule("0").requires_grad_(False)
        parts = model if "group" in case.label else [model]
        groups = [{"params": part.parameters()} for part in parts]
        optimizer = torch.optim.SGD(groups, lr=0.5, momentum=0.9)
        for p in model.parameters():
            p.grad = torch.randn_like(p) if "old" in case.label else None
        for step in range(1, steps + 1):
            scale = 2.0**40 if step == overflows else fits
            count = 1 if alone else 6
            images, labels = torch.rand(count, 12) * size, torch.randint(4, (count,))
            returned = answer(model, optimizer, images, labels, scale, max_norm)
            where = f"step {step}" if steps > 1 else "the step"
            facts[f"the parameters after {where}"] = flat(model.parameters())
            facts[f"the scale that it returns in {where}"] = number(returned)
        facts["the dtype of the parameters"] = str(next(model.parameters()).dtype)[6:]
    return Outcome(facts)


# a right answer may compute the norm in another order, and divides by powers of two
difference = functools.partial(same, tolerance=2e-5)

EXERCISE = Exercise(
    task="Fix the step: backward, unscale, clip, step, and no step where the gradient overflows.",
    reference=scale_the_loss,
    cases=cases,
    run=run,
    difference=difference,
)
