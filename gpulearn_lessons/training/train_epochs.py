"""A loop of epochs with three bugs, to be fixed from what it reports."""

from typing import Any

import numpy as np
import torch
from torch import nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.training.loop import train_epochs
from gpulearn_lessons.training.trial import Outcome, apart, flat, network, same


def cases() -> list[Case]:
    """A smaller last batch on either side, one epoch or several, one batch, eval mode."""
    work: tuple[tuple[str, tuple[int, ...], tuple[int, ...], int, bool], ...] = (
        ("3 epochs of batches of 6, 6 and 2 images", (6, 6, 2), (5, 3), 3, True),
        ("1 epoch of 2 batches", (4, 4), (6, 1), 1, True),
        ("2 epochs, a model that has just been evaluated", (5, 3), (4,), 2, False),
        ("4 epochs of a single batch", (9,), (3, 3, 2), 4, True),
    )
    return [Case(label, tuple(plan)) for label, *plan in work]


class ForwardLog:
    """Notes which images go through a model, in which mode, and whether a graph is kept."""

    def __init__(self, model: nn.Module, held_out: list[Any]) -> None:
        self.held_out = {tuple(image.tolist()) for images, _ in held_out for image in images}
        self.trained: list[str] = []  # the mode, for each training image
        self.evaluated: list[str] = []
        self.graphs = 0
        model.register_forward_hook(self.forward)

    def forward(self, model: nn.Module, inputs: Any, output: torch.Tensor) -> None:
        for image in inputs[0]:
            mine = self.evaluated if tuple(image.tolist()) in self.held_out else self.trained
            mine.append("on" if model.training else "off")
        if output.requires_grad and not model.training:
            self.graphs += 1

    @staticmethod
    def in_words(modes: list[str]) -> str:
        return modes[0] if len({*modes}) == 1 else "on for some of them only"


def batches_of(sizes: tuple[int, ...]) -> list[Any]:
    return [(torch.rand(n, 12, dtype=torch.float64), torch.randint(4, (n,))) for n in sizes]


def run(answer: Answer, case: Case) -> Outcome:
    """Train a small network, and look at what it reports, its passes and its parameters."""
    sizes, other_sizes, epochs, training = case.args
    with apart(sum(sizes)):
        model = network(dropout=0.4)
        batches, held_out = batches_of(sizes), batches_of(other_sizes)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        model.train(training)
        passes = ForwardLog(model, held_out)
        history = answer(model, optimizer, batches, held_out, epochs)
    losses, shares = columns(history)
    return Outcome(
        {
            "how many training images go through the model in all epochs": len(passes.trained),
            "how many held-out images it evaluates in all epochs": len(passes.evaluated),
            "dropout for the training images": passes.in_words(passes.trained),
            "dropout for the held-out images": passes.in_words(passes.evaluated),
            "the parameters at the end": flat(model.parameters()),
            "the mean training losses": losses,
            "the accuracies on the held-out images": shares,
            "the graphs built in evaluation": passes.graphs,
            "the graphs in what it returns": with_graph(history),
        }
    )


def with_graph(history: Any) -> int:
    """How many of the returned numbers hold the graphs of an epoch."""
    rows = history if isinstance(history, list | tuple) else ()
    parts = [number for row in rows if isinstance(row, list | tuple) for number in row]
    return sum(getattr(number, "requires_grad", False) for number in parts)


def without_graph(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def columns(history: Any) -> tuple[Any, Any]:
    try:
        table = np.array([[float(without_graph(number)) for number in row] for row in history])
        if table.ndim == 2 and table.shape[1] == 2:
            return table[:, 0], table[:, 1]
    except (TypeError, ValueError):
        pass
    word = None if history is None else f"{shown(history)} ({type(history).__name__})"
    return word, word


EXERCISE = Exercise(
    task="Fix the loop: train with dropout, evaluate without it, and average over images.",
    reference=train_epochs,
    cases=cases,
    run=run,
    difference=same,
)
