"""Which modules ran, inside or past their wrapper, and on which batch."""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parallel import DistributedDataParallel

from gpulearn.parallel.watch.finding import Finding, Record, is_split, named

if TYPE_CHECKING:
    from gpulearn.parallel.watch.watch import Watch

SHARDED_WRAPPERS = ("FullyShardedDataParallel", "PipelineParallel", "PipelineStage")


class Forwards:
    """The wrappers of this process, and every forward of an outermost module."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._wrappers: dict[int, dict[str, Any]] = {}  # id → options, known from its first forward
        self._wrapped: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._stack: list[nn.Module] = []
        self._batch_is_open = False
        self.names: dict[int, str] = {}  # id of a parameter → its name
        self.kept: set[int] = set()  # ids of parameters that a wrapper exchanges
        self.sharded = False
        self._past: tuple[str, int] | None = None  # where a wrapper was passed by, in which step
        self._batches: dict[int, str] = {}  # sampled step → digest of what went in
        # since the last step, by line and wrapper: forwards whose backward will exchange gradients
        self._synced: Counter[tuple[str, int]] = Counter()
        self._synced_twice: tuple[int, int, int] | None = None
        self._bytes: dict[int, int] = {}  # id of a wrapper → of the gradients that it exchanges
        self.is_unsynced = False  # whether a wrapper was told not to exchange since the last step
        self._dropout = self._normalizes = False
        hooks.register_module_module_registration_hook(self._registered)
        hooks.register_module_forward_pre_hook(self._before)
        hooks.register_module_forward_hook(self._after, always_call=True)

    def _registered(self, parent: nn.Module, name: str, child: nn.Module | None) -> None:
        if child is None:
            return
        if type(parent).__name__ in SHARDED_WRAPPERS:
            self.sharded = True
        if isinstance(parent, DistributedDataParallel) and name == "module":
            self._wrappers[id(parent)] = {}
            self._wrapped.add(child)
            self._name(child)
            exchanged = [p for p in child.parameters() if p.requires_grad]
            self.kept |= set(map(id, exchanged))
            self._bytes[id(parent)] = sum(p.numel() * p.element_size() for p in exchanged)

    def _name(self, module: nn.Module) -> None:
        for name, parameter in module.named_parameters():
            self.names.setdefault(id(parameter), name)

    def _before(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if not self._stack:
            self._outermost(module)
        elif isinstance(module, _DropoutNd):
            self._dropout |= module.training and module.p > 0
        elif isinstance(module, _BatchNorm):
            self._normalizes |= module.training and module.track_running_stats
        self._stack.append(module)
        if self._batch_is_open:
            for value in inputs:
                if isinstance(value, Tensor) and value.numel():
                    self._batches[self._watch.step] = _digest(value)
                    self._batch_is_open = False
                    break

    def _after(self, module: nn.Module, _inputs: Any, _output: Any) -> None:
        if self._stack:
            self._stack.pop()

    def _outermost(self, module: nn.Module) -> None:
        if not (module.training and torch.is_grad_enabled()):
            return
        watch = self._watch
        first = watch.step not in self._batches and watch.is_sampled()
        if isinstance(module, DistributedDataParallel):
            self._wrappers[id(module)] = {
                "broadcasts": module.broadcast_buffers,
                "finds_unused": module.find_unused_parameters,
            }
            self.is_unsynced |= not module.require_backward_grad_sync
            if module.require_backward_grad_sync:
                self._synced[watch.line(), id(module)] += 1
        elif module in self._wrapped and self._past is None:
            self._past = (watch.line(), watch.step)
        try:
            if next(module.parameters(), None) is not None:
                self._batch_is_open = first
                watch.counter[1] = watch.step + 1
                if watch.steps.follow(module):
                    self._name(getattr(module, "module", module))
        except ValueError:
            pass  # a part of it is on another machine: a RemoteModule lists no parameters

    def splits(self) -> bool:
        """Whether a forward is under way that the ranks may compute together."""
        return bool(self._stack) and not isinstance(self._stack[-1], _BatchNorm)

    def is_held(self) -> bool:
        """Whether every forward of a wrapper since the last step was to exchange nothing."""
        return self.is_unsynced and not self._synced

    def stepped(self, backwards: int) -> None:
        """An optimizer step is over, and so many backwards came before it."""
        times = min(backwards, max(self._synced.values(), default=0))
        if times > 1 and self._synced_twice is None:
            size = sum(self._bytes[wrapper] for wrapper in {wrapper for _, wrapper in self._synced})
            self._synced_twice = (self._watch.step, times, size)
        self._synced.clear()
        self.is_unsynced = False

    def record(self) -> dict[str, Any]:
        """For the rank's record."""
        return {
            "wrappers": list(self._wrappers.values()),
            "sharded": self.sharded or self._watch.steps.sharded,
            "past": self._past,
            "batches": self._batches,
            "synced_twice": self._synced_twice,
            "dropout": self._dropout,
            "normalizes": self._normalizes,
            "devices": sorted(self._watch.steps.devices),
            "device_count": torch.cuda.device_count(),
        }


