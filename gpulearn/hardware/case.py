"""A launch of a kernel with its arguments, and what NumPy says must come out.

The same case runs on a GPU, on the SIMT machine, under Nsight Compute and against the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn import _require, cuda
from gpulearn.errors import GpulearnError

__all__ = ["SIZES", "Case", "Shot", "WrongResultError"]

SIZES = ("small", "large")  # a few thousand threads, to be counted; enough to be timed
Shape = int | tuple[int, ...]


class WrongResultError(GpulearnError):
    """A kernel computed something else than NumPy."""


@dataclass(frozen=True)
class Shot:
    """One launch: grid, block and host arguments; arrays are copied to the device."""

    grid: Shape
    block: Shape
    args: tuple[Any, ...]

    def on_device(self) -> tuple[Any, ...]:
        """The arguments with every array copied to the device."""
        return tuple(cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in self.args)


@dataclass(frozen=True)
class Case:
    """A kernel with a launch of each size and its oracle.

    Attributes:
        name: the kernel's name, and what is special about the launch: "copy_strided, 8 apart".
        notebook: the number of the notebook that it belongs to, such as "04".
        kernel: what `cuda.jit` made.
        shot: a size of `SIZES` → the launch, with the same numbers every time.
        expect: takes copies of the host arguments, returns position of argument → what it must
            hold afterwards.
        tolerance: of each element, relative to the largest of its array; 0 for exact.
    """

    name: str
    notebook: str
    kernel: Any
    shot: Callable[[str], Shot]
    expect: Callable[..., Mapping[int, Any]] = field(repr=False)
    tolerance: float = 0.0

    def check(self, shot: Shot, results: tuple[Any, ...]) -> None:
        """Hold what a launch left in its arguments against NumPy.

        Args:
            shot: the launch, its host arguments as they were before.
            results: the arguments after it, on the device or the host.

        Raises:
            WrongResultError: an element is further off than `tolerance`.
        """
        before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in shot.args]
        for place, wanted in self.expect(*before).items():
            got = results[place]
            got = np.asarray(got.copy_to_host() if hasattr(got, "copy_to_host") else got)
            wanted = np.asarray(wanted)
            scale = float(np.abs(wanted.astype(np.float64)).max(initial=0)) or 1.0
            off = np.abs(got.astype(np.float64) - wanted.astype(np.float64)) / scale
            wrong = ~(off <= self.tolerance)  # NaN is wrong
            if wrong.any():
                first = tuple(int(i) for i in np.argwhere(wrong)[0])
                raise WrongResultError(
                    f"{self.name}: argument {place} is wrong in {int(wrong.sum()):,} of "
                    f"{wrong.size:,} elements, first in {first}: {_require.shown(got[first])} "
                    f"where NumPy says {_require.shown(wanted[first])}."
                )
