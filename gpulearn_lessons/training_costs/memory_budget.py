"""Memory of a training step: parameters, gradients, optimiser state and activations."""

from __future__ import annotations

from typing import Any

from torch import nn

from gpulearn.judge.answers import Answers
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn.train.activation_memory import saved_for_backward
from gpulearn.train.memory import STATES, MemoryBudget, memory_budget
from gpulearn.train.models import MLP, LeNet
from gpulearn_lessons.training.trial import apart

answers = Answers(memory_budget)
Shape = tuple[int, ...]


def partly_frozen() -> nn.Sequential:
    """A network of which only the last layer is trained."""
    with apart(0):
        first = nn.Linear(64, 32)
        first.requires_grad_(False)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(32, 10))


def with_one_layer_twice() -> nn.Sequential:
    """A network in which one ReLU stands in two places, and keeps two tensors of one shape."""
    with apart(0):
        relu = nn.ReLU()
        layers = nn.Flatten(), nn.Linear(64, 16), relu, nn.Linear(16, 16), relu, nn.Linear(16, 10)
        return nn.Sequential(*layers)


def with_one_weight_twice() -> nn.Sequential:
    """A network in which two layers share one weight, and each has a bias of its own."""
    with apart(0):
        first, second = nn.Linear(16, 16), nn.Linear(16, 16)
        second.weight = first.weight
        layers = nn.Flatten(), nn.Linear(64, 16), first, nn.Tanh(), second, nn.Linear(16, 10)
        return nn.Sequential(*layers)


def cases() -> list[Case]:
    """Several networks, batches, optimisers and precisions; one partly frozen, one layer twice."""
    small, frozen = MLP((64, 16, 10)), partly_frozen()
    work: tuple[tuple[str, nn.Module, int, str, str], ...] = (
        ("an MLP, 32 images, Adam", small, 32, "adam", "float32"),
        ("an MLP, 1 image, gradient descent", small, 1, "sgd", "float32"),
        ("an MLP, 50 images, momentum, bfloat16", small, 50, "momentum", "bfloat16"),
        ("LeNet, 8 images, AdamW", LeNet(width=4), 8, "adamw", "float32"),
        ("LeNet, 8 images, Adagrad, float16", LeNet(width=4), 8, "adagrad", "float16"),
        ("a network partly frozen, 20 images, Adam", frozen, 20, "adam", "float32"),
        ("a ReLU in two places, 9 images", with_one_layer_twice(), 9, "nesterov", "float32"),
        ("a weight that two layers share", with_one_weight_twice(), 9, "rmsprop", "float32"),
    )
    return [
        Case(label, (model, (images, 1, 8, 8), optimizer, precision))
        for label, model, images, optimizer, precision in work
    ]


def difference(got: Any, expected: Any) -> str | None:
    """Compare field by field; any sequence of four numbers will do."""
    if got is None:
        return NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        return f"it returns {shown(got)} ({type(got).__name__}), expected a MemoryBudget"
    for name, found, wanted in zip(MemoryBudget._fields, got, expected, strict=True):
        if not is_number(found):
            return f"{name} is {shown(found)}, expected {wanted:,} bytes"
        if found != wanted:
            return f"{name} is {found:,} bytes, expected {wanted:,}"
    return None


GRADIENTS = "(parameters, gradients"
STATE = "STATES[optimizer] * gradients"
SAVED = "model, batch, precision"
BY_PRECISION = '(4 if precision == "float32" else 2)'

