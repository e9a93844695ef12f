"""A launch of a kernel with its arguments, and what NumPy says must come out.

The same case runs on a GPU, on the SIMT machine, under Nsight Compute and against the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn import _require, cuda
from gpulearn.errors import BadInput, GpulearnError

__all__ = ["SIZES", "Case", "Shot", "WrongResultError"]

SIZES = ("small", "large")  # a few thousand threads, to be counted; enough to be timed
Shape = int | tuple[int, ...]
Array = np.ndarray[Any, Any]


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

    @property
    def bytes(self) -> int:
        """What the arrays among the arguments hold."""
        return sum(a.nbytes for a in self.args if isinstance(a, np.ndarray))


@dataclass(frozen=True)
class Case:
    """A kernel with a launch of each size and its oracle.

    Attributes:
        name: the kernel's name, and what is special about the launch: "copy_strided, 8 apart".
        notebook: the number of the notebook that it belongs to, such as "04".
        kernel: what `cuda.jit` made.
        make: a size of `SIZES` → the launch, with the same numbers every time; see `shot`.
        expect: takes copies of the host arguments, returns position of argument → what it must
            hold afterwards. Where an array is masked, it may hold anything.
        tolerance: of each element, relative to the largest of its array; 0 for exact.
        sizes: the sizes that the launch has: some have nothing to time.
        finding: the kind of finding that the SIMT machine reports, where the kernel or its
            launch is wrong on purpose; then arguments that `expect` does not name may hold
            anything.
        keep_off_gpu: why the launch must not be tried on a GPU; empty where it may.
    """

    name: str
    notebook: str
    kernel: Any
    make: Callable[[str], Shot] = field(repr=False)
    expect: Callable[..., Mapping[int, Any]] = field(repr=False)
    tolerance: float = 0.0
    sizes: tuple[str, ...] = SIZES
    finding: str = ""
    keep_off_gpu: str = ""

    @property
    def runs_on_gpu(self) -> bool:
        """Whether the launch is defined on a GPU, or harmless there."""
        return not self.keep_off_gpu

    def shot(self, size: str) -> Shot:
        """The launch of a size, its arrays made anew, with the same numbers every time.

        Raises:
            BadInput: the case has no such size.
        """
        return self.make(_require.choice("size", size, self.sizes))

    def run(self, shot: Shot) -> tuple[Any, ...]:
        """Launch the kernel by a plain launch and wait for it: the arguments, on the device."""
        args = shot.on_device()
        self.kernel[shot.grid, shot.block](*args)
        cuda.synchronize()
        return args

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
            self.compare(place, results[place], wanted)

    def compare(self, place: int, got: Any, wanted: Any, says: str = "NumPy says") -> None:
        """Hold one argument after a launch against what it must be.

        Args:
            place: the argument's position.
            got: the array, on the device or the host. Where it holds words of several
                numbers, `wanted` has the numbers, and is as many times longer.
            wanted: the array that it must be; a masked element may be anything.
            says: by whom, for the message.

        Raises:
            WrongResultError: an element is further off than `tolerance`.
        """
        got = np.asarray(got.copy_to_host() if hasattr(got, "copy_to_host") else got)
        free = np.ma.getmaskarray(wanted) if np.ma.isMaskedArray(wanted) else np.False_
        wanted = np.ma.getdata(wanted)
        if got.shape != wanted.shape:
            got = got.view(wanted.dtype)
        if got.shape != wanted.shape:
            raise BadInput(
                f"{self.name}: argument {place} has shape {got.shape} where {says} {wanted.shape}."
            )
        wrong = ~(self._near(got, wanted) | free)
        if wrong.any():
            first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
            raise WrongResultError(
                f"{self.name}: argument {place} is wrong in {int(wrong.sum()):,} of "
                f"{wrong.size:,} elements, first in {first}: {_require.shown(got[first])} "
                f"where {says} {_require.shown(wanted[first])}."
            )

    def _near(self, got: Array, wanted: Array) -> Array:
        """Where two arrays agree; NaN agrees with NaN alone."""
        equal: Array = (got == wanted) | ((got != got) & (wanted != wanted))
        if self.tolerance:
            finite = wanted[np.isfinite(wanted)]
            bound = self.tolerance * float(np.abs(finite).max(initial=0))
            with np.errstate(invalid="ignore"):  # infinity less infinity
                equal |= np.abs(got.astype(np.float64) - wanted) <= bound
        return equal
