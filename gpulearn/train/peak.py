"""The most memory that is in use at once while a function runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gpulearn.train.saved_rules import storage_number

__all__ = ["Live", "peak_memory"]


class Live(TorchDispatchMode):
    """Within it, counts the memory of every tensor from when it is made until it is dropped.

    torch hands every operation to it, those of the backward pass on a CPU too.

    Attributes:
        now: bytes of the tensors made within it that are alive.
        most: the most that `now` has been.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.most = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation, and count the memory of its results where it is new."""
        given = {storage_number(t) for t in (*args, *(kwargs or {}).values()) if _is_tensor(t)}
        out = func(*args, **(kwargs or {}))
        for tensor in filter(_is_tensor, out if isinstance(out, tuple | list) else [out]):
            number = storage_number(tensor)
            if number not in given and number not in self.sizes:
                self.sizes[number] = tensor.untyped_storage().nbytes()
                self.now += self.sizes[number]
                weakref.finalize(tensor.untyped_storage(), self._drop, number)
        self.most = max(self.most, self.now)
        return out

    def _drop(self, number: int) -> None:
        self.now -= self.sizes.pop(number)


def peak_memory(step: Callable[[], object]) -> int:
    """The most bytes of tensors made by a function that are alive at once while it runs.

    On a GPU that is the rise of its allocator's peak; on a CPU the sizes of all tensors are
    added up, but not what an operation needs for itself while it computes. Where a GPU has been
    used, the larger of the two counts.

    Args:
        step: a function of no arguments, such as a training step.

    >>> peak_memory(lambda: torch.zeros(1000) + 1)
    8000
    """
    live = Live()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        with live:
            step()
        return live.most
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = int(torch.cuda.memory_allocated())
    with live:  # a step may run on the CPU although a GPU has been used
        step()
    torch.cuda.synchronize()
    return max(int(torch.cuda.max_memory_allocated()) - before, live.most)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
