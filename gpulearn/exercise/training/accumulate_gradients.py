"""The gradient of a large batch, from parts that fit."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from gpulearn.checker.answers import Answer, Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.training.trial import (
    Seen,
    apart,
    condition,
    flat,
    network,
    number,
    same,
)
from gpulearn.train.step import accumulate_gradients

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """Parts that come out even, a smaller last one, one part, single images, long gradients."""
    sizes = ((10, 4), (12, 4), (5, 8), (6, 6), (7, 1), (9, 5))
    cases = [Case(f"{n} images in parts of {part}", (n, part, 1.0)) for n, part in sizes]
    return [*cases, Case("8 images of large numbers in parts of 3", (8, 3, 100.0))]


class Watched:
    """Notes which batches go through a model, and how many graphs wait for `backward`."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.sizes: list[int] = []  # of all batches, and of those whose graph is kept
        self.learned: list[int] = []
        self.waiting = self.most = 0
        model.register_forward_hook(self.forward)

    def forward(self, module: Any, inputs: Any, output: torch.Tensor) -> None:
        self.sizes.append(len(output))
        if output.requires_grad:
            self.learned.append(len(output))
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            output.register_hook(self.backward)

    def backward(self, gradient: torch.Tensor) -> None:
        self.waiting -= 1


def run(answer: Answer, case: Case) -> Seen:
    """Accumulate once, and look at the gradients, the parts, the loss and the parameters."""
    count, part, size = case.args
    with apart(count):
        model = network()
        images = size * torch.rand(count, 12, dtype=torch.float64)
        labels = torch.randint(4, (count,))
        before = flat(model.parameters())
        watched = Watched(model)
        returned = number(answer(model, images, labels, part))
    most = max(watched.sizes, default=0)
    facts: dict[str, Any] = {
        "the most images that go through the model at once": most
        if most > part
        else f"at most {part}",
        "the number of images whose gradient is taken": sum(watched.learned),
        "the gradient": flat(p.grad for p in model.parameters()),
        "the parts whose activations are kept at the same time": watched.most,
        "what happens to the parameters": "nothing"
        if (flat(model.parameters()) == before).all()
        else "they change",
        "the model's mode afterwards": "train" if model.training else "eval",
        "the dtype of the parameters afterwards": condition(model),
        "the loss that it returns": returned,
    }
    return Seen(facts)


def parts(images: Any, labels: Any, size: int) -> Any:
    return zip(images.split(size), labels.split(size), strict=True)


def loss_of(model: Any, images: Any, labels: Any) -> Any:
    return functional.cross_entropy(model(images), labels)


@answers.wrong(
    "the gradients of the parts are added up and never divided: the sum of means is as many "
    "times too large as there are parts."
)
def never_divided(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "the gradients of the parts are added up and never divided, though the loss is: divide it "
    "before backward."
)
def only_the_loss_divided(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted)
        loss.backward()
        total += loss.item() * len(wanted) / len(labels)
    return total


