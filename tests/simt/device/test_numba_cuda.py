"""Numba's own cuda loads and compiles, whatever NumPy has removed, and says nothing about it."""

import os
import subprocess
import sys

import pytest

COMPILED = """
import warnings
import numpy as np
warnings.simplefilter("error")
vars(np).pop("row_stack", None)
from simt.device import numba_cuda
cuda = numba_cuda.load()
assert "row_stack" not in vars(np)
from numba import float32
from simt.frontend.numba_bridge import type_annotation
def double(a):
    x = a[0] * 2
    a[0] = x
print(type_annotation(double, (float32[::1],)).typemap["x"])
warnings.simplefilter("default")
cuda.jit(double)[3, 32]
"""


@pytest.mark.parametrize(("wish", "warned"), [(None, False), ("1", True)])
def test_kernels_compile_and_a_small_grid_is_warned_of_if_somebody_asks_for_it(wish, warned):
    asked = {} if wish is None else {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": wish}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        capture_output=True, text=True, check=False, env=os.environ | asked,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "float64\n"
    assert ("low occupancy" in done.stderr) == warned
