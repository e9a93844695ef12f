"""A launch of a kernel with its arguments, and what NumPy says must come out.

The same case runs on a GPU, on the SIMT machine, under Nsight Compute and against the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.kernels.specification import Shape, Specification
from gpulearn.perf.recorders.measuring import agree

__all__ = ["SIZES", "Case", "Shot"]

SIZES = ("small", "large")  # a few thousand threads, to be counted; enough to be timed


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

    @classmethod
    def of(
        cls,
        specification: Specification,
        label: str,
        notebook: str,
        arguments: Callable[[str], tuple[Any, ...]],
        tolerance: float = 0.0,
        block: Shape | None = None,
        expect: Callable[..., Mapping[int, Any]] | None = None,
        **more: Any,
    ) -> Case:
        """The usual launch of a kernel, or one with another block, held against its reference.

        Args:
            specification: the kernel's.
            label: what is special about the launch, such as "odd".
            notebook: as above.
            arguments: a size of `SIZES` → the kernel's arguments.
            tolerance: as above.
            block: threads per block, if not the usual ones.
            expect: as above, where it is not what the specification says.
            more: `sizes`, `finding` and `keep_off_gpu`, as above.
        """

        def make(size: str) -> Shot:
            args = arguments(size)
            return Shot(*specification.shape(*args, block=block), args)

        name = f"{specification.name}, {label}"
        expect = expect or specification.expected
        return cls(name, notebook, specification.kernel, make, expect, tolerance, **more)

    @property
    def runs_on_gpu(self) -> bool:
        """Whether the launch is defined on a GPU, or harmless there."""
        return not self.keep_off_gpu

    def shot(self, size: str) -> Shot:
        """The launch of a size, its arrays made anew, with the same numbers every time.

        Raises:
            BadInput: the case has no such size.
        """
        return self.make(require.choice("size", size, self.sizes))

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
            got: the array, on the device or the host.
            wanted: the array that it must be; a masked element may be anything.
            says: by whom, for the message.

        Raises:
            WrongResultError: an element is further off than `tolerance`.
            BadInput: it has another shape.
        """
        agree(f"{self.name}: argument {place}", got, wanted, self.tolerance, says)
