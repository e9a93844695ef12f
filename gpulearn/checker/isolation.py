"""What all code of a process shares, kept as it was while an answer runs."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["undisturbed"]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Undo what the block does to shared settings and random numbers.

    An answer that switches torch's gradients off, say, would otherwise falsify all that is
    tried after it, and the learner's notebook too.

    >>> with undisturbed():
    ...     _ = np.seterr(all="raise")
    >>> np.geterr()["divide"]
    'warn'
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        with np.errstate(), _torch_undisturbed():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _torch_undisturbed() -> Iterator[None]:
    """The same for torch, where it is loaded."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    numbers, threads = torch.get_rng_state(), torch.get_num_threads()
    dtype, gradients = torch.get_default_dtype(), torch.is_grad_enabled()
    strict = torch.get_deterministic_debug_mode()
    try:
        yield
    finally:
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        if torch.get_deterministic_debug_mode() != strict:  # to set it loads the compiler
            torch.set_deterministic_debug_mode(strict)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
