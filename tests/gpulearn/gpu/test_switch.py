"""One switch: numba.cuda where there is a GPU, the SIMT machine elsewhere."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from gpulearn import cuda, machine_report
from gpulearn.kernels.vectors import vector_add
from simt.device import driver, numba_cuda, selection
from simt.host import api

ON_GPU = selection.current().kind == "gpu"


def test_cuda_is_numbas_where_there_is_a_gpu_and_the_look_alike_elsewhere():
    assert cuda is (numba_cuda.load() if ON_GPU else api)
    assert numba_cuda.load().__name__ == "numba.cuda"
    home = type(vector_add).__module__.partition(".")[0]
    assert home == ("numba" if ON_GPU else "simt")


def test_on_request_the_machine_takes_a_gpus_place():
    code = (
        "from gpulearn import cuda; from simt.device import selection; "
        "print(cuda.__name__, selection.current().kind)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "GPULEARN_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["simt.host.api", "cpu"]


def test_the_banner_names_what_runs_the_kernels(capsys):
    machine_report.banner()
    said = capsys.readouterr().out
    assert said.count("\n") == 2
    assert ("SIMT machine" in said) != ON_GPU
    for gpu in driver.gpus()[:1]:
        assert f"GPU: {gpu.name} (" in said
        assert gpu.memory > 2**30
        assert gpu.capability >= (5, 0)


def test_the_drivers_version_is_known_where_there_is_one():
    version = driver.version()
    assert bool(re.fullmatch(r"\d+(\.\d+)+", version)) == bool(driver.gpus()), version


@pytest.mark.parametrize("blocks", [1, 3])
def test_few_blocks_are_no_reason_to_warn(blocks):
    x = np.arange(96, dtype=np.float32)
    a, out = cuda.to_device(x), cuda.to_device(np.full(96, np.nan, np.float32))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        vector_add[blocks, 96 // blocks](a, a, out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * x)
    assert not [str(one.message) for one in said if "Grid size" in str(one.message)]
