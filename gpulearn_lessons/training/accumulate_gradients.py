"""Gradient accumulation: the gradient of a large batch, from micro-batches that fit."""

from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

import torch

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import accumulate_gradients
from gpulearn_lessons.training.trial import Outcome, apart, condition, flat, network, number, same


def cases() -> list[Case]:
    """Equal micro-batches, a smaller last one, just one, single images, long gradients."""
    sizes = ((10, 4), (12, 4), (5, 8), (6, 6), (7, 1), (9, 5))
    cases = [
        Case(f"{n} images in micro-batches of {part}", (n, part, 1.0, 0.0)) for n, part in sizes
    ]
    return [
        *cases,
        Case("8 images of large numbers in micro-batches of 3", (8, 3, 100.0, 0.0)),
        Case("8 images in micro-batches of 3, with gradients from before", (8, 3, 1.0, 0.5)),
    ]


class SavedTensor:
    """A tensor that torch keeps for one part's backward pass; counted while it exists."""

    def __init__(self, tensor: torch.Tensor, part: int, parts: Counter[int]) -> None:
        # detached: an output holds its node, and the node holds what is kept
        self.tensor, self.part, self.parts = tensor.detach(), part, parts
        parts[part] += 1

    def __del__(self) -> None:
        self.parts[self.part] -= 1


class BatchLog:
    """Notes which batches go through a model, and how many parts' activations are kept."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.sizes: list[int] = []  # of all batches, and of those whose graph is kept
        self.learned: list[int] = []
        self.parts: Counter[int] = Counter()
        self.most = 0
        model.register_forward_hook(self.forward)

    def keeping(self) -> AbstractContextManager[Any]:
        """The context in which what torch keeps is counted."""
        return torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: SavedTensor(tensor, len(self.sizes), self.parts), lambda s: s.tensor
        )

    def forward(self, module: Any, inputs: Any, output: torch.Tensor) -> None:
        self.sizes.append(len(output))
        if output.requires_grad:
            self.learned.append(len(output))
        self.most = max(self.most, sum(count > 0 for count in self.parts.values()))


def run(answer: Answer, case: Case) -> Outcome:
    count, part, size, standing = case.args
    with apart(count):
        model = network()
        images = size * torch.rand(count, 12, dtype=torch.float64)
        labels = torch.randint(4, (count,))
        before = flat(model.parameters())
        if standing:
            for p in model.parameters():
                p.grad = torch.full_like(p, standing)
        watched = BatchLog(model)
        with watched.keeping():
            returned = number(answer(model, images, labels, part))
    most = max(watched.sizes, default=0)
    facts: dict[str, Any] = {
        "the most images that go through the model at once": most
        if most > part
        else f"at most {part}",
        "the number of images whose gradient is computed": sum(watched.learned),
        "the gradient": flat(p.grad for p in model.parameters()),
        "the micro-batches whose activations are kept at the same time": watched.most,
        "what happens to the parameters": "nothing"
        if (flat(model.parameters()) == before).all()
        else "they change",
        "the model's mode afterwards": "train" if model.training else "eval",
        "the dtype of the parameters afterwards": condition(model),
        "the loss that it returns": returned,
    }
    return Outcome(facts)


EXERCISE = Exercise(
    task="Compute the gradient of a large batch's mean loss from micro-batches.",
    reference=accumulate_gradients,
    cases=cases,
    run=run,
    difference=same,
)
