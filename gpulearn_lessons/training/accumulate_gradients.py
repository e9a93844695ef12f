"""Gradient accumulation: the gradient of a large batch, from parts that fit."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

import torch

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import accumulate_gradients
from gpulearn_lessons.training.trial import Seen, apart, condition, flat, network, number, same

answers = Answers(accumulate_gradients)


def cases() -> list[Case]:
    """Parts that come out even, a smaller last one, one part, single images, long gradients."""
    sizes = ((10, 4), (12, 4), (5, 8), (6, 6), (7, 1), (9, 5))
    cases = [Case(f"{n} images in parts of {part}", (n, part, 1.0, 0.0)) for n, part in sizes]
    return [
        *cases,
        Case("8 images of large numbers in parts of 3", (8, 3, 100.0, 0.0)),
        Case("8 images in parts of 3, where gradients stand already", (8, 3, 1.0, 0.5)),
    ]


class Counted:
    """A tensor that torch keeps for the backward pass of one part; counted while it is there."""

    def __init__(self, tensor: torch.Tensor, part: int, parts: Counter[int]) -> None:
        # detached: an output would hold its node, and the node what is kept
        self.tensor, self.part, self.parts = tensor.detach(), part, parts
        parts[part] += 1

    def __del__(self) -> None:
        self.parts[self.part] -= 1


class Watched:
    """Notes which batches go through a model, and for how many parts activations are kept."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.sizes: list[int] = []  # of all batches, and of those whose graph is kept
        self.learned: list[int] = []
        self.parts: Counter[int] = Counter()
        self.most = 0
        model.register_forward_hook(self.forward)

    def keeping(self) -> AbstractContextManager[Any]:
        """The context in which what torch keeps is counted."""
        return torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: Counted(tensor, len(self.sizes), self.parts), lambda kept: kept.tensor
        )

    def forward(self, module: Any, inputs: Any, output: torch.Tensor) -> None:
        self.sizes.append(len(output))
        if output.requires_grad:
            self.learned.append(len(output))
        self.most = max(self.most, sum(count > 0 for count in self.parts.values()))


def run(answer: Answer, case: Case) -> Seen:
    """Accumulate once, and look at the gradients, the parts, the loss and the parameters."""
    count, part, size, standing = case.args
    with apart(count):
        model = network()
        images = size * torch.rand(count, 12, dtype=torch.float64)
        labels = torch.randint(4, (count,))
        before = flat(model.parameters())
        if standing:
            for p in model.parameters():
                p.grad = torch.full_like(p, standing)
        watched = Watched(model)
        with watched.keeping():
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


SPLIT = "images.split(micro_batch), labels.split(micro_batch)"
LOSS = "        loss = functional.cross_entropy"
SHARE = "loss * len(wanted) / len(labels)"
WEIGHS = f"        loss = {SHARE}\n"
COUNTS = "        mean += loss.item()\n"
SKIPS_THE_LAST = {LOSS: f"        if len(wanted) < micro_batch:\n            break\n{LOSS}"}

