"""How a data-parallel step scales here: measured on 1, 2, 4 … real ranks, in turns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import barrier, clock, rank, world_size
from gpulearn.parallel.launch.launch import launch
from gpulearn.train.models import LeNet
from gpulearn_lessons.scaling_out.laws import Scaling, check_kind
from simt.device import selection

WARM_UP = 2  # steps that are not counted: memory is allocated, connections are opened


def measure_scaling(
    ranks: Sequence[int] = (1, 2, 4),
    *,
    kind: str = "strong",
    batch: int = 256,
    model: Callable[[], nn.Module] = LeNet,
    shape: Sequence[int] = (1, 8, 8),
    repeats: int = 9,
    steps: int = 3,
) -> Scaling:
    """Measure a data-parallel training step on several numbers of real ranks.

    A step is: forward, backward, one all-reduce of all gradients, the optimizer. Each rank has
    one thread, so that N ranks compute with N cores and one rank with one. The largest number
    of ranks is started once, and groups of them take turns, each time in the other order: what
    else this machine does falls on all. Ranks outside the group sleep at a barrier. A group
    begins together, and its slowest rank counts.

    "strong" divides a batch of images among the ranks; in "weak" scaling each has as many. The
    model tells ten classes or more apart; its images have the given shape, and random pixels. Each
    number of ranks, ascending from 1, has `repeats` turns of so many steps; a turn's mean counts.

    >>> run = measure_scaling((1, 2), batch=32, repeats=3, steps=1)
    >>> run.ranks, len(run.seconds[2])
    ((1, 2), 3)
    """
    counts = require.ascending("ranks", ranks)
    check_kind(kind)
    batch = require.whole("batch", batch)
    repeats, steps = require.whole("repeats", repeats), require.whole("steps", steps)
    shape = tuple(
        require.whole("an entry of shape", length) for length in require.several("shape", shape)
    )
    if counts[0] != 1:
        raise BadInput(f"ranks is {list(counts)}: begin with 1, which the others are held against.")
    if kind == "strong" and batch < counts[-1]:
        raise BadInput(f"batch is {batch}: {counts[-1]} ranks need at least one image each.")
    work = counts, kind, batch, model, shape, repeats, steps
    times = launch(_measure, counts[-1], *work, timeout=120.0)
    gpus = torch.cuda.device_count() if selection.current().kind == "gpu" else 0
    on_gpus = gpus >= counts[-1]  # as `launch` chooses the backend
    seconds = {n: tuple(t / steps for t in turns) for n, turns in slowest(times).items()}
    places = gpus if on_gpus else selection.cores()
    return Scaling(kind, seconds, places, unit="GPU" if on_gpus else "core")


def slowest(times: Sequence[Mapping[int, Sequence[float]]]) -> dict[int, list[float]]:
    """The time of each turn of each group, that of its slowest rank.

    Each rank's times are a mapping from ranks in the group to seconds of each turn. Groups of N
    are the first N ranks.

    >>> slowest([{1: [1.0, 2.0], 2: [0.6, 0.7]}, {1: [0.0, 0.0], 2: [0.8, 0.5]}])
    {1: [1.0, 2.0], 2: [0.8, 0.7]}
    """
    return {
        count: [max(turn) for turn in zip(*(own[count] for own in times[:count]), strict=True)]
        for count in times[0]
    }


def take_turns(works: Mapping[int, Callable[[], object]], repeats: int) -> dict[int, list[float]]:
    """Let groups of ranks work in turns; seconds of this rank in each turn, 0 where it slept.

    Every rank must call, with the same mapping from ranks in the group to what each of them does.
    The order of the groups is reversed in every other turn.
    """
    times: dict[int, list[float]] = {count: [] for count in works}
    for turn in range(repeats):
        for count in list(works)[:: 1 if turn % 2 == 0 else -1]:
            barrier()
            began = clock()
            if rank() < count:
                works[count]()
            times[count].append(clock() - began if rank() < count else 0.0)
    return times


def _measure(
    counts: Sequence[int],
    kind: str,
    batch: int,
    build: Callable[[], nn.Module],
    shape: Sequence[int],
    repeats: int,
    steps: int,
) -> dict[int, list[float]]:
    """Be one of the ranks."""
    torch.set_num_threads(1)
    turns = {}
    for count in counts:
        # every rank must take part in making a group, also those that are not in it
        group = dist.new_group(list(range(count))) if count < world_size() else None
        whole = batch if kind == "strong" else batch * count
        turns[count] = _Step(build(), shape, count, whole, group).run
    take_turns({count: functools.partial(run, WARM_UP) for count, run in turns.items()}, 1)
    works = {count: functools.partial(run, steps) for count, run in turns.items()}
    return take_turns(works, repeats)


class _Step:
    """A training step of the first `count` ranks on `whole` images together."""

    def __init__(
        self, model: nn.Module, shape: Sequence[int], count: int, whole: int, group: Any
    ) -> None:
        place = "cuda" if dist.get_backend() == "nccl" else "cpu"
        self._model = model.to(place)
        self._optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self._count, self._whole, self._group = count, whole, group
        mine = len(range(rank(), whole, count))  # shares differ by one image at most
        generator = torch.Generator().manual_seed(rank())
        self._images = torch.rand(mine, *shape, generator=generator).to(place)
        self._labels = torch.randint(10, (mine,), generator=generator).to(place)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._optimizer.zero_grad()
            scores = self._model(self._images)
            # divided by all images, so that the sum over ranks is the mean, however uneven
            loss = functional.cross_entropy(scores, self._labels, reduction="sum") / self._whole
            loss.backward()
            if self._count > 1:
                gradients = [p.grad for p in self._model.parameters() if p.grad is not None]
                flat = torch.cat([gradient.flatten() for gradient in gradients])
                dist.all_reduce(flat, group=self._group)
                parts = flat.split([gradient.numel() for gradient in gradients])
                for gradient, part in zip(gradients, parts, strict=True):
                    gradient.copy_(part.view_as(gradient))
            self._optimizer.step()
        if self._images.is_cuda:
            torch.cuda.synchronize()  # a GPU returns before it is done
