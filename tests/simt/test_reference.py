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
