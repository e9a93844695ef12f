"""How much memory a training step keeps, measured on one that really runs."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch import nn

from gpulearn import require
from gpulearn.train.memory import STATES, MemoryBudget
from gpulearn.train.precision import Precision
from gpulearn.train.recompute import Stages
from gpulearn.train.saved_rules import storage_number
from gpulearn.train.settings import OPTIMIZERS

__all__ = ["measured_memory"]


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
    update = OPTIMIZERS[optimizer](twin.parameters(), lr=1e-3)
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
