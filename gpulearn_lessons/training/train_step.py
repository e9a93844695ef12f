"""A training step: forward, backward, and a step of the optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import train_step
from gpulearn_lessons.training.trial import Seen, apart, condition, flat, network, number, same

answers = Answers(train_step)


@dataclass(frozen=True)
class StepPlan:
    """A few steps of training.

    Attributes:
        optimizer: "sgd", "momentum" or "adam".
        images: in each batch.
        steps: how many.
        training: the mode in which the model is handed over.
        stale: whether gradients of something else are still in the parameters.
        size: of the numbers in an image; large ones make long gradients.
    """

    optimizer: str
    images: int
    steps: int = 3
    training: bool = True
    stale: bool = False
    size: float = 1.0


def cases() -> list[Case]:
    """Several optimisers and batches; models that come from an evaluation, or with gradients."""
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
    # Adam's epsilon is large here, so that roundings do not become whole steps
    if plan.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.05, eps=1e-3)
    momentum = 0.9 if plan.optimizer == "momentum" else 0.0
    return torch.optim.SGD(model.parameters(), lr=0.3, momentum=momentum)


def run(answer: Answer, case: Case) -> Seen:
    """Train for a few steps, and look at the loss, the parameters and the mode after each."""
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
            facts[f"the model's mode after {where}"] = "train" if model.training else "eval"
            facts[f"the dtype of the parameters after {where}"] = condition(model)
    return Seen(facts, tuple(ways))


def same_way(one: Any, other: Any) -> bool:
    return one.ways == other.ways and alike(one, other)


def alike(one: Any, other: Any) -> bool:
    return same(one, other) is None


TRAIN = "    model.train()\n"
ZERO = "    optimizer.zero_grad()\n"
LOSS = "functional.cross_entropy(model(images), labels)"
BACKWARD = "    loss.backward()\n"
STEP = "    optimizer.step()\n"

answers.edit(
    {ZERO: ""},
    "the gradients of all steps so far are added up: backward adds to .grad, so call "
    "optimizer.zero_grad() before it.",
)
answers.edit(
    {ZERO: "", BACKWARD: BACKWARD + ZERO},
    "step finds no gradient: backward is missing, or zero_grad stands between backward and step "
    "and throws it away, or the loss is made of numbers that were cut off from the model.",
)
answers.edit(
    {ZERO: "", STEP: STEP + ZERO},
    "zero_grad comes last, so gradients that were there before the step are added to its own: "
    "call it first.",
)
answers.edit(
    {ZERO: "", BACKWARD: STEP + ZERO + BACKWARD, STEP: ""},
    "step comes before backward: it uses the gradients of the batch before, and none at first.",
)
answers.edit(
    {BACKWARD: STEP + BACKWARD, STEP: ""},
    "zero_grad and step stand side by side before backward: step finds no gradient, and the "
    "parameters never change.",
)
answers.edit(
    {"loss.item()": "loss"},
    "it returns a tensor, and with it the graph of the whole step, which stays in memory as long "
    "as the loss does: return loss.item().",
)
answers.edit(
    {TRAIN: ""},
    "a model that comes from an evaluation stays in eval mode, and its dropout does nothing: call "
    "model.train() first.",
)
answers.edit(
    {TRAIN: "    model.eval()\n"},
    "the model is set to eval mode, in which dropout does nothing; a training step needs "
    "model.train().",
)
answers.edit(
    {STEP: STEP + "    model.eval()\n"},
    "it leaves the model in eval mode: the caller decides when to evaluate.",
)
answers.edit(
    {"model(images)": "functional.softmax(model(images), dim=1)"},
    "a softmax stands before cross_entropy, which has one inside: give it the model's scores "
    "as they are.",
)
answers.edit({LOSS: f"-{LOSS}"}, "the loss has the wrong sign: the steps make it larger.")
answers.edit(
    {"loss.backward()": "(-loss).backward()"},
    "the steps go uphill: what goes backward is the loss with the other sign.",
)
answers.edit(
    {"labels)\n": 'labels, reduction="sum")\n'},
    "that is the sum over the batch, not its mean: the step grows with the number of images.",
)
answers.edit(
    {LOSS: f"{LOSS} / len(labels)"},
    "the mean is divided by the number of images once more: cross_entropy has done it.",
)
answers.edit(
    {STEP: "    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)\n" + STEP},
    "the gradients are clipped, which nobody asked for: let the step take them as they are.",
)
answers.edit(
    {TRAIN: "    model.float().train()\n", "model(images)": "model(images.float())"},
    "the model's parameters become float32: leave the model as it is, and bring the images to its "
    "dtype where they have another.",
)
answers.edit({STEP: STEP + STEP}, "it calls optimizer.step() twice: one batch, one step.")
answers.edit(
    {STEP: ""},
    "step is never called: gradients are computed, and nothing is done with them.",
)
answers.edit(
    {TRAIN: TRAIN + "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"},
    "the parameters move as in gradient descent at a rate of 0.1, whatever optimiser is given: "
    "call its step(), which knows its rate and what it remembers of the steps before.",
)
answers.edit(
    {ZERO: "    optimizer = type(optimizer)(model.parameters(), **optimizer.defaults)\n" + ZERO},
    "it makes a new optimiser of the same kind in each step, and what the old one remembers is "
    "lost: use the one that is given.",
)
answers.edit(
    {
        STEP: """\
    with torch.no_grad():
        for p in model.parameters():
            p -= optimizer.param_groups[0]["lr"] * p.grad
"""
    },
    "the parameters are moved by hand, rate times gradient; optimizer.step() knows how its "
    "method does it.",
)
answers.edit(
    {"loss.item()": f"{LOSS}.item()"},
    "it returns the loss after the step, from a second forward pass: return the one that the "
    "step was made from.",
)
answers.edit(
    {
        "functional.cross_entropy(": "functional.mse_loss(",
        "labels)\n": "functional.one_hot(labels, 4).double())\n",
    },
    "that is the squared distance to 0 and 1, not the cross-entropy: use functional.cross_entropy.",
)


@answers.right
def zero_just_before_backward(model: Any, optimizer: Any, images: Any, labels: Any) -> Any:
    model.train(True)
    loss = nn.CrossEntropyLoss()(model(images), labels)
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None
    loss.backward()
    optimizer.step()
    return loss.tolist()


@answers.right
def written_out(model: Any, optimizer: Any, images: Any, labels: Any) -> Any:
    model.train()
    model.zero_grad()
    logs = functional.log_softmax(model(images), dim=1)
    loss = -logs[torch.arange(len(labels)), labels].mean()
    loss.backward()
    optimizer.step()
    model.zero_grad()
    return loss.detach()


EXERCISE = Exercise(
    task="Do one step of the optimiser on one batch, and return the loss as a number.",
    reference=train_step,
    cases=cases,
    answers=answers,
    run=run,
    difference=same,
    kinships=(same_way, alike),
)
