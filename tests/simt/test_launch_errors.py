"""A launch that is written wrong is told so in one line, and names what to write."""

from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.errors import BadLaunch


@cuda.jit
def fill(a, n):
    a[cuda.grid(1)] = n


@cuda.jit(device=True)
def helper(x):
    return x


def array() -> Any:
    return cuda.to_device(np.zeros(32, np.float32))


LAUNCHES = [
    (lambda: fill(array(), 3), ValueError, r"launch configuration was not specified: write fill\["),
    (lambda: fill[1], ValueError, r"fill\[1\] says nothing of the threads: write fill\["),
    (lambda: fill[1, 2, 0, 0, 0], ValueError, "takes 2 to 4 values, got 5"),
    (lambda: fill[32 / 32, 32], TypeError, "got 1.0; use // for a whole number"),
    (lambda: fill[(1, 1, 1, 1), 32], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: fill[2, None], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: simt.xray(fill)[1, (3, 4, 5, 6)], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: simt.xray(fill)[2, 3.0], TypeError, "got 3.0; use // for a whole number"),
    (lambda: simt.xray(fill)(array(), 3), ValueError, r"write xray\(fill\)\[blocks, threads\]"),
]


@pytest.mark.parametrize(("wrong", "kind", "said"), LAUNCHES)
def test_a_wrong_shape_is_told_where_it_stands_by_the_class_that_numba_raises(
    wrong: Any, kind: type, said: str
) -> None:
    with pytest.raises(BadLaunch, match=said) as caught:
        wrong()
    assert isinstance(caught.value, simt.errors.KernelError)
    assert isinstance(caught.value, kind)
    assert len(caught.value._render_traceback_()) <= 3


def test_a_device_function_is_no_kernel() -> None:
    with pytest.raises(RuntimeError, match="helper is a device function: only kernels can call it"):
        helper[1, 32](array())


@pytest.mark.parametrize("given", [3, None, fill[1, 32]])
def test_xray_says_how_it_is_written(given: Any) -> None:
    with pytest.raises(simt.errors.SimtError, match=r"write xray\(kernel\)\[blocks, threads\]"):
        simt.xray(given)
