"""What optimizer steps do to replicas: weights before and after, gradients, and who made them."""

from __future__ import annotations

import math
import weakref
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim import optimizer as hooks

if TYPE_CHECKING:
    from gpulearn.parallel.watch.watch import Watch

ENTRIES = 16  # of a parameter, as evidence of how far replicas are apart
FOLLOWED = 8  # parameters whose local gradients are followed
MAX_PARAMETERS = 400
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
MEANS = ("NllLoss", "MseLoss", "Mean", "BinaryCrossEntropy", "SmoothL1", "Huber", "L1Loss", "KlDiv")


class Steps:
    """Of each sampled step: digests of weights and gradients, and some entries of both."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.count = 0
        self.backwards: list[str] = []  # the line of each since the last step
        self.sharded = False
        self.devices: set[str] = set()
        self._line = ""
        self._sampled: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}
        self._optimized: dict[int, Tensor] = {}
        self._followed: dict[int, Tensor] = {}  # id → its local gradients, added up
        self._modules: dict[int, weakref.ref[nn.Module]] = {}
        self._undivided: tuple[str, int, int] | None = None
        self._roots: list[bool] = []  # of each backward since the last step: a plain mean?
        self._outermost: torch.optim.Optimizer | None = None  # whose step is under way
        self._closure = False  # that step calls forward and backward itself
        hooks.register_optimizer_step_pre_hook(self._before)
        hooks.register_optimizer_step_post_hook(self._after)
        watch.replace(torch.autograd, "backward", self._backward)

    def follow(self, module: nn.Module) -> bool:
        """Add up what backward brings to a few of a module's parameters, before any exchange.

        False for a module that is followed already.
        """
        if id(module) in self._modules:
            return False
        parameters = [p for p in module.parameters() if p.requires_grad and p.is_leaf]
        self._modules[id(module)] = weakref.ref(module)
        spread = max(1, math.ceil(len(parameters) / FOLLOWED))
        for parameter in parameters[::spread]:
            if id(parameter) not in self._followed and not _is_sharded(parameter):
                self._followed[id(parameter)] = torch.zeros(0)
                parameter.register_hook(self._local(parameter))
        return True

    def _local(self, parameter: Tensor) -> Callable[[Tensor], None]:
        key = id(parameter)

        def add(gradient: Tensor) -> None:
            if self._watch.is_sampled():
                few = _entries(gradient)
                earlier = self._followed[key]
                begins = parameter.grad is None or not parameter.grad.any()
                self._followed[key] = few if begins or not len(earlier) else earlier + few

        return add

    def _backward(self, tensors: Any = (), *_args: Any, **_keywords: Any) -> None:
        self.backwards.append(self._watch.line())
        self._watch.collectives.renewed()
        first = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
        self._roots.append(first is not None and _is_plain_mean(first))

    def _before(self, optimizer: torch.optim.Optimizer, args: Any, keywords: Any) -> None:
        if self._outermost not in (None, optimizer):
            return  # an optimizer that shards its state steps another one for its share
        self._outermost = optimizer
        self._closure = keywords.get("closure", args[-1]) not in (None, optimizer)
        watch = self._watch
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self._line = watch.line()
        self._optimized |= {id(p): p for p in parameters[:MAX_PARAMETERS]}
        self.devices |= {str(p.device) for p in parameters[:1]}
        times = len(self.backwards)
        repeats = times > len(set(self.backwards)) or watch.forwards.is_unsynced
        if times > 1 and repeats and all(self._roots) and self._undivided is None:
            self._undivided = (self._line, times, self.count)
        if watch.is_sampled():
            self._sampled.append(self._look(parameters))

    def _look(self, parameters: Sequence[Tensor]) -> dict[str, Any]:
        self.sharded |= any(map(_is_sharded, parameters))
        plain = self._named(parameters)
        known = self._watch.forwards.kept
        return {
            "step": self.count,
            "line": self._line,
            "before": {name: _state(parameter) for name, parameter in plain.items()},
            **self._gradients(plain),
            "buffers": self._buffers(),
            "draws": zlib.crc32(torch.get_rng_state().numpy().tobytes()[:2504]),
            "unwrapped": [
                n for n, p in plain.items() if known and p.requires_grad and id(p) not in known
            ],
        }

    def _gradients(self, plain: Mapping[str, Tensor]) -> dict[str, Any]:
        gradients, local = {}, {}
        for name, parameter in plain.items():
            gradient = parameter.grad
            if parameter.requires_grad:
                gradients[name] = None if gradient is None else _state(gradient)
            if len(followed := self._followed.get(id(parameter), ())):
                local[name] = [float(value) for value in followed]
        return {"gradients": gradients, "local": local, "held": self._watch.forwards.is_held()}

    def _buffers(self) -> dict[str, Any]:
        return {
            name: _state(buffer)
            for ref in self._modules.values()
            if (module := ref()) is not None
            for name, buffer in module.named_buffers()
            if buffer.is_floating_point()
        }

    def _after(self, optimizer: torch.optim.Optimizer, *_rest: Any) -> None:
        if optimizer is not self._outermost:
            return
        self._outermost = None
        watch = self._watch
        sampled = watch.is_sampled() and bool(self._sampled)
        if sampled:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            self._sampled[-1]["after"] = self._weights(parameters)
            if self._closure:
                self._sampled[-1] |= self._gradients(self._named(parameters))
            self._followed = dict.fromkeys(self._followed, torch.zeros(0))
        watch.collectives.renewed()
        watch.forwards.stepped(0 if self._closure else len(self.backwards))
        self.count += 1
        watch.counter[0] = self.count
        self.backwards.clear()
        self._roots.clear()
        if sampled:
            watch.write()

    def _named(self, parameters: Iterable[Tensor]) -> dict[str, Tensor]:
        """Those that every rank holds whole, by a name that no other has; at most so many."""
        known = self._watch.forwards.names
        first = list(islice(parameters, MAX_PARAMETERS))
        names = [known.get(id(parameter), "") for parameter in first]
        return {
            name if name and names.count(name) == 1 else f"parameter {index}": parameter
            for index, (name, parameter) in enumerate(zip(names, first, strict=True))
            if not _is_sharded(parameter)
        }

    def _weights(self, parameters: Iterable[Tensor]) -> dict[str, Any]:
        return {name: _state(p) for name, p in self._named(parameters).items()}

    def look_at_the_end(self) -> None:
        """Note the weights as the training leaves them."""
        self._end = self._weights(self._optimized.values())

    def record(self) -> dict[str, Any]:
        """For the rank's record."""
        return {
            "step_line": self._line,
            "sampled": self._sampled,
            "end": self._end,
            "undivided": self._undivided,
        }


def _is_sharded(tensor: Tensor) -> bool:
    return hasattr(tensor, "placements")  # a DTensor


def _entries(tensor: Tensor) -> Tensor:
    flat = tensor.detach().reshape(-1)
    index = torch.linspace(0, flat.numel() - 1, min(flat.numel(), ENTRIES)).long()
    return flat[index.to(flat.device)].double().cpu()


def _state(tensor: Tensor) -> list[Any]:
    """An exact digest, the same whatever the order of the sum, and some entries."""
    flat = tensor.detach().reshape(-1)
    if flat.is_sparse or not flat.numel():
        return [0, []]
    bits = flat.contiguous().view(INTEGERS.get(flat.element_size(), torch.int8))
    return [int(bits.sum(dtype=torch.int64)), [float(value) for value in _entries(flat)]]


def _is_plain_mean(loss: Tensor) -> bool:
    node = loss.grad_fn
    return node is not None and type(node).__name__.startswith(MEANS)
