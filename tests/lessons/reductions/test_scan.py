"""The scan: its reference equals a loop over the values."""

import numpy as np
import pytest

from gpulearn_lessons.reductions.scan import EXCLUSIVE_SCAN


@pytest.mark.parametrize("n", [0, 1, 2, 64, 1000])
def test_the_reference_equals_a_loop_over_the_values(n):
    given = np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)
    before, total = [], 0
    for value in given.tolist():
        before.append(total)
        total += value
    assert EXCLUSIVE_SCAN.reference(given, np.empty(n, np.int32))[0].tolist() == before
