"""Every kernel on the real `numba.cuda`: its results are NumPy's, and the lens takes it."""

import os
import subprocess
import sys
import warnings

import pytest

import gpulearn as gl
from gpulearn import cuda
from tools.record.launches import examples

KERNELS = list(dict.fromkeys(example.kernel.__name__ for example in examples().values()))


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_launch_leaves_what_numpy_says(kernel):
    for example in (e for e in examples().values() if e.kernel.__name__ == kernel):
        there = example.arguments(cuda.to_device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small grids are meant
            example.kernel[example.shape](*there)
            cuda.synchronize()
        example.check(there)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["vector_add", "block_sum", "matmul_tiled", "grid_sum_atomic"])
def test_the_lens_takes_arrays_that_lie_on_the_device(kernel):
    """There `xray` gets numba.cuda's own dispatcher and arrays, and nobody launches on the GPU."""
    example = next(e for e in examples().values() if e.kernel.__name__ == kernel)
    there = example.arguments(cuda.to_device)
    report = gl.xray(example.kernel)[example.shape](*there)
    assert report.findings == []
    example.check(there)


NUMBAS = '''
"""The package as it is on a machine with a GPU: its kernels are numba.cuda's dispatchers."""
import warnings
warnings.simplefilter("ignore")
import numpy as np
from simt.device import driver, selection
gpu = driver.Gpu("none", 0, (9, 0), "0")
selection.current = lambda: selection.Selection("gpu", "pretended", (gpu,))
from gpulearn import cuda, xray
from simt.device import numba_cuda
from gpulearn.kernels.vectors import vector_add
assert cuda is numba_cuda.load()
assert type(vector_add).__module__.startswith("numba.")

class DeviceNDArray:
    """What a launch on the SIMT machine asks of an array of numba.cuda."""
    __module__ = "numba.cuda.cudadrv.devicearray"
    def __init__(self, array): self.there = np.array(array)
    def copy_to_host(self): return self.there.copy()
    def copy_to_device(self, array): self.there[...] = array

a, b, out = (DeviceNDArray(np.full(70, n, np.float32)) for n in (1, 2, 0))
report = xray(vector_add)[3, 32](a, b, out)
print(len(report.findings), report.totals.global_load_requests, set(out.there.tolist()))
'''


def test_the_lens_takes_numbas_own_dispatchers():
    """Here a process that pretends to have a GPU: dispatchers need none, only launches do."""
    done = subprocess.run(
        [sys.executable, "-c", NUMBAS], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 6 {3.0}\n"
