"""The transpose, and which side of it loses."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.kernels.transpose import (
    TRANSPOSE_NAIVE,
    TRANSPOSE_TO_ROWS,
)


def launched(specification, shape, block):
    """The report of a launch, held against the reference."""
    image = np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)
    args = (image, np.full(shape[::-1], np.nan, np.float32))
    there = [cuda.to_device(a) for a in args]
    report = xray(specification.kernel)[specification.shape(*args, block=block)](*there)
    assert not report.findings, report
    np.testing.assert_array_equal(there[1].copy_to_host(), specification.expected(*args)[1])
    return report


@pytest.mark.parametrize(
    "specification", [TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS], ids=lambda s: s.name
)
@pytest.mark.parametrize(
    ("shape", "block"), [((1, 100), (32, 8)), ((37, 70), (16, 16)), ((70, 37), (5, 7))]
)
def test_equals_numpy(specification, shape, block):
    launched(specification, shape, block)


def test_reference_agrees_with_plain_python():
    image = np.arange(6).reshape(2, 3)
    assert TRANSPOSE_NAIVE.reference(image, None)[0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_write_loses():
    report = launched(TRANSPOSE_NAIVE, (128, 256), (32, 8))
    assert report.totals.sectors_per_load == 4
    assert report.totals.sectors_per_store == 32


def test_or_the_read_does():
    report = launched(TRANSPOSE_TO_ROWS, (128, 256), (32, 8))
    assert report.totals.sectors_per_load == 32
    assert report.totals.sectors_per_store == 4
