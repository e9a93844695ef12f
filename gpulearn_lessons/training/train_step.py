"""A training step: forward, backward, and a step of the optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import train_step
from gpulearn_lessons.training.trial import Outcome, apart, condition, flat, network, number, same


@dataclass(frozen=True)
class StepPlan:
    optimizer: str  # "sgd", "momentum" or "adam"
    images: int  # in each batch
    steps: int = 3  # how many
    training: bool = True  # the mode in which the model is handed over
    stale: bool = False  # whether gradients of something else are still in the parameters
    size: float = 1.0  # of the numbers in an image; large ones make long gradients


def cases() -> list[Case]:
    """Several optimizers and batches; models just evaluated, or with old gradients."""
    plans = {
        "three steps of gradient descent": StepPlan("sgd", 8),
        "three steps with momentum": StepPlan("momentum", 5),
        "three steps of Adam": StepPlan("adam", 6),
        "a batch of one image": StepPlan("sgd", 1, steps=1),
        "a model that has just been evaluated": StepPlan("sgd", 8, training=False),
        "a model that still holds old gradients": StepPlan("momentum", 7, stale=True),
        "images of large numbers": StepPlan("sgd", 8, steps=1, size=100.0),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def optimizer_of(plan: StepPlan, model: nn.Module) -> torch.optim.Optimizer:
    # Adam's epsilon is large here, so that rounding errors do not become whole steps
    if plan.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.05, eps=1e-3)
    momentum = 0.9 if plan.optimizer == "momentum" else 0.0
    groups = [{"params": layer.parameters()} for layer in model.children()]
    return torch.optim.SGD(groups, lr=0.3, momentum=momentum)


def run(answer: Answer, case: Case) -> Outcome:
    """Train for a few steps, and look at the loss and the parameters after each."""
    plan: StepPlan = case.args[0]
    facts: dict[str, Any] = {}
    ways: list[Any] = []
    with apart(plan.images):
        model = network(dropout=0.4)
        optimizer = optimizer_of(plan, model)
        optimizer.register_step_pre_hook(lambda *_: ways.append("step"))
        if plan.stale:
            for p in model.parameters():
                p.grad = torch.randn_like(p)
        model.train(plan.training)
        for step in range(1, plan.steps + 1):
            images = plan.size * torch.rand(plan.images, 12, dtype=torch.float64)
            labels = torch.randint(4, (plan.images,))
            where = f"step {step}" if plan.steps > 1 else "the step"
            facts[f"what it returns in {where}"] = number(answer(model, optimizer, images, labels))
            facts[f"the parameters after {where}"] = flat(model.parameters())
            ways.append([p.grad is None for p in model.parameters()])
            facts[f"the dtype of the parameters after {where}"] = condition(model)
    return Outcome(facts, tuple(ways))


def same_way(one: Any, other: Any) -> bool:
    return one.ways == other.ways and alike(one, other)


def alike(one: Any, other: Any) -> bool:
    return same(one, other) is None


EXERCISE = Exercise(
    task="Take one training step on one batch, and return the loss as a number.",
    reference=train_step,
    cases=cases,
    run=run,
    difference=same,
    kinships=(same_way, alike),
)
