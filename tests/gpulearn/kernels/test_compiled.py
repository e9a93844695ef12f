"""Every kernel of the package as compiled code computes what NumPy says."""

from __future__ import annotations

import warnings

import pytest

import gpulearn as gl
from gpulearn import cuda
from simt.compiled import launch as compiled
from tools.gpu.case import Case
from tools.gpu.cases import CASES

KERNELS = {id(case.kernel): case for case in CASES.values() if not case.finding}
# those that are left to the machine, with the reason's first words
LEFT = {
    "matmul_vectorised": "libdevice.int_as_float",
    "grid_sum_cooperative": "cuda.cg.this_grid",
}


@pytest.mark.parametrize("case", KERNELS.values(), ids=lambda c: c.kernel.__name__)
def test_a_compiled_kernel_gives_what_numpy_says(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "BUDGET", 0.0)  # no kernel is too small to be compiled
    kernel = cuda.jit(case.kernel.py_func)  # the package's own stays as it was
    shot = case.shot("small")
    there = shot.on_device()
    with gl.unchecked(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ran as compiled code")
        kernel[shot.grid, shot.block](*there)
    case.check(shot, there)
    (overload,) = kernel.overloads.values()
    left = LEFT.get(kernel.__name__)
    assert (overload.unchecked.code is None) == (left is not None)
    assert (left or "") in overload.unchecked.refused
