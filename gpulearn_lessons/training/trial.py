"""How an answer that trains is tried: its outcome, and small networks to try it on."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from gpulearn.judge.compare import NOTHING, is_number, told_apart
from gpulearn.require import shown

TOLERANCE = 1e-6  # the trials compute in float64, an answer may round once to float32


@dataclass(frozen=True)
class Outcome:
    """What an answer did, the most important fact first."""

    # a phrase, such as "the loss that it returns", to a number, an array or a word
    facts: dict[str, Any]
    # how it got there; right answers may differ in it, wrong ones are told apart by it
    ways: tuple[Any, ...] = ()


def same(got: Any, expected: Any, tolerance: float = TOLERANCE) -> str | None:
    for phrase, want in expected.facts.items():
        value = got.facts.get(phrase)
        if isinstance(want, np.ndarray):
            if sentence := _arrays(phrase, value, want, tolerance):
                return sentence
        elif is_number(want) and is_number(value):
            if not np.isclose(value, want, rtol=tolerance, atol=tolerance, equal_nan=True):
                return f"{phrase} is {told_apart(value, want)}"
        elif value != want:
            return NOTHING if value is None else f"{phrase} is {text(value)}, expected {text(want)}"
    return None


def text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.6g}" if is_number(value) else shown(value)


def _arrays(phrase: str, value: Any, want: np.ndarray, tolerance: float) -> str | None:
    if not isinstance(value, np.ndarray) or value.shape != want.shape:
        count = value.size or "no" if isinstance(value, np.ndarray) else text(value)
        return f"{phrase}: {count} numbers, expected {want.size} (a .grad that is None has none)"
    scale = float(np.abs(want[np.isfinite(want)]).max(initial=0)) or 1.0
    close = np.isclose(value, want, rtol=0, atol=tolerance * scale, equal_nan=True)
    if close.all():
        return None
    first = int(np.argmin(close))
    return (
        f"{phrase}: {int((~close).sum())} of {close.size} differ, "
        f"first {told_apart(value[first], want[first])}"
    )


def number(returned: Any) -> Any:
    """What an answer returned: a number as it is, a tensor without its graph too; else a word."""
    if isinstance(returned, torch.Tensor):
        if returned.requires_grad:
            return "a tensor with its graph (.item() is missing)"
        return returned.item() if returned.numel() == 1 else "a tensor of many numbers"
    if returned is None or is_number(returned):
        return returned
    return f"{shown(returned)} ({type(returned).__name__})"


def condition(model: nn.Module) -> str:
    """What a training step must not change: dtypes, and which parameters are trained."""
    dtypes = sorted({str(p.dtype).removeprefix("torch.") for p in model.parameters()})
    frozen = sum(not p.requires_grad for p in model.parameters())
    return " and ".join(dtypes) + (f", {frozen} of them frozen" if frozen else "")


def flat(tensors: Iterable[torch.Tensor | None]) -> np.ndarray:
    """All numbers of some tensors in one array of float64; none for a missing one."""
    parts = [t.detach().cpu().double().reshape(-1) for t in tensors if t is not None]
    return torch.cat(parts).numpy().copy() if parts else np.zeros(0)


@contextmanager
def apart(seed: int) -> Iterator[None]:
    """Separate random numbers and one thread; both are restored afterwards.

    The networks are so small that threads would only wait for each other.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def network(dropout: float = 0.0) -> nn.Sequential:
    """A small classifier, 12 numbers to 4 classes, in float64."""
    layers = [nn.Linear(12, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 4)]
    return nn.Sequential(*layers).double()
