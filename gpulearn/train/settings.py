"""What decides the numbers of a training run: its settings, its seed and its device."""

import contextlib
import functools
import math
import numbers
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from gpulearn import require
from gpulearn.errors import BadInput, DeviceError
from gpulearn.optim.optimizers import OPTIMIZERS
from gpulearn.optim.schedules import cosine_rate, warm_up_cosine_rate
from simt.device import selection


def checked_seed(value: object) -> int:
    """Return a seed as a whole number from 0."""
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


def undisturbed(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """A block that may draw random numbers; afterwards the generators are as they were."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


@contextlib.contextmanager
def repeatable(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch, and have a GPU use algorithms that give the same bits every time.

    Afterwards the generators and switches are as they were.
    """
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with undisturbed(device):
        torch.default_generator.manual_seed(seed)
        if device.type != "cuda":
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
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def find_device(name: str | torch.device | None) -> torch.device:
    """The device to train on; None is the GPU where torch can use one, else the CPU."""
    try:
        default = "cuda" if name is None and selection.torch_gpu() else "cpu"
        device = torch.device(default if name is None else name)
        torch.zeros(1, device=device).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, TypeError):
        raise DeviceError(
            f"There is no device {require.shown(name)} here that torch can use: leave `device` "
            f"out, or give 'cpu'."
        ) from None
    return device


TORCH_OPTIMIZERS: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    name: functools.partial(getattr(torch.optim, entry.torch_class), **entry.torch_options)
    for name, entry in OPTIMIZERS.items()
}
WARM_UP = 0.1  # share of the steps over which the rate rises


def _warm_up(step: int, lr: float, steps: int) -> float:
    """Up over the first tenth of the steps, then down along a cosine."""
    steps = max(steps, 2)  # a single step is the top of the way up
    return warm_up_cosine_rate(step, lr, math.ceil(WARM_UP * steps), steps)


# name -> the rate of a step, from 0, given the highest rate and how many steps there are
SCHEDULES: Mapping[str, Callable[[int, float, int], float]] = {
    "constant": lambda step, lr, steps: lr,
    "cosine": cosine_rate,
    "warm-up": _warm_up,
}


@dataclass
class Settings:
    """What decides the numbers of a run; checked when it is made."""

    epochs: int
    lr: float
    batch: int
    optimizer: str
    schedule: str | Callable[[int], float]
    clip: float | None
    accumulate: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "accumulate"):
            setattr(self, name, require.whole(name, getattr(self, name)))
        require.above_zero("lr", self.lr)
        self.lr = float(self.lr)  # checkpoints hold no NumPy numbers
        if self.clip is not None:
            require.above_zero("clip", self.clip)
        if self.accumulate > self.batch:
            raise BadInput(
                f"accumulate is {self.accumulate}, but a batch has {self.batch} images: split it "
                f"into {self.batch} micro-batches at most."
            )
        require.choice("optimizer", self.optimizer, OPTIMIZERS)
        if not callable(self.schedule):
            require.choice("schedule", self.schedule, SCHEDULES)
        self.seed = checked_seed(self.seed)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, from 0, of `steps`."""
        if not callable(self.schedule):
            return SCHEDULES[self.schedule](step, self.lr, steps)
        rate: object = self.schedule(step)
        is_number = isinstance(rate, numbers.Real) and not isinstance(rate, bool)
        if not is_number or not 0 <= float(rate) < math.inf:  # type: ignore[arg-type]
            raise BadInput(f"schedule gave {require.shown(rate)} for step {step}: give a rate.")
        return float(rate)  # type: ignore[arg-type]