answers.edit(
    {GRADIENTS: "(parameters, 0"},
    "the gradients are missing: each trained parameter has one, as large as itself.",
)
answers.edit(
    {STATE: "0"},
    "the optimiser's state is missing: STATES tells how many numbers a parameter needs.",
)
answers.edit(
    {STATE: "gradients"},
    "every optimiser is taken to remember one number for each parameter: Adam keeps two means, "
    "plain gradient descent nothing. Look into STATES.",
)
answers.edit(
    {STATE: "2 * gradients"},
    "every optimiser is taken for Adam, with two numbers for each parameter. Look into STATES.",
)
answers.edit(
    {STATE: "STATES[optimizer]"},
    "the state is the optimiser's numbers alone, how many for one parameter: multiply by the "
    "bytes of all trained parameters.",
)
answers.edit(
    {" * p.element_size()": "", " * saved.dtype.itemsize": ""},
    "these are numbers of elements; each takes bytes: element_size(), dtype.itemsize.",
)
answers.edit(
    {" * saved.dtype.itemsize": ""},
    "the activations are counted in elements: multiply each by its dtype.itemsize.",
)
answers.edit(
    {"p.numel()": "batch[0] * p.numel()"},
    "parameters, gradients and state are multiplied by the batch: they are there once, however "
    "many images there are.",
)
answers.edit(
    {GRADIENTS: "(parameters, batch[0] * gradients"},
    "the gradients are multiplied by the batch: backward adds all images up into one gradient.",
)
answers.edit(
    {SAVED: "model, (1, *batch[1:]), precision"},
    "the activations are those of a single image: they grow with the batch.",
)
answers.edit(
    {"saved.elements": "batch[0] * saved.elements"},
    "the activations are multiplied by the batch once more: the shapes hold it already.",
)
answers.edit(
    {"p.element_size()": BY_PRECISION},
    "parameters, gradients and state are counted in 16 bits: autocast makes copies for the passes, "
    "the parameters themselves stay float32.",
)
answers.edit(
    {"saved.dtype.itemsize": "4"},
    "every kept number is taken for 4 bytes: under autocast most have 2, and places and labels "
    "are int64, which has 8. Use each one's dtype.itemsize.",
)
answers.edit(
    {"saved.dtype.itemsize": BY_PRECISION},
    "every kept number is taken for 4 or 2 bytes, as the precision says: places and labels are "
    "int64, and the loss computes in float32. Use each one's dtype.itemsize.",
)
answers.edit(
    {GRADIENTS: f"(parameters, gradients * {BY_PRECISION} // 4"},
    "the gradients are counted in 16 bits: they are stored as their parameters are, whatever the "
    "precision of the passes.",
)
answers.edit(
    {"saved.elements": '(saved.layer != "loss") * saved.elements'},
    "what the loss keeps is left out, its probabilities and the labels: they are on the list of "
    "what is kept.",
)
answers.edit(
    {STATE: 'gradients * (2 if "adam" in optimizer else optimizer != "sgd" and "m" in optimizer)'},
    "some optimisers with a state are taken to have none: STATES has the numbers of all.",
)
answers.edit(
    {STATE: "2 * gradients * (STATES[optimizer] > 0)"},
    "every optimiser that remembers something is taken for Adam, with two numbers for each "
    "parameter: momentum has one. Look into STATES.",
)
answers.edit(
    {SAVED: 'model, batch, "float32"'},
    "the activations are always those of float32: hand precision on.",
)
answers.edit(
    {" if p.requires_grad else 0": ""},
    "frozen parameters (requires_grad is False) have no gradient, and no state.",
)
answers.edit(
    {"parameters += size": "parameters += size if p.requires_grad else 0"},
    "frozen parameters (requires_grad is False) are in memory too, though without a gradient.",
)
answers.edit(
    {STATE: "STATES[optimizer] * parameters"},
    "the optimiser remembers nothing of frozen parameters: only what has a gradient has a state.",
)
answers.edit(
    {", activations)": ", 0)"}, "the activations are missing: add up what saved_for_backward lists."
)
answers.edit(
    {f"gradients, {STATE}": f"{STATE}, gradients"},
    "gradients and state are swapped: the order is parameters, gradients, state, …",
)
answers.edit(
    {
        "for p in model.parameters():": (
            "for p in (p for m in model.modules() for p in m.parameters(recurse=False)):"
        )
    },
    "a weight that two layers share is counted for each of them: model.parameters() gives it once, "
    "as it is in memory once.",
)
answers.edit(
    {STATE: f"STATES[optimizer] * gradients * {BY_PRECISION} // 4"},
    "the state is counted in 16 bits: it is stored as its parameters are, whatever the precision "
    "of the passes.",
)
answers.variant(
    {
        "p.numel() * p.element_size()": "p.nbytes",
        f"(parameters, gradients, {STATE}, activations": f"""(
        state={STATE}, activations=activations, parameters=parameters, gradients=gradients
    """,
    }
)


@answers.right
def by_hand(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights = 4 * sum(p.numel() for p in model.parameters())
    gradients = 4 * sum(p.numel() for p in model.parameters() if p.requires_grad)
    sizes = {"float32": 4, "int64": 8, "bfloat16": 2, "float16": 2}
    saved = 0
    for s in saved_for_backward(model, batch, precision):
        count = 1
        for size in s.shape:
            count *= size
        saved += count * sizes[str(s.dtype).removeprefix("torch.")]
    return weights, gradients, gradients * STATES[optimizer], saved


EXERCISE = Exercise(
    task="Add up the bytes of parameters, gradients, optimiser state and activations.",
    reference=memory_budget,
    cases=cases,
    answers=answers,
    difference=difference,
)
