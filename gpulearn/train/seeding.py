"""Random numbers that come out the same again, without touching those of the caller."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = [
    "checked_seed",
    "random_state",
    "repeatable",
    "seeded",
    "set_random_state",
    "undisturbed",
]


def checked_seed(value: object) -> int:
    """Return a seed as a whole number from 0.

    Raises:
        BadInput: it is none.
    """
    seed = require.from_zero("seed", value)
    if seed >= 2**63:
        raise BadInput(f"seed is {seed}: give one below 2**63.")
    return seed


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed on the CPU; afterwards the generator is as it was."""
    seed = checked_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed GPUs as well
        yield


@contextlib.contextmanager
def repeatable(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch, and have a GPU use algorithms that give the same bits every time.

    Afterwards the generators and switches are as they were.
    """
    on_gpu = device.type == "cuda"
    was = torch.are_deterministic_algorithms_enabled()
    warn = torch.is_deterministic_algorithms_warn_only_enabled()
    with undisturbed(device):
        torch.default_generator.manual_seed(seed)
        if not on_gpu:
            yield
            return
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS: the same bits
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
                yield
        finally:
            torch.use_deterministic_algorithms(was, warn_only=warn)


def undisturbed(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """A block that may draw random numbers; afterwards the generators are as they were."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def random_state(device: torch.device) -> list[torch.Tensor]:
    """The generators that dropout draws from: the CPU's, and the GPU's where it is used."""
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def set_random_state(device: torch.device, states: list[torch.Tensor]) -> None:
    """Put the generators back to what `random_state` gave."""
    torch.set_rng_state(states[0])
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)
