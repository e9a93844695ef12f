"""The longest chain of operations behind a tensor: how much of a computation has to wait."""

from __future__ import annotations

from torch import Tensor

from gpulearn.errors import BadInput


def longest_chain(result: Tensor) -> int:
    """Operations on the longest way to `result` on which each needs the one before.

    They cannot run side by side. Counted are those that autograd records, its leaves included.

    >>> import torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> longest_chain(x.exp() + x.exp())  # the leaf, an exponential, the sum
    3
    """
    if result.grad_fn is None:
        raise BadInput("result has no history: give what was computed from a tensor with gradient.")
    length: dict[object, int] = {}
    waiting = [result.grad_fn]
    while waiting:  # not by recursion: a chain may be longer than Python's stack
        node = waiting[-1]
        inputs = [other for other, _ in node.next_functions if other is not None]
        if missing := [other for other in inputs if other not in length]:
            waiting += missing
        else:
            length[waiting.pop()] = 1 + max((length[other] for other in inputs), default=0)
    return length[result.grad_fn]
