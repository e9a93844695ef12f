"""Launches of every kernel of the package, each with what NumPy says that it must leave.

A kernel that is the solution of an exercise is launched as the exercise does it, the others as
they are here. Two kernels more do one access each, in an order that is data: the compiler finds
nothing in them to merge or to widen, so their counters are those of the memory alone.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

import gpulearn.kernels
import gpulearn_lessons
from gpulearn import cuda
from gpulearn.judge.catalogue import find, places
from gpulearn.judge.compare import tolerance
from gpulearn.judge.launches import Launch
from gpulearn.kernels.descent import MINIMA
from gpulearn.kernels.specification import Specification, blocks_along
from gpulearn.plot.recorders.measuring import agree

__all__ = ["Example", "examples", "kernel_modules", "specifications"]

Array = np.ndarray[Any, Any]
SHARED_WORDS = 1024


@dataclass(frozen=True)
class Example:
    """One launch of a kernel.

    Attributes:
        name: the kernel's, and what is special about the launch: "copy_strided, 8 apart".
        specification: the kernel with its reference.
        launch: arguments on the host, grid and block.
        tolerance: of each element of a result, relative to the largest of its array; where it is
            None, what an exercise allows an answer.
    """

    name: str
    specification: Specification
    launch: Launch
    tolerance: float | None = None

    @property
    def kernel(self) -> Any:
        """What `cuda.jit` made."""
        return self.specification.kernel

    @property
    def shape(self) -> tuple[Any, Any]:
        """Grid and block, as in `kernel[shape]`."""
        return self.launch.grid, self.launch.block

    def arguments(self, to_device: Callable[[Array], Any] = cuda.to_device) -> list[Any]:
        """Fresh arguments, arrays on the device and outputs poisoned."""
        return [to_device(a) if isinstance(a, np.ndarray) else a for a in self.launch.arguments()]

    def check(self, arguments: Sequence[Any]) -> None:
        """Hold what a launch left in its arguments, on the device or the host, against NumPy.

        Raises:
            WrongResultError: an element is further off than the tolerance.
        """
        for place, expected in self.specification.expected(*self.launch.args).items():
            allowed = tolerance(expected.dtype) if self.tolerance is None else self.tolerance
            agree(f"{self.name}: argument {place}", arguments[place], expected, allowed)


def kernel_modules() -> Iterator[ModuleType]:
    """The modules that can hold kernels: `gpulearn.kernels`, and the lessons but for exercises."""
    for package in (gpulearn.kernels, gpulearn_lessons):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.rpartition(".")[2] not in places():
                with suppress(ImportError):  # one that needs torch holds none
                    yield importlib.import_module(info.name)


@cache
def specifications() -> dict[str, Specification]:
    """The specifications of all kernels of the package, by the kernel's name."""
    things = [thing for module in kernel_modules() for thing in vars(module).values()]
    return {thing.name: thing for thing in things if isinstance(thing, Specification)}


@cache
def examples() -> dict[str, Example]:
    """All launches by name; those of one kernel stand side by side."""
    every = [
        Example(f"{name}, {launch.label}", specification, launch)
        for name, specification in specifications().items()
        if name in places()
        for launch in find(name).cases()
        if isinstance(launch, Launch)
    ]
    every += [*_further(), *_accesses()]
    return {example.name: example for example in every}


def _numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _empty(*shape: int, dtype: Any = np.float32) -> Array:
    return np.empty(shape, dtype)


def _whole(n: int, below: int = 100) -> Array:
    return np.random.default_rng(n).integers(0, below, n, np.int32)


