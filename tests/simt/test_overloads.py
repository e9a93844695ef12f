"""Functions that mean in a kernel what `numba.cuda.extending.overload` says."""

from __future__ import annotations

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda

from .harness import launch

extending = pytest.importorskip("numba.cuda.extending")
types = pytest.importorskip("numba.core.types")


def widened(x, step=1):
    """What a CPU does."""


@extending.overload(widened)
def _widened(x, step=1):
    if isinstance(x, types.Integer):

        def body(x, step=1):
            return x + step
    elif isinstance(x, types.Float):

        def body(x, step=1):
            return x * 100 * step
    elif isinstance(x, types.Array):

        def body(x, step=1):
            total = 0.0
            for value in x:
                total += value
            return total * step
    else:
        return None
    return body


def applied(x, function):
    """What a CPU does."""


@extending.overload(applied)
def _applied(x, function):
    return lambda x, function: function(x)


def with_a_function(out):
    def tenfold(x):
        return 10 * x

    i = cuda.grid(1)
    out[i] = applied(i, tenfold)


def kernel(a, out):
    i = cuda.grid(1)
    out[i] = widened(i) + widened(np.float64(a[i]), 2) + widened(a[i:], step=3)


def mistaken(out):
    out[0] = widened((1, 2))


def test_an_overload_is_chosen_by_the_types_of_the_arguments() -> None:
    a, out = np.arange(4, dtype=np.float64), np.zeros(4)
    launch(kernel, 2, 2, a, out)
    i = np.arange(4)
    assert out.tolist() == (i + 1 + a * 200 + 3 * a[::-1].cumsum()[::-1]).tolist()


def test_an_overload_takes_a_function_of_the_kernel() -> None:
    out = np.zeros(4)
    launch(with_a_function, 2, 2, out)
    assert out.tolist() == [0, 10, 20, 30]


def test_types_without_an_overload_are_refused() -> None:
    with pytest.raises(gl.errors.KernelError, match="widened"):
        launch(mistaken, 1, 1, np.zeros(1))
