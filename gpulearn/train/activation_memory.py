"""Activation memory: the tensors that a forward pass keeps for the backward pass."""

from __future__ import annotations

import copy
import functools
import math
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.data import device_of
from gpulearn.train.precision import Precision
from gpulearn.train.recompute import Stages


def storage_number(tensor: Tensor) -> int:
    """A number that tensors share exactly if they are views of the same memory."""
    return int(tensor.untyped_storage()._cdata)


class SavedMeter:
    """On any device: the tensors that torch keeps for the backward pass, and their memory.

    torch hands each of them to a hook; a storage counts once, the parameters' not at all.
    """

    def __init__(self, model: nn.Module) -> None:
        self.own = {storage_number(p) for p in model.parameters()}
        self.tensors: dict[int, Tensor] = {}  # alive, so that each number stays its tensor's own

    def keep(self, tensor: Tensor) -> Tensor:
        """Count a tensor that torch is about to keep."""
        if storage_number(tensor) not in self.own:
            self.tensors[storage_number(tensor)] = tensor.detach()
        return tensor

    def watch(self) -> AbstractContextManager[Any]:
        """The context of a forward pass whose tensors are to be counted."""
        return torch.autograd.graph.saved_tensors_hooks(self.keep, lambda tensor: tensor)

    def bytes(self) -> int:
        """What is kept so far."""
        return sum(t.untyped_storage().nbytes() for t in self.tensors.values())


class GpuMeter(SavedMeter):
    """On a GPU: what its allocator has handed out since the start."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.before = in_use()

    def keep(self, tensor: Tensor) -> Tensor:
        """Nothing to do: it is in use already."""
        return tensor

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


class Kept(NamedTuple):
    """What is kept at one moment: its bytes, and the tensors where the meter knows them."""

    bytes: int
    tensors: dict[int, Tensor]


def most_kept(
    model: nn.Module, images: Tensor, labels: Tensor, passes: Precision, meter: SavedMeter
) -> Kept:
    """The most that is kept at once for the backward pass; leaves the gradients in the model.

    Where stages are recomputed, each is run once more by itself, on the input that it had, and what
    it keeps is added to what was kept when it began.
    """
    begun: list[tuple[nn.Module, Tensor, Kept]] = []

    def begin(stage: nn.Module, args: tuple[Tensor, ...]) -> None:
        x = args[0]
        meter.keep(x)  # as the checkpoint is about to do
        cut = x.detach().requires_grad_(x.requires_grad)  # outside its graph, which may then go
        begun.append((stage, cut, Kept(meter.bytes(), dict(meter.tensors))))

    stages = [s for m in model.modules() if isinstance(m, Stages) and m.recompute for s in m]
    handles = [stage.register_forward_pre_hook(begin) for stage in stages]
    with meter.watch(), passes.autocast():
        loss = nn.functional.cross_entropy(model(images.clone()), labels.clone())
    moments = [Kept(meter.bytes(), meter.tensors)]
    for handle in handles:
        handle.remove()
    passes.backward(loss)
    for stage, x, before in begun:
        inside = _inside(stage, x, passes, meter)
        moments.append(Kept(before.bytes + inside.bytes, before.tensors | inside.tensors))
    return max(moments, key=lambda moment: moment.bytes)


def _inside(stage: nn.Module, x: Tensor, passes: Precision, meter: SavedMeter) -> Kept:
    """What a stage keeps besides its input when it is computed again."""
    meter.tensors = {}
    meter.keep(x)
    before = meter.bytes()
    with meter.watch(), passes.autocast():
        graph = stage(x).grad_fn  # holds what is kept, and not the output
    kept = Kept(meter.bytes() - before, meter.tensors)
    del graph
    return kept


class SavedTensor(NamedTuple):
    """One tensor that is kept: the layer it is for, what it is there, its shape and dtype."""

    layer: str
    what: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


class NamedMeter(SavedMeter):
    """Counts as `SavedMeter` does, and names each tensor, by hooks of the model's layers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.names: dict[int, SavedTensor] = {}
        self.layer = "model"  # the one that runs; what is computed between two is the model's
        self.input: Tensor | None = None
        for name, layer in model.named_modules():
            if not any(True for _ in layer.children()):
                layer.register_forward_pre_hook(functools.partial(self._enter, name))
                layer.register_forward_hook(self._leave)
        model.register_forward_hook(lambda *_: setattr(self, "layer", "loss"))

    def keep(self, tensor: Tensor) -> Tensor:
        """Count and name a tensor that torch is about to keep."""
        saved = SavedTensor(self.layer, self._what(tensor), tuple(tensor.shape), tensor.dtype)
        self.names.setdefault(storage_number(tensor), saved)
        return super().keep(tensor)

    def _enter(self, name: str, layer: nn.Module, args: tuple[Any, ...]) -> None:
        self.layer, self.input = name, args[0]

    def _leave(self, layer: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        saved = self.names.get(storage_number(output)) if isinstance(output, Tensor) else None
        if saved is not None and saved.what == "mask":
            self.names[storage_number(output)] = saved._replace(what="output")
        self.layer, self.input = "model", None

    def _what(self, tensor: Tensor) -> str:
        if self.layer == "loss":
            kinds = {torch.int64: "labels", torch.float32: "probabilities"}
            return kinds[tensor.dtype] if tensor.ndim else "sum of weights"
        if self.input is None:
            return "intermediate"
        if storage_number(tensor) == storage_number(self.input):
            return "input"
        if tensor.dtype == torch.int64:
            return "indices"
        if tensor.shape != self.input.shape:
            return "copy of weight"
        # a mask is boolean or of its input's dtype
        return "mask" if tensor.dtype in (torch.bool, self.input.dtype) else "copy of input"


def saved_for_backward(
    model: nn.Module, batch: tuple[int, ...], precision: str = "float32"
) -> list[SavedTensor]:
    """List what is kept for the backward pass of a batch's mean cross-entropy.

    Only shapes go through a copy of the model, whose tensors have no memory. A tensor that two
    layers keep is listed once; parameters, which are there anyway, are not. Where stages are
    recomputed, the list is that of the moment in the backward pass at which most is kept.

    The model gives the scores, (n, classes). The batch is a shape, such as (64, 1, 8, 8).

    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    >>> for saved in saved_for_backward(model, (32, 1, 8, 8)):
    ...     print(saved.layer, saved.what, saved.shape, saved.dtype)
    1 input (32, 64) torch.float32
    loss probabilities (32, 10) torch.float32
    loss labels (32,) torch.int64
    loss sum of weights () torch.float32
    """
    device, shapes_only = device_of(model), FakeTensorMode()
    passes = Precision(precision, device)
    with FakeCopyMode(shapes_only):
        twin = copy.deepcopy(model)
    meter = NamedMeter(twin)
    try:
        with shapes_only, torch.enable_grad():
            images = torch.empty(batch, device=device)
            labels = torch.empty(batch[:1], dtype=torch.int64, device=device)
            kept = most_kept(twin, images, labels, passes, meter)
    except (RuntimeError, TypeError, ValueError) as error:
        why = require.shorten(str(error).strip().partition("\n")[0], 120)
        raise BadInput(f"A batch of shape {tuple(batch)} does not fit the model: {why}") from None
    return [meter.names[number] for number in kept.tensors]