def _further() -> Iterator[Example]:
    """Launches of the kernels that are no exercise's solution."""
    known = specifications()

    def example(
        kernel: str, label: str, *args: Any, allowed: float | None = None, **shape: Any
    ) -> Example:
        launch = Launch.of(known[kernel], label, *args, **shape)
        return Example(f"{kernel}, {label}", known[kernel], launch, allowed)

    positive = np.abs(_numbers(4993))
    for stride in (1, 3, 8, 32):
        yield example(
            "copy_strided", f"{stride} apart", _numbers(1001 * stride), _empty(1001), stride
        )
    doubles = _numbers(3003).astype(np.float64)
    yield example("copy_strided", "float64 3 apart", doubles, _empty(1001, dtype=float), 3)
    yield example("copy_in_runs", "odd", _numbers(5003), _empty(5003), grid=5)
    odd, whole = _numbers(67, 75), _numbers(64, 96)
    yield example("copy_by_rows", "odd", odd, _empty(67, 75))
    for block in ((32, 8), (16, 16)):
        label = f"odd, blocks of {block}"
        yield example("transpose_to_rows", label, odd, _empty(75, 67), block=block)
    for kernel in ("transpose_whole", "transpose_padded"):
        yield example(kernel, "whole", whole, _empty(96, 64))
    yield example("stencil_1d_naive", "odd", positive, _empty(4993))
    yield example("conv2d_naive", "odd", odd, _numbers(5, 5, seed=1), _empty(67, 75))
    for kernel in ("interleaved", "packed", "sequential", "shuffle"):
        yield example(f"block_sums_{kernel}", "odd", positive, _empty(20))
    yield example("grid_sum_atomic", "odd", positive, np.zeros(1, np.float32))
    yield example("grid_sum_cooperative", "odd", positive, _empty(3), _empty(1))
    some = 1 + np.abs(_numbers(67, seed=1))
    yield example("row_maxima", "odd", odd, _empty(67))
    yield example("row_sums", "odd", odd, odd.max(axis=1), _empty(67, 75), _empty(67))
    yield example("row_shares", "odd", odd, some, _empty(67, 75))
    q, k, v = (_numbers(75, 32, seed=seed) for seed in (1, 2, 3))
    for block in ((32, 32), (32, 5)):
        label = f"blocks of {block}"
        yield example("attention_scores", label, q, k, _empty(75, 75), block=block)
        shares = np.abs(_numbers(75, 75))
        yield example("attention_product", label, shares, v, _empty(75, 32), block=block)
        yield example("attention_tiled", label, q, k, v, _empty(75, 32), block=block)
    # a difference of rounding grows from season to season
    yield example("after_seasons", "odd", np.random.default_rng(8).random(4099), allowed=1e-6)
    # starts at the minima, far outside and between: what comes out does not hang on rounding
    x, y = np.tile(np.array([*MINIMA, (90, 90), (0, 0)], np.float32), (167, 1)).T.copy()
    ends = _empty(1002, dtype=np.int32), _empty(1002, dtype=np.int32)
    settings = np.float32(0.001), np.float32(0.5), 5
    yield example("descend_all", "5 steps", x, y, *settings, *ends)

    for fit, (m, n, p) in {"whole": (128, 32, 128), "odd": (70, 38, 98)}.items():
        a, b, c = _numbers(m, n, seed=1), _numbers(n, p, seed=2), _empty(m, p)
        words = (matrix.view(np.int64) for matrix in (a, b, c))
        yield example("matmul_vectorized", fit, *words)
        yield example("matmul_register_patch", fit, a, b, c)
        yield example("matmul_warp_tiles", fit, a, b, c)


@cuda.jit
def read_at(source: Array, index: Array, target: Array) -> None:
    """target[i] = source[index[i]]; a lane with an index below 0 stores a 0."""
    i = cuda.grid(1)
    if i < target.size:
        place = index[i]
        target[i] = source[place] if place >= 0 else 0


def shared_reader(dtype: Any) -> Any:
    """A kernel shared_read(index, target) of one block: target[t] = words[index[t]] = index[t]."""

    @cuda.jit
    def shared_read(index: Array, target: Array) -> None:
        words = cuda.shared.array(SHARED_WORDS, dtype)
        thread = cuda.threadIdx.x
        for k in range(thread, SHARED_WORDS, cuda.blockDim.x):
            words[k] = k
        cuda.syncthreads()
        target[thread] = words[index[thread]]

    return shared_read


def _accesses() -> Iterator[Example]:
    """Global and shared memory, read in one order after the other."""
    reading = Specification(
        read_at,
        lambda source, index, target: (np.where(index < 0, 0, source[index]).astype(target.dtype),),
        grid=lambda source, index, target, block: blocks_along(target.size, block),
        block=128,
        outputs=(2,),
    )
    i = np.arange(1013)
    orders = {
        "reversed": i[::-1], "at random": np.random.default_rng(0).permutation(i),
        "offset by 1": i + 1, "offset by 7": i + 7, "3 apart": 3 * i, "32 apart": 32 * i,
        "all on one word": 0 * i + 7, "half the lanes": np.where(i % 2, -1, i),
        "two rows": i // 32 * 16 + i % 16 + i % 32 // 16 * 2048,
    }  # fmt: skip
    for label, order in orders.items():
        for dtype in (np.float32, np.float64, np.int8):
            source = _whole(int(order.max()) + 1).astype(dtype)
            args = source, order.astype(np.int32), _empty(i.size, dtype=dtype)
            launch = Launch.of(reading, f"{label}, {np.dtype(dtype).name}", *args)
            yield Example(f"read_at, {launch.label}", reading, launch)
    lanes = np.arange(32)
    places = {
        **{f"{k} apart": k * lanes % SHARED_WORDS for k in (1, 2, 3, 16, 17, 32, 33)},
        **{f"{k} lanes in one bank": np.where(lanes < k, lanes * 32, lanes) for k in (3, 8, 31)},
        "all on one word": 0 * lanes + 7,
        "pairs on one word": lanes // 2,
    }
    for dtype in (np.float32, np.float64):
        kernel = shared_reader(dtype)
        sharing = Specification(
            kernel,
            lambda index, target: (index.astype(target.dtype),),
            grid=lambda index, target, block: 1,
            block=32,
            outputs=(1,),
        )
        for label, index in places.items():
            both = index.astype(np.int32), _empty(32, dtype=dtype)
            launch = Launch.of(sharing, f"{label}, {np.dtype(dtype).name}", *both)
            yield Example(f"shared_read, {launch.label}", sharing, launch)