answers.edit(
    {WEIGHS: ""},
    "the gradients of the parts are added up and never divided: the sum of means is as many "
    "times too large as there are parts.",
)
answers.edit(
    {WEIGHS: "", "loss.item()": "loss.item() * len(wanted) / len(labels)"},
    "the gradients of the parts are added up and never divided, though the loss is: divide it "
    "before backward.",
)
answers.edit(
    {SHARE: "loss / len(images.split(micro_batch))"},
    "each part counts the same, and the last one may be smaller: weigh a part by its images, "
    "len(part) / len(labels).",
)
answers.edit(
    {SHARE: "loss / max(1, len(labels) // micro_batch)"},
    "n // micro_batch leaves the smaller last part out of the count: weigh each part by its "
    "images, len(part) / len(labels).",
)
answers.edit(
    {"len(wanted)": "micro_batch"},
    "each part is weighed as if it were full, micro_batch / n: the last one may be smaller.",
)
answers.edit(
    {LOSS: f"        model.zero_grad()\n{LOSS}"},
    "only the last part's gradient is left: the loop throws away what stands in .grad from the "
    "parts before. Add them up.",
)
answers.edit(SKIPS_THE_LAST, "the last part is left out where it is smaller than the others.")
answers.edit(
    {**SKIPS_THE_LAST, SHARE: "loss / (len(labels) // micro_batch)"},
    "the last part is left out where it is smaller, and the mean is taken over the others.",
)
answers.edit(
    {COUNTS: f"{COUNTS}        torch.optim.SGD(model.parameters(), lr=0.1).step()\n"},
    "the parameters change: it takes a step of an optimiser. Here gradients are only added up; "
    "the step comes once, after all parts, and is the caller's.",
)
answers.edit(
    {COUNTS: f"{COUNTS}    torch.optim.SGD(model.parameters(), lr=0.1).step()\n"},
    "the parameters change: it takes a step at the end. The gradients are right; the step is "
    "the caller's.",
)
answers.edit(
    {
        "        loss.backward()\n": "",
        "loss.item()": "loss",
        "return mean": "mean.backward()\n    return mean.item()",
    },
    "the gradients are right, but the activations of all parts are kept to the end, as many as for "
    "the large batch: call backward for each part, and without retain_graph or create_graph.",
)
answers.edit(
    {"loss.backward()": "loss.backward(retain_graph=True)"},
    "the gradients are right, but the activations of a part are still kept when the next one goes "
    "through the model, as retain_graph=True says: leave it out.",
)
answers.edit(
    {"    mean = 0.0\n": "    mean = 0.0\n    model.eval()\n"},
    "the model is left in eval mode, in which dropout does nothing: whether it trains or is "
    "evaluated is the caller's business.",
)
answers.edit(
    {COUNTS: f"{COUNTS}    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"},
    "the gradients are clipped, which nobody asked for: the caller does that once, if at all.",
)
answers.edit(
    {SPLIT: "[images], [labels]"},
    "the whole batch goes through the model at once: gradient and loss both come from parts of "
    "micro_batch images.",
)
answers.edit(
    {SHARE: "loss / len(wanted)"},
    "a part's mean is divided by its number of images once more: cross_entropy is a mean already.",
)
answers.edit(
    {SHARE: "loss / len(labels)"},
    "that is the mean over a part, divided by all n images: the part's size is missing.",
)
answers.edit(
    {SHARE: "loss * len(wanted) / micro_batch"},
    "a full part counts whole, however many parts there are, since its images are divided by "
    "micro_batch: weigh a part by its share of the whole batch, len(part) / len(labels).",
)
answers.edit(
    {SHARE: "loss * len(labels) / len(wanted)"},
    "the share is upside down: a part of 4 images out of 10 counts 4 / 10, not 10 / 4.",
)
answers.edit(
    {"wanted)\n": 'wanted, reduction="sum")\n', WEIGHS: ""},
    "these are sums over images, and never divided by n.",
)
answers.edit(
    {"model(some), wanted": "model(some), labels[: len(some)]"},
    "every part is compared with the first labels: split the labels as the images.",
)
answers.edit(
    {WEIGHS: "", "loss.backward()": f"({SHARE}).backward()", "mean +=": "mean ="},
    "the gradient is right; the loss that it returns is the last part's alone. Add them up, each "
    "weighed as for the gradient.",
)
answers.edit(
    {WEIGHS: "", "loss.backward()": f"({SHARE}).backward()"},
    "the gradient is right; the loss that it returns is the sum of the parts' means. Weigh each "
    "as for the gradient.",
)
answers.edit(
    {
        WEIGHS: "",
        "loss.backward()": f"({SHARE}).backward()",
        "return mean": "return mean / len(images.split(micro_batch))",
    },
    "the gradient is right; the loss that it returns is a plain mean over parts, and the last one "
    "may be smaller.",
)
answers.edit(
    {"loss.item()": "loss"},
    "the loss that it returns is a tensor that holds the graphs of all parts: add loss.item().",
)
answers.variant(
    {
        f"some, wanted in zip({SPLIT}, strict=True):\n": """\
i in range(0, len(labels), micro_batch):
        some, wanted = images[i : i + micro_batch], labels[i : i + micro_batch]
""",
        "wanted)\n": 'wanted, reduction="sum")\n',
        SHARE: "loss / len(labels)",
    }
)
answers.variant({SPLIT: "images.split(1), labels.split(1)"})
SCALED_AT_THE_END = {
    "wanted)\n": 'wanted, reduction="sum")\n',
    WEIGHS: "",
    "loss.item()": "loss.detach()",
    "    return mean": """\
    for p in model.parameters():
        p.grad /= len(labels)
    return mean / len(labels)""",
}
answers.edit(
    {"    mean =": "    model.zero_grad()\n    mean ="},
    "it clears gradients that stood there: add to them; whoever calls clears them.",
)
answers.edit(
    SCALED_AT_THE_END,
    "it divides all that stands in .grad in the end, what stood there before as well: weigh each "
    "part's loss before backward.",
)


EXERCISE = Exercise(
    task="Compute the gradient of a large batch's mean loss from parts of it.",
    reference=accumulate_gradients,
    cases=cases,
    answers=answers,
    run=run,
    difference=same,
)
