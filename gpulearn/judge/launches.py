"""A launch of a kernel under trial: its arguments, its shape, what it may write; and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Violation
from gpulearn.kernels.specification import Array, Shape, Specification, poison
from simt.device import numba_cuda

if TYPE_CHECKING:
    from simt.report.report import Report


PAD = 256  # elements before and behind each array; keeps its start on a 32-byte sector


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


def on_gpu(answer: Answer, launch: Launch, cuda: Any = None) -> tuple[Array, ...]:
    """What an answer leaves in its results on a real GPU, where only canaries watch it.

    `cuda` is what stands for `numba.cuda`, in tests without a GPU.
    """
    cuda = cuda or numba_cuda.load()
    kernel = cuda.jit(getattr(answer, "py_func", answer))
    if type(answer) is type(kernel):
        kernel = answer  # it has compiled for these types, in another case, and keeps the result
    padded: dict[int, Any] = {}
    arguments: list[Any] = []
    for position, value in enumerate(launch.arguments()):
        if isinstance(value, np.ndarray):
            edge = np.full(PAD, _canary(value.dtype), value.dtype)
            padded[position] = cuda.to_device(np.concatenate([edge, value.ravel(), edge]))
            arguments.append(padded[position][PAD:-PAD].reshape(value.shape))
        else:
            arguments.append(value)
    kernel[launch.grid, launch.block](*arguments)
    cuda.synchronize()
    results = {}
    for position, there in padded.items():
        back = there.copy_to_host()
        canary = _canary(back.dtype)
        for side in (back[:PAD], back[-PAD:]):
            if not np.array_equal(side, np.full(PAD, canary), equal_nan=back.dtype.kind == "f"):
                raise Violation(f"on the GPU it writes beside its argument number {position + 1}")
        results[position] = back[PAD:-PAD].reshape(launch.args[position].shape)
    return tuple(results[position] for position in launch.results)


def _canary(dtype: np.dtype[Any]) -> Any:
    """A value that no kernel has a reason to write."""
    return np.iinfo(dtype).max // 5 if dtype.kind in "iu" else np.nan
