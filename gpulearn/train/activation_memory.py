"""Activation memory: which tensors a forward pass keeps for the backward pass, from shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.precision import PRECISIONS
from gpulearn.train.recompute import Stages


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


class Ledger:
    """What is kept so far, by the storage it lives in: a storage kept twice counts once."""

    def __init__(self, precision: str, device: str) -> None:
        self.low = PRECISIONS[precision]
        self.device = device
        self.dtypes: dict[int, torch.dtype] = {}
        self.kept: dict[Any, SavedTensor] = {}
        self.alive: list[Tensor] = []  # so that no storage's number is given out again

    def know(self, tensor: Tensor, dtype: torch.dtype) -> None:
        """Note the dtype that a tensor would have under autocast; here only shapes run."""
        self.alive.append(tensor)
        self.dtypes[storage_number(tensor)] = dtype

    def keep(self, layer: str, what: str, tensor: Tensor) -> None:
        """List a tensor that passes between layers."""
        key = storage_number(tensor)
        self.kept.setdefault(key, SavedTensor(layer, what, tuple(tensor.shape), self.dtypes[key]))

    def add(
        self, layer: str, what: str, shape: torch.Size, dtype: torch.dtype, use: object = None
    ) -> None:
        """List a tensor that the layer makes for itself, anew at each `use` of the layer."""
        self.kept.setdefault((layer, what, use), SavedTensor(layer, what, tuple(shape), dtype))

    def product(
        self, name: str, layer: Any, x: Tensor, *, input_needed: bool, weight_needed: bool
    ) -> None:
        """The two factors of a layer that multiplies; under autocast as 16-bit copies."""
        if input_needed and self.dtypes[storage_number(x)] == self.low:
            self.keep(name, "input", x)
        elif input_needed:
            self.add(name, "copy of input", x.shape, self.low, use=storage_number(x))
        if weight_needed and self.low != torch.float32:
            # autocast makes one copy of a trained weight, and one at each use of a frozen one
            use = None if layer.weight.requires_grad else storage_number(x)
            self.add(name, "copy of weight", layer.weight.shape, self.low, use)


def _input(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    ledger.keep(name, "input", x)


def _output(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    ledger.keep(name, "output", y)


def _conv(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    sizes = zip(layer.kernel_size, layer.dilation, strict=True)
    uneven = layer.padding == "same" and any((k - 1) * d % 2 for k, d in sizes)
    if layer.padding_mode != "zeros" or uneven:
        raise BadInput(
            f"The layer {name} has padding={layer.padding!r} and "
            f"padding_mode={layer.padding_mode!r}, for which torch makes a padded copy: pad with "
            f"zeros, and with as many on each side."
        )
    # torch keeps both, also for a frozen weight and for the first layer
    ledger.product(name, layer, x, input_needed=True, weight_needed=True)


def _linear(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    trained = layer.weight.requires_grad
    ledger.product(name, layer, x, input_needed=trained, weight_needed=x.requires_grad)


def _max_pool(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    ledger.keep(name, "input", x)
    ledger.add(name, "indices", y.shape, torch.int64, use=storage_number(y))


def _dropout(ledger: Ledger, name: str, layer: Any, x: Tensor, y: Tensor) -> None:
    if layer.training and 0 < layer.p < 1:
        mask = torch.bool if ledger.device == "cuda" else ledger.dtypes[storage_number(x)]
        ledger.add(name, "mask", x.shape, mask, use=storage_number(y))


RULES: dict[type[nn.Module], Callable[[Ledger, str, Any, Tensor, Tensor], None]] = {
    nn.Linear: _linear,
    nn.Conv2d: _conv,
    nn.ReLU: _output,
    nn.Sigmoid: _output,
    nn.Tanh: _output,
    nn.GELU: _input,
    nn.MaxPool2d: _max_pool,
    nn.AvgPool2d: _input,
    nn.Dropout: _dropout,
    nn.Flatten: lambda *_: None,  # a view has no derivative to compute
    nn.Identity: lambda *_: None,
}


def storage_number(tensor: Tensor) -> int:
    """A number that tensors share exactly if they are views of the same memory."""
    return int(tensor.untyped_storage()._cdata)


def saved_for_backward(
    model: nn.Module, batch: tuple[int, ...], precision: str = "float32"
) -> list[SavedTensor]:
    """List what is kept for the backward pass of a batch's mean cross-entropy.

    Only shapes go through the model (on torch's meta device, which has no memory). What each
    kind of layer keeps is a rule in `RULES`: its input, its output, or both, the indices of
    the largest elements, the mask. A tensor that two layers keep is listed once; parameters,
    which are there anyway, are not. Where stages are recomputed, the list is that of the
    moment in the backward pass at which most is kept.

    The layers are modules in a chain; the loss follows its logits, (n, classes). The batch is a
    shape, such as (64, 1, 8, 8).

    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    >>> for saved in saved_for_backward(model, (32, 1, 8, 8)):
    ...     print(saved.layer, saved.what, saved.shape, saved.dtype)
    1 input (32, 64) torch.float32
    loss probabilities (32, 10) torch.float32
    loss labels (32,) torch.int64
    loss sum of weights () torch.float32
    """
    require.choice("precision", precision, PRECISIONS)
    ledger = Ledger(precision, next((p.device.type for p in model.parameters()), "cpu"))
    stages = [s for m in model.modules() if isinstance(m, Stages) and m.recompute for s in m]
    moments: list[dict[Any, SavedTensor]] = []
    open_stages: list[dict[Any, SavedTensor]] = []  # what was kept when a stage began

    def begin(stage: nn.Module, args: tuple[Any, ...]) -> None:
        ledger.keep("stages", "input", args[0])
        open_stages.append(dict(ledger.kept))

    def end(stage: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        moments.append(dict(ledger.kept))
        ledger.kept = open_stages.pop()

    with ExitStack() as hooks:
        for stage in stages:
            hooks.callback(stage.register_forward_pre_hook(begin).remove)
        for name, layer in _leaves(model):
            keep = functools.partial(_apply, ledger, name)
            hooks.callback(layer.register_forward_hook(keep).remove)
        for stage in stages:  # after its layers' own hooks, of which it may be one
            hooks.callback(stage.register_forward_hook(end).remove)
        logits = _shapes(model, batch, ledger)
    # cross-entropy keeps its output before the mean, in float32, and the labels
    ledger.add("loss", "probabilities", logits.shape, torch.float32)
    ledger.add("loss", "labels", logits.shape[:1], torch.int64)
    ledger.add("loss", "sum of weights", torch.Size(()), torch.float32)
    moments.append(ledger.kept)

    def size(kept: dict[Any, SavedTensor]) -> int:
        return sum(saved.elements * saved.dtype.itemsize for saved in kept.values())

    return list(max(moments, key=size).values())


def _leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The layers that have a rule of their own; those without are refused."""
    for name, layer in model.named_modules():
        if type(layer) in RULES:
            yield name, layer
        elif not any(True for _ in layer.children()):
            known = ", ".join(kind.__name__ for kind in RULES)
            raise BadInput(
                f"What the layer {name or 'model'} ({type(layer).__name__}) keeps is not known "
                f"here: use {known}."
            )


def _apply(ledger: Ledger, name: str, layer: Any, args: tuple[Any, ...], y: Tensor) -> None:
    x = args[0]
    if not isinstance(y, Tensor):
        raise BadInput(f"The layer {name} gives {type(y).__name__}: let it give one tensor.")
    if storage_number(x) not in ledger.dtypes:
        raise BadInput(
            f"The input of {name} comes from no layer: write what is before it as a module too, "
            f"such as torch.nn.ReLU()."
        )
    multiplies = isinstance(layer, nn.Linear | nn.Conv2d)
    ledger.know(y, ledger.low if multiplies else ledger.dtypes[storage_number(x)])
    if y.requires_grad:
        RULES[type(layer)](ledger, name, layer, x, y)


def _shapes(model: nn.Module, batch: tuple[int, ...], ledger: Ledger) -> Tensor:
    """Send shapes through the model, without memory or arithmetic; its hooks are called."""
    images = torch.empty(batch, device="meta")
    ledger.know(images, torch.float32)
    try:
        with torch.enable_grad():  # ties are written out: torch would lose a layer used twice
            logits: Tensor = torch.func.functional_call(
                model, _shadows(model), (images,), tie_weights=False
            )
    except (RuntimeError, TypeError) as error:
        why = require.shorten(str(error).strip().partition("\n")[0], 120)
        raise BadInput(f"A batch of shape {tuple(batch)} does not fit the model: {why}") from None
    if logits.ndim != 2:
        raise BadInput(f"The model gives shape {tuple(logits.shape)}: it must be (n, classes).")
    return logits


def _shadows(model: nn.Module) -> dict[str, Tensor]:
    """A tensor without memory for each parameter and buffer; the same where layers share it."""
    by_id: dict[int, Tensor] = {}
    by_name: dict[str, Tensor] = {}
    for prefix, layer in model.named_modules():  # a layer that is used twice comes once
        own = layer.named_parameters(prefix, recurse=False)
        for name, t in [*own, *layer.named_buffers(prefix, recurse=False)]:
            if t.is_floating_point() and t.dtype != torch.float32:
                raise BadInput(
                    f"{name} is of {str(t.dtype)[6:]}: give a model in float32; `precision` is "
                    f"that of the passes."
                )
            shadow = torch.empty_like(t, device="meta").requires_grad_(t.requires_grad)
            by_name[name] = by_id.setdefault(id(t), shadow)
    return by_name