def _digest(value: Tensor) -> str:
    flat = value.detach().reshape(-1)
    few = flat[torch.linspace(0, flat.numel() - 1, min(flat.numel(), 512)).long().to(flat.device)]
    shape = f"{tuple(value.shape)}{value.dtype}"
    return hashlib.sha1(shape.encode() + few.double().cpu().numpy().tobytes()).hexdigest()


def findings(records: Sequence[Record]) -> list[Finding]:
    """Equal batches, devices that are shared, and exchanges that a step does not need."""
    return [*_same_data(records), *shared_device(records), *_synced_twice(records)]


def _same_data(records: Sequence[Record]) -> list[Finding]:
    """Every rank was given the same batch, at each sampled step, and batches change."""
    if is_split(records):
        return []
    steps = [r["batches"] for r in records]
    common = sorted(set.intersection(*(set(batches) for batches in steps)), key=int)
    if len(common) < 2 or len({steps[0][step] for step in common}) == 1:
        return []
    if any(len({batches[step] for batches in steps}) > 1 for step in common):
        return []
    ranks = tuple(record["rank"] for record in records)
    loaders = [loader for record in records for loader in record["loaders"]]
    where = loaders[0]["where"] if loaders else records[0]["step_line"]
    distributed = any(loader["distributed"] for loader in loaders)
    message = (
        f"{named(ranks)} were given the same batch in each of the {len(common)} steps "
        f"compared: {len(ranks)} ranks do the work of one."
    )
    cure = (
        "Pass num_replicas and rank to the DistributedSampler: here each rank counts as rank 0."
        if distributed
        else "Give the loader sampler=DistributedSampler(dataset), or let each rank draw other "
        "samples."
    )
    return [Finding("same-data", "error", message, cure, where, ranks, int(common[0]))]


def shared_device(records: Sequence[Record]) -> list[Finding]:
    """All ranks of a machine on one of its several GPUs."""
    found = []
    for host in sorted({record["host"] for record in records}):
        here = [record for record in records if record["host"] == host]
        used = {device for record in here for device in record["devices"]}
        gpus = min(record["device_count"] for record in here)
        if len(here) > 1 and len(used) == 1 and gpus > 1 and (device := used.pop()) != "cpu":
            ranks = tuple(record["rank"] for record in here)
            message = f"{named(ranks)} all use {device}, and {host} has {gpus} GPUs."
            cure = 'Call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) first.'
            found.append(Finding("one-gpu-for-all", "error", message, cure, ranks=ranks))
    return found


def _synced_twice(records: Sequence[Record]) -> list[Finding]:
    twice = [record for record in records if record["synced_twice"]]
    if not twice:
        return []
    step, times, size = twice[0]["synced_twice"]
    message = (
        f"gradients are exchanged {times} times a step where once is enough: "
        f"{(times - 1) * size / 1e6:,.3g} MB a step are sent for nothing."
    )
    cure = "Run all micro-batches but the last under model.no_sync()."
    ranks = tuple(record["rank"] for record in twice)
    return [Finding("step-scaled", "warning", message, cure, twice[0]["step_line"], ranks, step)]
