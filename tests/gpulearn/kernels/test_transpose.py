"""The transpose, and which side of it loses."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn.kernels.transpose import TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS
from gpulearn.kernels.transpose_tiled import TRANSPOSE_TILED

from .launched import launched


def turned(specification, shape, block):
    image = np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)
    return launched(specification, image, np.full(shape[::-1], np.nan, np.float32), block=block)


@pytest.mark.parametrize(
    "specification", [TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS], ids=lambda s: s.name
)
@pytest.mark.parametrize(
    ("shape", "block"), [((1, 100), (32, 8)), ((37, 70), (16, 16)), ((70, 37), (5, 7))]
)
def test_equals_numpy(specification, shape, block):
    turned(specification, shape, block)


@pytest.mark.parametrize("specification", [TRANSPOSE_NAIVE, TRANSPOSE_TILED])
def test_reference_agrees_with_plain_python(specification):
    image = np.arange(6).reshape(2, 3)
    assert specification.reference(image, None)[0].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("specification", "sectors"), [(TRANSPOSE_NAIVE, (4, 32)), (TRANSPOSE_TO_ROWS, (32, 4))]
)
def test_the_write_loses_or_the_read_does(specification, sectors):
    totals = turned(specification, (128, 256), (32, 8)).totals
    assert (totals.sectors_per_load, totals.sectors_per_store) == sectors
