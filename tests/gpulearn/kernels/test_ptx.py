"""What a kernel may refer to compiles to PTX as it would on a machine with a GPU."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest

from gpulearn import cuda
from simt.numba_ptx.codegen import compile_to_ptx

pytestmark = pytest.mark.usefixtures("_compiler")

WIDTH = 33


@cuda.jit(device=True)
def weighted(x: Any, y: Any) -> Any:
    return x + np.float32(0.5) * y


@cuda.jit(device=True)
def twice_weighted(x: Any, y: Any) -> Any:
    return weighted(weighted(x, y), y)


@cuda.jit
def neighbours(x: Any, out: Any) -> None:
    tile = cuda.shared.array(WIDTH, numba.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if t > 0 and i < out.size:
        out[i] = twice_weighted(tile[t - 1], tile[t])


def scaled_by(factor: float) -> Any:
    @cuda.jit
    def total(x: Any, out: Any, n: int) -> None:
        part = np.float32(0)
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            part += factor * x[i]
        for step in (16, 8, 4, 2, 1):
            part += cuda.shfl_down_sync(0xFFFFFFFF, part, step)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, part)

    return total


def test_the_ptx_holds_what_the_kernel_says() -> None:
    text = compile_to_ptx(neighbours, "void(float32[::1], float32[::1])")
    assert ".shared" in text
    assert re.search(r"\bbar(rier)?\.", text)
    text = compile_to_ptx(scaled_by(0.5), "void(float32[::1], float32[::1], int64)")
    assert "shfl.sync.down" in text
    assert re.search(r"\b(atom|red)\.", text)


def test_types_that_do_not_fit_are_refused() -> None:
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError):
        compile_to_ptx(neighbours, "void(float32[:, ::1], float32[::1])")
