"""`cuda.shared.array(…, alignment=…)`, which numba-cuda has and numba's own target has not."""

import numpy as np
import pytest

import simt
from simt import cuda

pytest.importorskip("numba_cuda")


def reversing(alignment):
    @cuda.jit
    def reverse(x):
        tile = cuda.shared.array(32, np.float32, alignment=alignment)
        mine = cuda.local.array(1, np.float32, alignment)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        mine[0] = tile[31 - t]
        x[t] = mine[0]

    return reverse


@pytest.mark.parametrize("alignment", [8, 16, 128, None])
def test_an_alignment_changes_no_result(alignment):
    x = cuda.to_device(np.arange(32, dtype=np.float32))
    report = simt.xray(reversing(alignment))[1, 32](x)
    assert report.findings == []
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(32)[::-1])


@pytest.mark.parametrize("alignment", [4, 12, 0, -16])
def test_what_is_no_alignment_is_refused(alignment):
    report = simt.xray(reversing(alignment))[1, 32](cuda.to_device(np.zeros(32, np.float32)))
    assert [finding.kind for finding in report.findings] == ["not-a-kernel"]