@answers.wrong(
    "each part counts the same, and the last one may be smaller: weigh a part by its images, "
    "len(part) / len(labels)."
)
def by_number_of_parts(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total, count = 0.0, len(images.split(micro_batch))
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) / count
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "n // micro_batch leaves the smaller last part out of the count: weigh each part by its "
    "images, len(part) / len(labels)."
)
def by_whole_parts(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total, count = 0.0, max(1, len(labels) // micro_batch)
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) / count
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "each part is weighed as if it were full, micro_batch / n: the last one may be smaller."
)
def as_if_full(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) * micro_batch / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "zero_grad stands inside the loop: only the last part's gradient is left. Add them up."
)
def zeroed_in_the_loop(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        model.zero_grad()
        loss = loss_of(model, some, wanted) * len(wanted) / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("the last part is left out where it is smaller than the others.")
def drops_the_last(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for i in range(0, len(labels) - micro_batch + 1, micro_batch):
        some, wanted = images[i : i + micro_batch], labels[i : i + micro_batch]
        loss = loss_of(model, some, wanted) * len(wanted) / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "the last part is left out where it is smaller, and the mean is taken over the others."
)
def mean_without_the_last(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total, count = 0.0, len(labels) // micro_batch
    for i in range(count):
        chosen = slice(i * micro_batch, (i + 1) * micro_batch)
        loss = loss_of(model, images[chosen], labels[chosen]) / count
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "the parameters change: it takes a step of an optimiser. Here gradients are only added up; "
    "the step comes once, after all parts, and is the caller's."
)
def steps_at_each_part(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    optimizer, total = torch.optim.SGD(model.parameters(), lr=0.1), 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) * len(wanted) / len(labels)
        loss.backward()
        total += loss.item()
        optimizer.step()
    return total


@answers.wrong(
    "the parameters change: it takes a step at the end. The gradients are right; the step is "
    "the caller's."
)
def step_at_the_end(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    loss = accumulate_gradients(model, images, labels, micro_batch)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return loss


@answers.wrong(
    "the gradients are right, but one backward at the end means that the activations of all "
    "parts are kept until then, as many as for the large batch: call backward for each part."
)
def one_backward(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total: Any = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        total = total + loss_of(model, some, wanted) * len(wanted) / len(labels)
    total.backward()
    return total.item()


@answers.wrong(
    "the model is left in eval mode, in which dropout does nothing: whether it trains or is "
    "evaluated is the caller's business."
)
def leaves_eval_mode(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    model.eval()
    return accumulate_gradients(model, images, labels, micro_batch)


@answers.wrong(
    "the gradients are clipped, which nobody asked for: the caller does that once, if at all."
)
def clips(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    loss = accumulate_gradients(model, images, labels, micro_batch)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return loss


@answers.wrong(
    "the whole batch goes through the model at once: split it into parts of micro_batch images."
)
def all_at_once(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    loss = loss_of(model, images, labels)
    loss.backward()
    return loss.item()


@answers.wrong(
    "a part's mean is divided by its number of images once more: cross_entropy is a mean already."
)
def divided_by_its_size(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) / len(wanted)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("that is the mean over a part, divided by all n images: the part's size is missing.")
def divided_by_all(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("the share is upside down: a part of 4 images out of 10 counts 4 / 10, not 10 / 4.")
def upside_down(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) * len(labels) / len(wanted)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("these are sums over images, and never divided by n.")
def sums(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = functional.cross_entropy(model(some), wanted, reduction="sum")
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("every part is compared with the first labels: split the labels as the images.")
def first_labels(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some in images.split(micro_batch):
        loss = loss_of(model, some, labels[: len(some)]) * len(some) / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong(
    "the gradient is right; the loss that it returns is the last part's alone. Add them up, each "
    "weighed as for the gradient."
)
def last_loss(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted)
        (loss * len(wanted) / len(labels)).backward()
    return loss.item()


@answers.wrong(
    "the gradient is right; the loss that it returns is the sum of the parts' means. Weigh each "
    "as for the gradient."
)
def sum_of_losses(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted)
        (loss * len(wanted) / len(labels)).backward()
        total += loss.item()
    return total


@answers.wrong(
    "the gradient is right; the loss that it returns is a plain mean over parts, and the last one "
    "may be smaller."
)
def mean_of_losses(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = sum_of_losses(model, images, labels, micro_batch)
    return total / len(images.split(micro_batch))


@answers.wrong(
    "the loss that it returns is a tensor that holds the graphs of all parts: add loss.item()."
)
def keeps_graphs(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total: Any = 0.0
    for some, wanted in parts(images, labels, micro_batch):
        loss = loss_of(model, some, wanted) * len(wanted) / len(labels)
        loss.backward()
        total = total + loss
    return total


@answers.right
def by_index_and_sum(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for i in range(0, len(labels), micro_batch):
        scores = model(images[i : i + micro_batch])
        loss = functional.cross_entropy(scores, labels[i : i + micro_batch], reduction="sum")
        loss = loss / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.right
def one_image_at_a_time(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    total = 0.0
    for image, label in zip(images.split(1), labels.split(1), strict=True):
        loss = loss_of(model, image, label) / len(labels)
        loss.backward()
        total += loss.item()
    return total


@answers.right
def divided_at_the_end(model: Any, images: Any, labels: Any, micro_batch: int) -> Any:
    model.zero_grad()
    losses = []
    for some, wanted in parts(images, labels, micro_batch):
        loss = functional.cross_entropy(model(some), wanted, reduction="sum")
        loss.backward()
        losses.append(loss.detach())
    for p in model.parameters():
        p.grad /= len(labels)
    return torch.stack(losses).sum() / len(labels)


EXERCISE = Exercise(
    name="accumulate_gradients",
    notebook="12_training_loop",
    task="Compute the gradient of a large batch's mean loss from parts of it.",
    reference=accumulate_gradients,
    cases=cases,
    answers=answers,
    run=run,
    difference=same,
)
