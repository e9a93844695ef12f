"""The memory of a training step: predicted before it runs, and measured while it does."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import OPTIMIZERS
from gpulearn.train.activation_memory import (
    GpuMeter,
    SavedMeter,
    in_use,
    most_kept,
    saved_for_backward,
    storage_number,
)
from gpulearn.train.data import check_float32
from gpulearn.train.precision import Precision
from gpulearn.train.settings import TORCH_OPTIMIZERS

# how many numbers an optimizer remembers for each parameter
STATES = {name: optimizer.numbers_kept for name, optimizer in OPTIMIZERS.items()}


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


def _check(args: dict[str, Any]) -> None:
    model, batch = args["model"], args["batch"]
    if not isinstance(model, nn.Module):
        raise BadInput(f"model is {require.shown(model)}: give a torch.nn.Module.")
    check_float32(model)
    if not isinstance(batch, tuple) or not batch:
        raise BadInput(
            f"batch is {require.shown(batch)}: give the shape of a batch, such as (64, 1, 8, 8)."
        )
    for size in batch:
        require.whole("a size in batch", size)
    require.choice("optimizer", args["optimizer"], STATES)


@require.together(_check)
def memory_budget(
    model: nn.Module, batch: tuple[int, ...], optimizer: str, precision: str
) -> MemoryBudget:
    """Predict the bytes that a training step keeps at once.

    Every parameter is there, with a gradient and what the optimizer remembers of it, in the
    parameter's own dtype; the activations are the tensors that `saved_for_backward` lists.

    Left out, because they come and go or are few: what a layer needs while it computes, the
    gradients of activations, Adam's count of steps (4 bytes a parameter tensor), buffers, and what
    a GPU's allocator adds when it rounds each tensor up to 512 bytes.

    The batch is a shape such as (64, 1, 8, 8); the optimizer is a name, as for `gl.fit`, the
    precision "float32", "bfloat16" or "float16".

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    >>> memory_budget(model, (32, 1, 8, 8), "adam", "float32")
    MemoryBudget(parameters=2600, gradients=2600, state=5200, activations=9732)
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


def measured_memory(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    optimizer: str = "sgd",
    precision: str = "float32",
) -> MemoryBudget:
    """Run one training step on a copy of the model and measure what it keeps, in bytes.

    The activations are counted by torch's hooks for saved tensors on a CPU, by the allocator on
    a GPU. The model and the random numbers stay as they were.

    Images and labels (n,), int64, are one batch on the model's device; the step keeps them, so they
    count. Optimizer and precision are as for `memory_budget`.

    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    >>> measured_memory(model, torch.ones(32, 1, 8, 8), torch.arange(32) % 10, "adam").state
    5208
    """
    require.choice("optimizer", optimizer, STATES)
    passes = Precision(precision, images.device)
    on_gpu = images.device.type == "cuda"
    with torch.random.fork_rng([images.device] if on_gpu else []):
        if on_gpu:  # libraries take memory of their own at their first use, once
            twin = copy.deepcopy(model)
            most_kept(twin, images, labels, passes, GpuMeter(twin))
        twin = copy.deepcopy(model)
        meter = GpuMeter(twin) if on_gpu else SavedMeter(twin)
        activations = most_kept(twin, images, labels, passes, meter).bytes
    update = TORCH_OPTIMIZERS[optimizer](twin.parameters(), lr=1e-3)
    update.step()
    return MemoryBudget(
        parameters=sum(p.nbytes for p in twin.parameters()),
        gradients=sum(p.grad.nbytes for p in twin.parameters() if p.grad is not None),
        state=sum(value.nbytes for buffers in update.state.values() for value in buffers.values()),
        activations=activations,
    )


class LiveMemory(TorchDispatchMode):
    """Within it, counts the memory of every tensor from when it is made until it is dropped.

    torch hands every operation to it, those of the backward pass on a CPU too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.most = 0  # bytes of the tensors that are alive, and the most so far

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation, and count the memory of its results where it is new."""
        inputs = _storages((*args, *(kwargs or {}).values()))
        for number, storage in inputs.items():  # freed or filled again, as sharded training does
            if number in self.sizes:
                self.now += storage.nbytes() - self.sizes[number]
                self.sizes[number] = storage.nbytes()
        out = func(*args, **(kwargs or {}))
        for number, storage in _storages(out if isinstance(out, tuple | list) else [out]).items():
            if number not in inputs and number not in self.sizes:
                self.sizes[number] = storage.nbytes()
                self.now += storage.nbytes()
                weakref.finalize(storage, self._drop, number)
        self.most = max(self.most, self.now)
        return out

    def _drop(self, number: int) -> None:
        self.now -= self.sizes.pop(number)


def _storages(values: Iterable[Any]) -> dict[int, Any]:
    """The memory of the tensors among some values, by its number."""
    return {storage_number(t): t.untyped_storage() for t in values if isinstance(t, Tensor)}


def peak_memory(step: Callable[[], object]) -> int:
    """The most bytes of tensors made by a function that are alive at once while it runs.

    On a GPU that is the rise of its allocator's peak; on a CPU the sizes of all tensors are
    added up, but not what an operation needs for itself while it computes. Where a GPU has been
    used, the larger of the two counts.

    >>> peak_memory(lambda: torch.zeros(1000) + 1)
    8000
    """
    live, before = LiveMemory(), None
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        before = in_use()
        torch.cuda.reset_peak_memory_stats()
    with live:  # a step may run on the CPU although a GPU has been used
        step()
    if before is None:
        return live.most
    torch.cuda.synchronize()
    return max(int(torch.cuda.max_memory_allocated()) - before, live.most)
