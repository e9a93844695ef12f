"""Hooks that count: a bucket of gradients begins its journey when the last of them is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import nn

__all__ = ["send_when_full"]


def send_when_full(
    buckets: Sequence[Sequence[nn.Parameter]], begin: Callable[[int], object]
) -> list[Any]:
    """Call `begin(number)` during `backward`, as soon as all gradients of a bucket are there.

    Buckets begin in their order: one that is full early waits for those before it, since every
    rank must send them in the same order. When all have begun, the counts start anew, for the
    next `backward`; each must bring a gradient for every parameter.

    Li et al., "PyTorch Distributed: experiences on accelerating data parallel training", arXiv
    2006.15704, 2020, section 3.2.3.

    Args:
        buckets: lists of parameters, such as `bucket_gradients` returns.
        begin: what is done with a full bucket; it is given the bucket's number, from 0.

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
