"""What a right kernel's case is: the kernel, its launch, and the answer from NumPy."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A kernel that is right, with arguments and the oracle that changes them as it must."""

    kernel: Callable[..., None]
    grid: Any
    block: Any
    args: Callable[[np.random.Generator], Arrays]
    oracle: Callable[..., Any]  # changes its arguments, or gives the last one or several
    shared: int = 0
    rtol: float = 0.0
    alone: bool = True  # whether Numba's own CUDA target knows it, without numba-cuda

    @property
    def name(self) -> str:
        return self.kernel.__name__

    def make(self, seed: int = 0) -> Arrays:
        return self.args(np.random.default_rng(seed))

    def expected(self, seed: int = 0) -> Arrays:
        args = copy.deepcopy(self.make(seed))
        results = self.oracle(*args)
        if results is not None:
            results = results if isinstance(results, tuple) else (results,)
            for array, result in zip(args[-len(results) :], results, strict=True):
                if isinstance(array, np.ndarray):
                    array[...] = result
        return args


class Catalogue(list[Case]):
    """A list of cases that a decorator fills."""

    def add(
        self,
        launch: tuple[Any, Any],
        args: Callable[[np.random.Generator], Arrays],
        oracle: Callable[..., Any],
        **more: Any,
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        def keep(kernel: Callable[..., None]) -> Callable[..., None]:
            self.append(Case(kernel, *launch, args, oracle, **more))
            return kernel

        return keep


def assert_same(got: Arrays, want: Arrays, rtol: float = 0.0) -> None:
    """Equal to the bit, dtype included; floats to `rtol` where a case says so."""
    for place, (a, b) in enumerate(zip(got, want, strict=True)):
        if not isinstance(b, np.ndarray):
            continue
        assert a.dtype == b.dtype
        if rtol and a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=rtol, err_msg=f"argument {place}")
        else:
            np.testing.assert_array_equal(a, b, err_msg=f"argument {place}")


def floats(rng: np.random.Generator, *shape: int, kind: Any = np.float32) -> np.ndarray:
    """Multiples of 1/4 between -8 and 8: sums and products of a few are exact."""
    return (rng.integers(-32, 33, shape) / 4).astype(kind)


def zeros(*shape: int, kind: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, kind)
