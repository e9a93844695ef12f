"""The longest chain of operations behind a tensor: how much of a computation has to wait."""

from __future__ import annotations

from torch import Tensor

from gpulearn.errors import BadInput

__all__ = ["longest_chain"]


def longest_chain(result: Tensor) -> int:
    """Operations on the longest way to `result` on which each needs the one before.

    They cannot run side by side. Counted are those that autograd records, its leaves included.

    Raises:
        BadInput: autograd has recorded nothing behind `result`.

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
        before = [one for one, _ in node.next_functions if one is not None]
        if missing := [one for one in before if one not in length]:
            waiting += missing
        else:
            length[waiting.pop()] = 1 + max((length[one] for one in before), default=0)
    return length[result.grad_fn]
