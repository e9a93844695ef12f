"""One launch of a kernel under trial: its arguments, its shape, and what it may write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.checker.exercise import Case
from gpulearn.kernels.specification import Shape, Specification, poison

if TYPE_CHECKING:
    from gpulearn.simt.report.report import Report

__all__ = ["Launch"]


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

    grid: Shape = field(kw_only=True)
    block: Shape = field(kw_only=True)
    outputs: tuple[int, ...] = field(default=(), kw_only=True)
    updated: tuple[int, ...] = field(default=(), kw_only=True)
    measured: bool = field(default=False, kw_only=True)

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
