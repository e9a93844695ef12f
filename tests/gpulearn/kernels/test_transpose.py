"""The transpose, and which side of it loses."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn.kernels.transpose import (
    TRANSPOSE_NAIVE,
    TRANSPOSE_TO_ROWS,
    transpose_naive,
    transpose_to_rows,
)

from .launched import launched

PICTURES = "void(float32[:, ::1], float32[:, ::1])"
SIGNATURES = dict.fromkeys((transpose_naive, transpose_to_rows), PICTURES)


@pytest.mark.parametrize(
    "specification", [TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS], ids=lambda s: s.name
)
@pytest.mark.parametrize("shape", [(1, 1), (37, 70), (70, 37), (40, 40), (1, 100), (100, 1)])
@pytest.mark.parametrize("block", [(32, 8), (16, 16), (5, 7)])
def test_equals_numpy(specification, shape, block):
    image = np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)
    launched(specification, image, poisoned(*shape[::-1]), block=block)


def test_reference_agrees_with_plain_python():
    image = np.arange(6).reshape(2, 3)
    assert TRANSPOSE_NAIVE.reference(image, None)[0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_write_loses_or_the_read_does():
    args = np.ones((128, 256), np.float32), poisoned(256, 128)
    naive, to_rows = (launched(s, *args).totals for s in (TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS))
    assert (naive.sectors_per_load, naive.sectors_per_store) == (4, 32)
    assert (to_rows.sectors_per_load, to_rows.sectors_per_store) == (32, 4)
