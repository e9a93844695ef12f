"""Data parallelism three ways: naive, in buckets, and with communication during `backward`.

Each wraps this rank's replica of a model. The same loop serves all three:

    replica = OverlappingDataParallel(model)
    loss = loss_of(replica(images), labels)
    loss.backward()
    replica.average()  # then every rank holds the same gradients
    optimizer.step()
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn.errors import BadInput, TrainingError
from gpulearn.parallel.averaging import (
    MEGABYTE,
    Bucket,
    average_gradients,
    broadcast_weights,
    bucket_gradients,
    share_of,
)
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import copy_from, sum_over_ranks
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
        self._samples: int | None = None
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

    def weigh(self, samples: int) -> None:
        """Say before `backward` that this rank's mean loss is over so many samples.

        For uneven shards: every rank says it, and it holds for one step. A rank with 0 samples
        may leave `backward` out, and also the model itself if that has no buffers.
        """
        self._samples = samples

    def average(self) -> None:
        """Replace each gradient by its mean over all ranks: after `backward`, before the step.

        Clip gradients after it, not before.
        """
        if not self._exchanges:
            raise TrainingError("average() under no_sync(): leave the block first.")
        try:
            self._average()
        finally:
            self._samples = self._waiting = None

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


class NaiveDataParallel(Replica):
    """After `backward`, one all-reduce for each parameter, one after another.

    >>> import gpulearn as gl
    >>> import torch
    >>> def weight_after_a_step():
    ...     replica = NaiveDataParallel(nn.Linear(1, 1, bias=False))
    ...     replica(torch.tensor([[1.0 + gl.parallel.rank()]])).sum().backward()
    ...     replica.average()
    ...     return replica.module.weight.grad.item()
    >>> gl.launch(weight_after_a_step, 2, backend="simulated")
    [1.5, 1.5]
    """

    def _average(self) -> None:
        # who says nothing would count as 1 sample, beside the counts that others give
        weighed = sum_over_ranks(torch.tensor(float(self._samples is not None))).item()
        if 0 < weighed < world_size():
            raise TrainingError(
                f"weigh() was called on {weighed:.0f} of {world_size()} ranks: call it on all, or "
                f"on none."
            )
        average_gradients(self.module, 1 if self._samples is None else self._samples)


class BucketedDataParallel(Replica):
    """After `backward`, one all-reduce for each bucket of gradients, of at most `most_bytes`.

    Afterwards gradients are views into the buckets: the next step overwrites them, so clone one
    that is to be kept.
    """

    def __init__(self, module: nn.Module, most_bytes: int = 25 * MEGABYTE) -> None:
        super().__init__(module)
        groups = bucket_gradients(list(module.parameters()), most_bytes)
        self._buckets = [Bucket(group) for group in groups]
        self._equal = self._share = share_of(None)  # this rank's weight in the mean

    def weigh(self, samples: int) -> None:
        """Say before `backward` that this rank's mean loss is over so many samples."""
        self._share = share_of(samples)

    def _average(self) -> None:
        bucketed = {parameter for bucket in self._buckets for parameter in bucket.parameters}
        for name, parameter in self.module.named_parameters():
            # what is in no bucket would differ from rank to rank, and nobody would notice
            if parameter.requires_grad and parameter not in bucketed:
                raise TrainingError(
                    f"{name} was frozen or not there when {type(self).__name__} took the model: "
                    f"wrap it once all that will be trained is there and needs gradients."
                )
        try:
            for bucket in self._buckets:
                if bucket.summing is None:
                    bucket.begin(self._share)
            for bucket in self._buckets:
                bucket.finish()
        finally:
            self._share = self._equal


class OverlappingDataParallel(BucketedDataParallel):
    """Each bucket leaves as soon as it is full, while `backward` goes on computing.

    Every rank must send its buckets in the same order, or sums of different buckets would meet.
    So a full bucket waits until those before it have left; what no `backward` fills leaves in
    `average`, with zeros for the parameters that this rank did not use.
    """

    def __init__(self, module: nn.Module, most_bytes: int = 25 * MEGABYTE) -> None:
        super().__init__(module, most_bytes)
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(partial(self._ready, bucket, number))
            for bucket in self._buckets
            for number, parameter in enumerate(bucket.parameters)
        ]

    def release(self) -> None:
        """Leave the model without hooks, as it was before."""
        for hook in self._hooks:
            hook.remove()

    def _ready(self, bucket: Bucket, number: int, parameter: Tensor) -> None:
        """Called by `backward` when this parameter has its gradient."""
        if not self._exchanges:
            return
        if number in bucket.filled:
            raise TrainingError(
                "Two backward passes without average() between them: call it after each, or put "
                "all passes of a step but the last under no_sync()."
            )
        bucket.fill(number, self._share)
        for next_bucket in self._buckets:
            if len(next_bucket.filled) < len(next_bucket.parameters):
                break
            if next_bucket.summing is None:
                next_bucket.begin(self._share)
