"""How much memory a training step needs, predicted before it runs."""

from __future__ import annotations

from typing import NamedTuple

from torch import nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.saved import saved_for_backward

__all__ = ["STATES", "MemoryBudget", "memory_budget"]

# how many numbers an optimiser remembers for each parameter
STATES = {
    "sgd": 0,
    "momentum": 1,
    "nesterov": 1,
    "rmsprop": 1,
    "adagrad": 1,
    "adam": 2,
    "adamw": 2,
}


class MemoryBudget(NamedTuple):
    """Bytes that a training step keeps at once, by what they are for."""

    parameters: int
    gradients: int
    state: int
    activations: int

    @property
    def total(self) -> int:
        """All of it, in bytes."""
        return sum(self)

    def __repr__(self) -> str:
        rows = [*zip(self._fields, self, strict=True), ("total", self.total)]
        wide = max(len(f"{size:,}") for _, size in rows)
        return "\n".join(f"{name:<11}  {size:>{wide},} bytes" for name, size in rows)

    def _repr_html_(self) -> str:
        from gpulearn.tables import table

        rows = [*zip(self._fields, self, strict=True), ("total", self.total)]
        shown = table([{"what": name, "bytes": f"{size:,}"} for name, size in rows])
        return shown._repr_html_()


def _model(value: object) -> None:
    if not isinstance(value, nn.Module):
        raise BadInput(f"model is {require.shown(value)}: give a torch.nn.Module.")


def _batch(value: object) -> None:
    if not isinstance(value, tuple) or not value:
        raise BadInput(
            f"batch is {require.shown(value)}: give the shape of a batch, such as (64, 1, 8, 8)."
        )
    for size in value:
        require.whole("a size in batch", size)


def _optimizer(value: object) -> None:
    require.choice("optimizer", value, STATES)


@require.checked(model=_model, batch=_batch, optimizer=_optimizer)
def memory_budget(
    model: nn.Module, batch: tuple[int, ...], optimizer: str, precision: str
) -> MemoryBudget:
    """Predict the bytes that a training step keeps at once.

    Every parameter is there, with a gradient and what the optimiser remembers of it, in the
    parameter's own dtype, whatever the precision of the passes; these three do not depend on
    the batch. The activations do: they are the tensors that `saved_for_backward` lists, each
    elements times bytes an element.

    Left out, because they come and go or are few: what a layer needs while it computes, the
    gradients of activations, Adam's count of steps (4 bytes a parameter tensor), buffers, and what
    a GPU's allocator adds when it rounds each tensor up to 512 bytes.

    Args:
        model: a chain of layers.
        batch: the shape of a batch of images, such as (64, 1, 8, 8).
        optimizer: "sgd", "momentum", "nesterov", "rmsprop", "adagrad", "adam" or "adamw".
        precision: "float32", "bfloat16" or "float16", as for `Precision`.

    Returns:
        Bytes for parameters, gradients, optimiser state and activations.

    Raises:
        BadInput: an argument is not what it should be, or a layer has no rule.

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    >>> memory_budget(model, (32, 1, 8, 8), "adam", "float32")
    parameters    2,600 bytes
    gradients     2,600 bytes
    state         5,200 bytes
    activations   9,732 bytes
    total        20,132 bytes
    """
    parameters = gradients = 0
    for p in model.parameters():
        size = p.numel() * p.element_size()
        parameters += size
        gradients += size if p.requires_grad else 0
    activations = 0
    for saved in saved_for_backward(model, batch, precision):
        activations += saved.elements * saved.dtype.itemsize
    return MemoryBudget(parameters, gradients, STATES[optimizer] * gradients, activations)
