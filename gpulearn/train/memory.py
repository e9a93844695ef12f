"""The memory of a training step: predicted before it runs, and measured while it does."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import OPTIMIZERS
from gpulearn.train.activation_memory import saved_for_backward, storage_number
from gpulearn.train.precision import Precision
from gpulearn.train.recompute import Stages
from gpulearn.train.settings import TORCH_OPTIMIZERS

__all__ = ["STATES", "Live", "MemoryBudget", "measured_memory", "memory_budget", "peak_memory"]

# how many numbers an optimiser remembers for each parameter
STATES = {name: one.numbers_kept for name, one in OPTIMIZERS.items()}


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
        optimizer: a name in `gl.optim.OPTIMIZERS`, such as "adamw".
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


class Kept:
    """On any device: the memory of the tensors that torch keeps for the backward pass.

    torch hands each of them to a hook; a storage counts once, the parameters' not at all.
    """

    def __init__(self, model: nn.Module) -> None:
        self.own = {storage_number(p) for p in model.parameters()}
        self.found: dict[int, torch.Tensor] = {}

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor:
        if storage_number(tensor) not in self.own:
            self.found[storage_number(tensor)] = (
                tensor.detach()
            )  # kept alive: its number stays its own
        return tensor

    def keep(self, tensor: torch.Tensor) -> None:
        """Count a tensor that torch is about to keep."""
        self._pack(tensor)

    def watch(self) -> AbstractContextManager[Any]:
        """The context of a forward pass whose tensors are to be counted."""
        return torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor)

    def bytes(self) -> int:
        """What is kept so far."""
        return sum(t.untyped_storage().nbytes() for t in self.found.values())


class InUse:
    """On a GPU: what its allocator has handed out since the start."""

    def __init__(self, model: nn.Module) -> None:
        self.before = in_use()

    def keep(self, tensor: torch.Tensor) -> None:
        """Nothing to do: it is in use already."""

    def watch(self) -> AbstractContextManager[Any]:
        """Nothing to do: the allocator counts by itself."""
        return ExitStack()

    def bytes(self) -> int:
        """What is in use more than at the start."""
        torch.clear_autocast_cache()  # copies of weights that would go when the pass ends
        return in_use() - self.before


def in_use() -> int:
    """The bytes that the GPU's allocator has handed out, once the GPU has nothing left to do."""
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def measured_memory(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    optimizer: str = "sgd",
    precision: str = "float32",
) -> MemoryBudget:
    """Run one training step on a copy of the model and measure what it keeps, in bytes.

    The activations are counted by torch's hooks for saved tensors on a CPU, by the allocator on
    a GPU. Where stages are recomputed, each is run once more by itself, on the input that it had,
    and what it keeps is added to what was kept when it began; the largest sum counts. The model
    and the random numbers stay as they were.

    Args:
        model: the step is run where it is.
        images: one batch, on the model's device; the step keeps it, so it counts.
        labels: its classes, int64, shape (n,).
        optimizer: as for `memory_budget`.
        precision: "float32", "bfloat16" or "float16".

    Raises:
        BadInput: optimizer or precision is unknown.

    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    >>> measured_memory(model, torch.ones(32, 1, 8, 8), torch.arange(32) % 10, "adam").state
    5208
    """
    require.choice("optimizer", optimizer, STATES)
    passes = Precision(precision, images.device)
    on_gpu = images.device.type == "cuda"
    with torch.random.fork_rng([images.device] if on_gpu else []):
        if on_gpu:  # libraries take memory of their own at their first use, once
            _activations(copy.deepcopy(model), images, labels, passes, InUse)
        twin = copy.deepcopy(model)
        activations = _activations(twin, images, labels, passes, InUse if on_gpu else Kept)
    update = TORCH_OPTIMIZERS[optimizer](twin.parameters(), lr=1e-3)
    update.step()
    state = [v for kept in update.state.values() for v in kept.values()]
    return MemoryBudget(
        parameters=_nbytes(list(twin.parameters())),
        gradients=_nbytes([p.grad for p in twin.parameters()]),
        state=_nbytes(state),
        activations=activations,
    )


def _activations(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    passes: Precision,
    meter: type[Kept] | type[InUse],
) -> int:
    """The most that is kept at once for the backward pass; leaves the gradients in the model."""
    kept = meter(model)
    begun: list[tuple[nn.Module, torch.Tensor, int]] = []

    def begin(stage: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        kept.keep(args[0])  # as the checkpoint is about to do
        begun.append((stage, _cut(args[0]), kept.bytes()))

    stages = [s for m in model.modules() if isinstance(m, Stages) and m.recompute for s in m]
    handles = [stage.register_forward_pre_hook(begin) for stage in stages]
    with kept.watch(), passes.autocast():
        loss = nn.functional.cross_entropy(model(images.clone()), labels.clone())
    most = kept.bytes()
    for handle in handles:
        handle.remove()
    passes.backward(loss)
    for stage, x, before in begun:
        most = max(most, before + _inside(stage, x, passes, meter))
    return most


def _inside(
    stage: nn.Module, x: torch.Tensor, passes: Precision, meter: type[Kept] | type[InUse]
) -> int:
    """What a stage keeps besides its input when it is computed again."""
    kept = meter(stage)
    kept.keep(x)
    before = kept.bytes()
    with kept.watch(), passes.autocast():
        graph = stage(x).grad_fn  # holds what is kept, and not the output
    after = kept.bytes()
    del graph
    return after - before


def _cut(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory outside its graph, which may then go."""
    return tensor.detach().requires_grad_(tensor.requires_grad)


def _nbytes(tensors: list[torch.Tensor | None]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


class Live(TorchDispatchMode):
    """Within it, counts the memory of every tensor from when it is made until it is dropped.

    torch hands every operation to it, those of the backward pass on a CPU too.

    Attributes:
        now: bytes of the tensors made within it that are alive.
        most: the most that `now` has been.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.most = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation, and count the memory of its results where it is new."""
        before = [t for t in (*args, *(kwargs or {}).values()) if _is_tensor(t)]
        given = {storage_number(tensor) for tensor in before}
        for tensor in before:  # freed or filled again since, as sharded training does
            self._settle(storage_number(tensor), tensor.untyped_storage().nbytes())
        out = func(*args, **(kwargs or {}))
        for tensor in filter(_is_tensor, out if isinstance(out, tuple | list) else [out]):
            number = storage_number(tensor)
            if number not in given and number not in self.sizes:
                self.sizes[number] = tensor.untyped_storage().nbytes()
                self.now += self.sizes[number]
                weakref.finalize(tensor.untyped_storage(), self._drop, number)
        self.most = max(self.most, self.now)
        return out

    def _settle(self, number: int, size: int) -> None:
        if number in self.sizes:
            self.now += size - self.sizes[number]
            self.sizes[number] = size

    def _drop(self, number: int) -> None:
        self.now -= self.sizes.pop(number)


def peak_memory(step: Callable[[], object]) -> int:
    """The most bytes of tensors made by a function that are alive at once while it runs.

    On a GPU that is the rise of its allocator's peak; on a CPU the sizes of all tensors are
    added up, but not what an operation needs for itself while it computes. Where a GPU has been
    used, the larger of the two counts.

    Args:
        step: a function of no arguments, such as a training step.

    >>> peak_memory(lambda: torch.zeros(1000) + 1)
    8000
    """
    live = Live()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        with live:
            step()
        return live.most
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = int(torch.cuda.memory_allocated())
    with live:  # a step may run on the CPU although a GPU has been used
        step()
    torch.cuda.synchronize()
    return max(int(torch.cuda.max_memory_allocated()) - before, live.most)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
