"""An answer on a real GPU, where nothing looks over its shoulder but canaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.checker.answers import Answer
from gpulearn.checker.exercise import Refused
from gpulearn.device import numba_cuda

if TYPE_CHECKING:
    from gpulearn.checker.launches import Launch

__all__ = ["run"]

PAD = 256  # elements before and behind each array; keeps its start on a 32-byte sector
Array = np.ndarray[Any, Any]


def run(answer: Answer, launch: Launch, cuda: Any = None) -> tuple[Array, ...]:
    """Launch an answer on the GPU and return what its results hold.

    Args:
        answer: a kernel, or the plain function that becomes one.
        launch: the arguments and the shape.
        cuda: what stands for `numba.cuda`, in tests without a GPU.

    Raises:
        Refused: it wrote beside an array.
    """
    cuda = cuda or numba_cuda.load()
    kernel = cuda.jit(getattr(answer, "py_func", answer))
    if type(answer) is type(kernel):
        kernel = answer  # it has compiled for these types, in another case, and keeps the result
    padded: dict[int, Any] = {}
    given: list[Any] = []
    for position, value in enumerate(launch.arguments()):
        if isinstance(value, np.ndarray):
            padded[position] = cuda.to_device(_with_canaries(value))
            given.append(padded[position][PAD:-PAD].reshape(value.shape))
        else:
            given.append(value)
    kernel[launch.grid, launch.block](*given)
    cuda.synchronize()
    results = {}
    for position, there in padded.items():
        back = there.copy_to_host()
        canary = _canary(back.dtype)
        for side in (back[:PAD], back[-PAD:]):
            if not np.array_equal(side, np.full(PAD, canary), equal_nan=back.dtype.kind == "f"):
                raise Refused(f"on the GPU it writes beside its argument number {position + 1}")
        results[position] = back[PAD:-PAD].reshape(launch.args[position].shape)
    return tuple(results[position] for position in launch.results)


def _canary(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max // 5 if dtype.kind in "iu" else np.nan


def _with_canaries(array: Array) -> Array:
    """The array, flat, between two fields of a value that no kernel has a reason to write."""
    field = np.full(PAD, _canary(array.dtype), array.dtype)
    return np.concatenate([field, array.ravel(), field])
