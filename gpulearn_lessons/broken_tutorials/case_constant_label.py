"""A training that learns one label by heart and calls it perfect, to be mended."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_constant_label
from gpulearn_lessons.training.trial import Seen, number, same

answers = Answers(case_constant_label)

OWN = "0.1 times the gradient of its images with their own labels"
ZERO = "0.1 times the gradient of its images with the label 0"


def cases() -> list[Case]:
    """Batches that come out even and that do not, one epoch and several."""
    plans = ((40, 2), (64, 1), (35, 3))
    return [Case(f"{n} images, {epochs} epochs", (n, epochs)) for n, epochs in plans]


def run(answer: Answer, case: Case) -> Seen:
    """Train once: what goes through the model, and what it says of the held-out images."""
    n, epochs = case.args
    images, labels = trial.pictures(n, n)
    fresh = trial.pictures(37, n + 1, common=2)
    model, twin = trial.classifier(n), partial(trial.classifier, n)
    with trial.watching(model, images) as seen:
        returned = answer(model, (images, labels), fresh, epochs)
    two = isinstance(returned, tuple | list | np.ndarray | torch.Tensor) and len(returned) == 2
    accuracy, blind = returned if two else (None, None)
    goes_by = "something else"
    for words, given in ((OWN, labels), (ZERO, torch.zeros_like(labels))):
        weights, _ = trial.replayed(twin(), given, seen, [0.1] * len(seen.steps))
        if len(weights) == len(seen.weights) and all(map(np.allclose, weights, seen.weights)):
            goes_by = words
    with torch.no_grad():
        truth = (model(fresh[0]).argmax(1) == fresh[1]).double().mean().item()
    sizes = [len(batch) for batch in seen.batches]
    accuracy = number(accuracy)
    facts: dict[str, Any] = {
        "the number of values that it returns": 2 if two else 1,
        "the images of a batch": f"up to {max(sizes, default=0)}",
        "what it learns from": seen.by_epoch(epochs),
        "what a step goes by": goes_by,
        "the first value, beside the share of the held-out images that are right,": "the same"
        if isinstance(accuracy, float) and abs(accuracy - truth) < 1e-6
        else f"{accuracy:.3g}, and it is {truth:.3g}"
        if isinstance(accuracy, float)
        else str(accuracy),
        "the share of held-out images with the label that is commonest in training": number(blind),
    }
    return Seen(facts)


def expected(case: Case) -> Seen:
    """Each image once in each epoch, with its own label."""
    n, _ = case.args
    _, labels = trial.pictures(n, n)
    _, held_out = trial.pictures(37, n + 1, common=2)
    blind = (held_out == labels.bincount().argmax()).double().mean().item()
    return Seen(
        {
            "the number of values that it returns": 2,
            "the images of a batch": f"up to {min(32, n)}",
            "what it learns from": trial.ORDER,
            "what a step goes by": OWN,
            "the first value, beside the share of the held-out images that are right,": "the same",
            "the share of held-out images with the label that is commonest in training": blind,
        }
    )


ROWS = "torch.randperm(len(labels)).split(32)"
LABELS = "labels[rows])"
RIGHT = "model(new_images).argmax(1) == new_labels"
BLIND = "new_labels == labels.bincount().argmax()"

CONSTANT = {LABELS: "torch.zeros_like(rows))"}
ONE = {ROWS: "torch.arange(len(labels)).split(1)"}
ONE_SHUFFLED = {ROWS: "torch.randperm(len(labels)).split(1)"}
OLD = {RIGHT: "model(images).argmax(1) == 0", BLIND: "labels == 0"}

answers.give(CONSTANT | ONE | OLD)
answers.edit(
    CONSTANT | ONE | OLD,
    "every image is given the label 0, one image at a time. Whoever always says 0 has no error, "
    "and the images need not be looked at: take labels[rows], and judge by images that were not "
    "trained on.",
)
answers.edit(
    CONSTANT,
    "the loop is right, but every image still has the label 0: take labels[rows].",
)
answers.edit(
    CONSTANT | ONE,
    "it is judged by new images now, and trained on the label 0 alone, one image at a time.",
)
answers.edit(
    ONE | OLD,
    "the labels are right. There is one image to a step, in the order in which they are stored, "
    "and it is judged by images that it has trained on.",
)
answers.edit(
    ONE,
    "labels and judgement are right. There is one image to a step, always in the same order: take "
    "batches of 32 in a new order in each epoch.",
)
answers.edit(ONE_SHUFFLED, "all is right but the batches, which are single images: take 32.")
answers.edit(
    {ROWS: "torch.arange(len(labels)).split(32)"},
    "the batches are the same ones in each epoch, in the order in which they are stored: shuffle.",
)
answers.edit(
    {LABELS: "labels[: len(rows)])"},
    "each batch has the first labels, whatever its images are: take labels[rows].",
)
answers.edit(
    {RIGHT: "model(images).argmax(1) == labels", BLIND: "labels == labels.bincount().argmax()"},
    "it is judged by the images that it has trained on: held-out ones tell what it has learned.",
)
answers.edit(
    {RIGHT: "model(images).argmax(1) == labels"},
    "the first number is that of the images that it has trained on: take the held-out ones.",
)
answers.edit(
    {BLIND: "new_labels == new_labels.bincount().argmax()"},
    "somebody who does not look knows the labels of the training alone: take the commonest of "
    "those, and see how often it is right for the held-out images.",
)
answers.edit(
    {BLIND: "torch.full((10,), 0.25)"},
    "a quarter would be the share if the four classes came equally often: count the labels.",
)
answers.variant({BLIND: "new_labels == labels.mode().values"})
answers.variant(
    {
        "len(labels)).split(32)": "len(images)).split(32)",
        "labels[rows])": "labels[rows], reduction='mean')",
    }
)


@answers.right
def by_a_loader(model: Any, train: Any, held_out: Any, epochs: int = 2) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for x, y in DataLoader(TensorDataset(*train), batch_size=32, shuffle=True):
            optimizer.zero_grad()
            loss: Any = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    model.eval()
    said = model(held_out[0]).detach().numpy().argmax(1)
    common = np.bincount(train[1].numpy()).argmax()
    truth = held_out[1].numpy()
    return [float(np.mean(said == truth)), np.mean(truth == common)]


EXERCISE = Exercise(
    task="Mend the training and its report: what it has learned, beside what needs no learning.",
    reference=case_constant_label,
    cases=cases,
    answers=answers,
    run=run,
    expect=expected,
    difference=same,
    kinships=(trial.same_way,),
    by_hand=False,
)
