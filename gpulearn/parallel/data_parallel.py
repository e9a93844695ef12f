"""Data parallelism: a model's replica whose gradients are averaged while `backward` computes.

replica = OverlappingDataParallel(model)
loss = loss_of(replica(images), labels)
loss.backward()
replica.average()  # then every rank holds the same gradients
optimizer.step()
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn.errors import BadInput, TrainingError
from gpulearn.parallel.averaging import broadcast_weights, bucket_gradients, need_dense
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import PendingSum, begin_sum, copy_from
from gpulearn.require import shown


class Replica(nn.Module):
    """This rank's copy of a model: it starts as rank 0's, and its buffers stay rank 0's.

    `replica.module` gives the model back.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        if not isinstance(module, nn.Module):
            raise BadInput(f"module is {shown(module)}: give the model.")
        for part in module.modules():
            if isinstance(part, Replica):
                raise BadInput(
                    f"module holds a replica ({type(part).__name__}), whose gradients are averaged "
                    f"already: give the model itself, its .module."
                )
        self.module = module
        self._exchanges = True
        self._waiting: int | None = None  # the weights' version, from backward to average()
        broadcast_weights(module)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Run the model; in training, buffers such as batch statistics are first made alike."""
        if self._waiting is not None and self._waiting != self._weights_version():
            raise TrainingError(
                "The weights were changed after backward() without average() between them, so "
                "that each rank goes its own way: call average() on every rank before the step."
            )
        if self.training and self._exchanges:
            for buffer in self.module.buffers():
                copy_from(0, buffer)
        outcome = self.module(*inputs, **options)
        if isinstance(outcome, Tensor) and outcome.requires_grad:
            outcome.register_hook(lambda _: setattr(self, "_waiting", self._weights_version()))
        return outcome

    def _weights_version(self) -> int:
        """A number that grows whenever a weight is written to, by an optimizer for one."""
        return sum(parameter._version for parameter in self.module.parameters())

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only add up gradients: for all micro-batches of a step but the last one."""
        before, self._exchanges = self._exchanges, False
        try:
            yield
        finally:
            self._exchanges = before

    def average(self) -> None:
        """Replace each gradient by its mean over all ranks: after `backward`, before the step.

        Clip gradients after it, not before.
        """
        if not self._exchanges:
            raise TrainingError("average() under no_sync(): leave the block first.")
        try:
            self._average()
        finally:
            self._waiting = None

    def _average(self) -> None:
        raise NotImplementedError


def send_when_full(
    buckets: Sequence[Sequence[nn.Parameter]], begin: Callable[[int], object]
) -> list[Any]:
    """Call `begin(number)` during `backward`, as soon as all gradients of a bucket are there.

    Buckets, such as `bucket_gradients` returns, begin in their order: one that is full early
    waits for those before it, since every rank must send them in the same order. When all have
    begun, the counts start anew, for the next `backward`; each must bring a gradient for every
    parameter. Li et al., "PyTorch Distributed: experiences on accelerating data parallel
    training", arXiv 2006.15704, 2020, section 3.2.3.

    Returns:
        The hooks' handles: `handle.remove()` of each takes the hooks off again.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    >>> first, second = list(model[1].parameters()), list(model[0].parameters())
    >>> hooks = send_when_full([first, second], lambda number: print("bucket", number))
    >>> model(torch.ones(1, 2)).sum().backward()
    bucket 0
    bucket 1
    """
    missing = [len(bucket) for bucket in buckets]
    begun = 0

    def ready(number: int, parameter: nn.Parameter) -> None:
        nonlocal begun
        missing[number] -= 1
        while begun < len(buckets) and missing[begun] == 0:
            begin(begun)
            begun += 1
        if begun == len(buckets):
            begun = 0
            missing[:] = [len(bucket) for bucket in buckets]

    return [
        parameter.register_post_accumulate_grad_hook(partial(ready, number))
        for number, bucket in enumerate(buckets)
        for parameter in bucket
    ]


class OverlappingDataParallel(Replica):
    """Gradients travel in buckets of at most `most_bytes`, while `backward` goes on computing.

    Every rank must send its buckets in the same order, or sums of different buckets would meet.
    So a full bucket waits until those before it have left; what no `backward` fills leaves in
    `average`, with zeros for the parameters that this rank did not use.
    """

    def __init__(self, module: nn.Module, most_bytes: int = 25 << 20) -> None:
        super().__init__(module)
        self._buckets = bucket_gradients(list(module.parameters()), most_bytes)
        self._ready: set[Tensor] = set()  # the parameters whose gradients this backward has made
        self._under_way: list[tuple[Tensor, PendingSum]] = []  # the buckets that have left
        for parameter in itertools.chain(*self._buckets):
            parameter.register_post_accumulate_grad_hook(self._note)

    def _note(self, parameter: Tensor) -> None:
        """Called by `backward` when this parameter has its gradient."""
        if not self._exchanges:
            return
        if parameter in self._ready:
            raise TrainingError(
                "Two backward passes without average() between them: call it after each, or put "
                "all passes of a step but the last under no_sync()."
            )
        self._ready.add(parameter)
        for bucket in self._buckets[len(self._under_way) :]:
            if not self._ready.issuperset(bucket):
                break
            self._send(bucket)

    def _send(self, bucket: Sequence[nn.Parameter]) -> None:
        """Begin to sum the gradients of a bucket, one after another in one flat tensor.

        Behind them stands one number for each parameter, above zero on the ranks that have a
        gradient for it. So ranks learn what the others used without another message.
        """
        parts = []
        for parameter in bucket:
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            need_dense(gradient)
            parts.append(gradient.flatten())
        used = torch.tensor([parameter.grad is not None for parameter in bucket]).to(parts[0])
        flat = torch.cat([*parts, used]).mul_(1 / world_size())
        self._under_way.append((flat, begin_sum(flat)))

    def _average(self) -> None:
        bucketed = set(itertools.chain(*self._buckets))
        for name, parameter in self.module.named_parameters():
            # what is in no bucket would differ from rank to rank, and nobody would notice
            if parameter.requires_grad and parameter not in bucketed:
                raise TrainingError(
                    f"{name} was frozen or not there when {type(self).__name__} took the model: "
                    f"wrap it once all that will be trained is there and needs gradients."
                )
        for bucket in self._buckets[len(self._under_way) :]:
            self._send(bucket)
        for bucket, (flat, pending) in zip(self._buckets, self._under_way, strict=True):
            pending.wait()
            *parts, used = flat.split([*(parameter.numel() for parameter in bucket), len(bucket)])
            for parameter, part, ranks in zip(bucket, parts, used.tolist(), strict=True):
                if ranks > 0:
                    parameter.grad = part.view(parameter.shape)
        self._ready.clear()
        self._under_way.clear()
