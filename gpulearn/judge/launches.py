"""A launch of a kernel under trial: its arguments, its shape, what it may write; and on a GPU."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.kernels.specification import Array, Shape, Specification, poison
from simt.device import numba_cuda

if TYPE_CHECKING:
    from simt.report.report import Report


@dataclass(frozen=True)
class Launch(Case):
    """One adversarial launch: a kernel's arguments, and the shape that it is launched with.

    Attributes:
        grid: blocks, as in `kernel[grid, block]`.
        block: threads per block.
        outputs: positions of the arguments that the kernel must fill; they start poisoned.
        updated: positions of the arguments that it reads and changes; they start as given.
        measured: whether access budgets are held against this launch; if no launch of an
            exercise is, they are held against all.
    """

    _: KW_ONLY
    grid: Shape
    block: Shape
    outputs: tuple[int, ...] = ()
    updated: tuple[int, ...] = ()
    measured: bool = False

    @classmethod
    def of(
        cls,
        specification: Specification,
        label: str,
        *args: Any,
        grid: Shape | None = None,
        block: Shape | None = None,
        measured: bool = False,
    ) -> Launch:
        """A kernel's usual launch on these arguments, or with another grid or block."""
        usual, block = specification.shape(*args, block=block)
        return cls(
            label,
            args,
            grid=usual if grid is None else grid,
            block=block,
            outputs=specification.outputs,
            updated=specification.updated,
            measured=measured,
        )

    @property
    def results(self) -> tuple[int, ...]:
        """Positions of all arguments that the kernel may write, in order."""
        return tuple(sorted({*self.outputs, *self.updated}))

    def names(self, report: Report) -> dict[int, str]:
        """Position of each array among the arguments → what the kernel calls it."""
        positions = [p for p, a in enumerate(self.args) if isinstance(a, np.ndarray)]
        return dict(zip(positions, report.arrays, strict=False))  # the arguments come first

    def arguments(self) -> list[Any]:
        """Fresh host arguments, with poisoned outputs."""
        fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in self.args]
        for position in self.outputs:
            fresh[position][...] = poison(fresh[position].dtype)
        return fresh


def on_gpu(answer: Answer, launch: Launch) -> tuple[Array, ...]:
    """What an answer, in which the machine has found no mistake, leaves in its results on a GPU."""
    cuda = numba_cuda.load()
    kernel = cuda.jit(getattr(answer, "py_func", answer))
    if type(answer) is type(kernel):
        kernel = answer  # it has compiled for these types, in another case, and keeps the result
    arguments = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in launch.arguments()]
    kernel[launch.grid, launch.block](*arguments)
    cuda.synchronize()
    return tuple(arguments[position].copy_to_host() for position in launch.results)
