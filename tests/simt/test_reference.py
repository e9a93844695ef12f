"""The reference itself: right wherever NumPy knows the answer, typed as Numba types."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numba import cuda

from . import reference, right, sources
from .cases import Case, assert_same

CASES = [case for case in right.CASES if case.reference]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_reference_agrees_with_numpy(case: Case) -> None:
    args = copy.deepcopy(case.make(seed=1))
    reference.run(case.kernel, case.grid, case.block, *args, dynamic_shared=case.shared)
    assert_same(args, case.expected(seed=1), case.rtol)


TYPING = """
def kernel(f4, i4, u1, out):
    i = cuda.grid(1)
    out[0] = {expression}
"""


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("f4[0] * 0.1", float(np.float32(0.7)) * 0.1),  # a literal is float64
        ("f4[0] * f4[0]", float(np.float32(0.7) * np.float32(0.7))),
        ("f4[0] * i4[0]", float(np.float32(0.7)) * (2**31 - 1)),  # float32 · int32 is float64
        ("i4[0] + i4[0]", 2.0 * (2**31 - 1)),  # int32 + int32 is int64
        ("np.int32(i4[0] + 1)", -(2.0**31)),
        ("u1[0] + u1[0]", 510.0),
        ("u1[0] - i4[0]", 255.0 - (2**31 - 1)),
        ("i4[0] // -7", float((2**31 - 1) // -7)),
        ("(i4[0] << 33) * 4 >> 1", float((((2**31 - 1) << 35) & (2**64 - 1)) - 2**64 >> 1)),
        ("-(i4[0] > 3) + 0", -1.0),
        ("f4[0] if i < 0 else 3", 3.0),
    ],
)
def test_numbers_have_the_types_that_numba_gives_them(expression: str, want: float) -> None:
    out = np.zeros(1)
    kernel = sources.module(TYPING.format(expression=expression), cuda).kernel
    args = (
        np.array([0.7], np.float32),
        np.array([2**31 - 1], np.int32),
        np.array([255], np.uint8),
    )
    reference.run(kernel, 1, 1, *args, out)
    assert out[0] == want


def test_a_variable_has_one_type_on_both_branches() -> None:
    source = """
def kernel(a, out):
    i = cuda.grid(1)
    x = a[i]
    if i > 0:
        x = x * 2.0
    out[i] = x * a[i]
"""
    a, out = np.full(2, 0.7, np.float32), np.zeros(2)
    reference.run(sources.module(source, cuda).kernel, 1, 2, a, out)
    wide = float(np.float32(0.7))
    np.testing.assert_array_equal(out, [wide * wide, 2 * wide * wide])


def test_a_kernel_that_deadlocks_is_noticed() -> None:
    source = """
def kernel(a):
    if cuda.threadIdx.x < 4:
        cuda.syncthreads()
        a[0] = 1
    else:
        cuda.syncwarp()
        a[1] = 1
"""
    with pytest.raises(AssertionError, match="deadlock"):
        reference.run(sources.module(source, cuda).kernel, 1, 8, np.zeros(2))
