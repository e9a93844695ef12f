"""How many bytes a training step keeps."""

from __future__ import annotations

from typing import Any

from torch import nn

from gpulearn.checker.answers import Answers
from gpulearn.checker.compare import NOTHING, is_number
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.training.trial import apart
from gpulearn.require import shown
from gpulearn.train.activation_memory import saved_for_backward
from gpulearn.train.memory import STATES, MemoryBudget, memory_budget
from gpulearn.train.models import MLP, LeNet

__all__ = ["EXERCISE"]

answers = Answers()
Shape = tuple[int, ...]


def partly_frozen() -> nn.Sequential:
    """A network of which only the last layer is trained."""
    with apart(0):
        first = nn.Linear(64, 32)
        first.requires_grad_(False)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(32, 10))


def cases() -> list[Case]:
    """Several networks, batches, optimisers and precisions; one network partly frozen."""
    small, frozen = MLP((64, 16, 10)), partly_frozen()
    work: tuple[tuple[str, nn.Module, int, str, str], ...] = (
        ("an MLP, 32 images, Adam", small, 32, "adam", "float32"),
        ("an MLP, 1 image, gradient descent", small, 1, "sgd", "float32"),
        ("an MLP, 50 images, momentum, bfloat16", small, 50, "momentum", "bfloat16"),
        ("LeNet, 8 images, AdamW", LeNet(width=4), 8, "adamw", "float32"),
        ("LeNet, 8 images, RMSProp, float16", LeNet(width=4), 8, "rmsprop", "float16"),
        ("a network partly frozen, 20 images, Adam", frozen, 20, "adam", "float32"),
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


def nbytes(tensors: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def kept(model: Any, batch: Shape, precision: str) -> int:
    saved = saved_for_backward(model, batch, precision)
    return sum(s.elements * s.dtype.itemsize for s in saved)


def trained(model: Any) -> list[Any]:
    return [p for p in model.parameters() if p.requires_grad]


@answers.wrong("the gradients are missing: each trained parameter has one, as large as itself.")
def without_gradients(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    state = STATES[optimizer] * nbytes(trained(model))
    return MemoryBudget(nbytes(model.parameters()), 0, state, kept(model, batch, precision))


@answers.wrong("the optimiser's state is missing: STATES tells how many numbers a parameter needs.")
def without_state(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    return MemoryBudget(weights, gradients, 0, kept(model, batch, precision))


@answers.wrong(
    "every optimiser is taken to remember one number for each parameter: Adam keeps two means, "
    "plain gradient descent nothing. Look into STATES."
)
def one_state(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    return MemoryBudget(weights, gradients, gradients, kept(model, batch, precision))


@answers.wrong(
    "every optimiser is taken for Adam, with two numbers for each parameter. Look into STATES."
)
def two_states(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    return MemoryBudget(weights, gradients, 2 * gradients, kept(model, batch, precision))


@answers.wrong(
    "the state is the optimiser's numbers alone, how many for one parameter: multiply by the "
    "bytes of all trained parameters."
)
def state_of_one(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    return MemoryBudget(weights, gradients, STATES[optimizer], kept(model, batch, precision))


@answers.wrong("these are numbers of elements; each takes bytes: element_size(), dtype.itemsize.")
def elements(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = (
        sum(p.numel() for p in group) for group in (model.parameters(), trained(model))
    )
    saved = sum(s.elements for s in saved_for_backward(model, batch, precision))
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong("the activations are counted in elements: multiply each by its dtype.itemsize.")
def activations_in_elements(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = sum(s.elements for s in saved_for_backward(model, batch, precision))
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong(
    "parameters, gradients and state are multiplied by the batch: they are there once, however "
    "many images there are."
)
def batch_everywhere(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = (batch[0] * nbytes(g) for g in (model.parameters(), trained(model)))
    state = STATES[optimizer] * gradients
    return MemoryBudget(weights, gradients, state, kept(model, batch, precision))


@answers.wrong(
    "the gradients are multiplied by the batch: backward adds all images up into one gradient."
)
def gradient_for_each_image(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    state, saved = STATES[optimizer] * gradients, kept(model, batch, precision)
    return MemoryBudget(weights, batch[0] * gradients, state, saved)


@answers.wrong("the activations are those of a single image: they grow with the batch.")
def one_image(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = kept(model, (1, *batch[1:]), precision)
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong("the activations are multiplied by the batch once more: the shapes hold it already.")
def batch_twice(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = batch[0] * kept(model, batch, precision)
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong(
    "parameters, gradients and state are counted in 16 bits: autocast makes copies for the passes, "
    "the parameters themselves stay float32."
)
def everything_in_16_bits(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    size = 4 if precision == "float32" else 2
    weights, gradients = (
        size * sum(p.numel() for p in group) for group in (model.parameters(), trained(model))
    )
    state = STATES[optimizer] * gradients
    return MemoryBudget(weights, gradients, state, kept(model, batch, precision))


@answers.wrong(
    "every kept number is taken for 4 bytes: under autocast most have 2, and places and labels "
    "are int64, which has 8. Use each one's dtype.itemsize."
)
def all_of_4_bytes(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = 4 * sum(s.elements for s in saved_for_backward(model, batch, precision))
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong(
    "every kept number is taken for 4 or 2 bytes, as the precision says: places and labels are "
    "int64, and the loss computes in float32. Use each one's dtype.itemsize."
)
def all_of_the_precision(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    size = 4 if precision == "float32" else 2
    saved = size * sum(s.elements for s in saved_for_backward(model, batch, precision))
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong("the activations are always those of float32: hand precision on.")
def precision_forgotten(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = kept(model, batch, "float32")
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong("frozen parameters (requires_grad is False) have no gradient, and no state.")
def gradients_of_frozen(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights = nbytes(model.parameters())
    saved = kept(model, batch, precision)
    return MemoryBudget(weights, weights, STATES[optimizer] * weights, saved)


@answers.wrong(
    "frozen parameters (requires_grad is False) are in memory too, though without a gradient."
)
def frozen_left_out(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    gradients = nbytes(trained(model))
    saved = kept(model, batch, precision)
    return MemoryBudget(gradients, gradients, STATES[optimizer] * gradients, saved)


@answers.wrong(
    "the optimiser remembers nothing of frozen parameters: its state is theirs alone "
    "that have a gradient."
)
def state_of_frozen(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    saved = kept(model, batch, precision)
    return MemoryBudget(weights, gradients, STATES[optimizer] * weights, saved)


@answers.wrong("the activations are missing: add up what saved_for_backward lists.")
def without_activations(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    return MemoryBudget(weights, gradients, STATES[optimizer] * gradients, 0)


@answers.wrong("gradients and state are swapped: the order is parameters, gradients, state, …")
def swapped(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    weights, gradients = nbytes(model.parameters()), nbytes(trained(model))
    state, saved = STATES[optimizer] * gradients, kept(model, batch, precision)
    return MemoryBudget(weights, state, gradients, saved)


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


@answers.right
def by_sums(model: Any, batch: Shape, optimizer: str, precision: str) -> Any:
    gradients = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    return MemoryBudget(
        parameters=sum(p.nbytes for p in model.parameters()),
        gradients=gradients,
        state=STATES[optimizer] * gradients,
        activations=kept(model, batch, precision),
    )


EXERCISE = Exercise(
    name="memory_budget",
    notebook="12_training_loop",
    task="Add up the bytes of parameters, gradients, optimiser state and activations.",
    reference=memory_budget,
    cases=cases,
    answers=answers,
    difference=difference,
)
