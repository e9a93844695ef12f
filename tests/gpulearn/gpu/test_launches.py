"""Every launch of the catalogue: its result is NumPy's, and the SIMT machine's."""

import functools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import KernelError
from gpulearn.perf.recorders.measuring import WrongResultError
from simt.device import selection
from simt.host import api
from tools.gpu.cases import CASES

ON_GPU = selection.current().kind == "gpu"
HARMLESS = [name for name, case in CASES.items() if case.runs_on_gpu]
ONE_OF_EACH = {case.kernel.__name__: name for name, case in reversed(CASES.items())}


def launched(case, shot):
    """The arguments after a plain launch; that a case is wrong on purpose is no news."""
    with warnings.catch_warnings():
        if case.finding:
            warnings.simplefilter("ignore")
        return case.run(shot)


def on_the_machine(case, shot, to_device=api.to_device):
    """The arguments after a launch on the SIMT machine, and its report."""
    args = [to_device(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    return args, gl.xray(case.kernel)[shot.grid, shot.block](*args)


@functools.cache  # for the tests that need the same
def small(name):
    """A case, its launch, and the arguments after it: on `cuda`, on the machine, and the report."""
    case = CASES[name]
    shot = case.shot("small")
    return case, shot, launched(case, shot), *on_the_machine(case, shot)


@pytest.mark.parametrize("name", HARMLESS)
def test_the_result_is_numpys(name):
    case, shot, there, _, _ = small(name)
    case.check(shot, there)


@pytest.mark.parametrize("name", HARMLESS)
def test_the_result_is_the_simt_machines(name):
    """To the bit where numbers are whole or only moved, else within the case's rounding."""
    case, shot, there, here, report = small(name)
    case.check(shot, here)
    assert case.finding in {finding.kind for finding in report.findings} | {""}
    if case.finding:
        return  # what the two may make of it differs
    expected = case.expect(*(np.copy(a) for a in shot.args))
    for place, array in enumerate(here):
        if hasattr(array, "copy_to_host"):
            wanted = array.copy_to_host()
            if np.shape(expected.get(place, wanted)) != wanted.shape:
                wanted = wanted.view(np.float32)  # pairs of them, in words
            case.compare(place, there[place], wanted, "the SIMT machine says")


@pytest.mark.parametrize("name", [name for name in CASES if name not in HARMLESS])
def test_what_would_do_harm_on_a_gpu_ends_on_the_machine(name):
    case = CASES[name]
    shot = case.shot("small")
    _, report = on_the_machine(case, shot)
    assert case.finding in {finding.kind for finding in report.findings}
    if not ON_GPU:
        with pytest.raises(KernelError):
            case.run(shot)


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_the_lens_takes_arrays_that_lie_on_the_device(name):
    """There `xray` gets numba.cuda's own dispatcher and arrays; its counters are the same."""
    case, shot, _, _, plain = small(name)
    there, report = on_the_machine(case, shot, cuda.to_device)
    case.check(shot, there)
    assert report.totals == plain.totals
    assert report.totals.instructions > 0


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
from tools.gpu.cases import CASES
assert cuda is numba_cuda.load()

class DeviceNDArray:
    """What a launch on the SIMT machine asks of an array of numba.cuda."""
    __module__ = "numba.cuda.cudadrv.devicearray"
    def __init__(self, array): self.there = np.array(array)
    def copy_to_host(self): return self.there.copy()
    def copy_to_device(self, array): self.there[...] = array

kernels = {case.kernel: case for case in CASES.values()}
for kernel, case in kernels.items():
    assert type(kernel).__module__.startswith("numba."), kernel
    shot = case.shot("small")
    args = [DeviceNDArray(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    report = xray(kernel)[shot.grid, shot.block](*args)
    kinds = {finding.kind for finding in report.findings}
    assert case.finding in kinds if case.finding else not kinds, report
    case.check(shot, args)
print(len({kernel.__name__ for kernel in kernels}), "kernels")
'''


def test_the_lens_takes_numbas_own_dispatchers():
    """Here a process that pretends to have a GPU: dispatchers need none, only launches do."""
    done = subprocess.run(
        [sys.executable, "-c", NUMBAS], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(ONE_OF_EACH)} kernels\n"


@pytest.mark.skipif(not ON_GPU, reason="launches large enough to be timed need a GPU")
def test_a_large_launch_of_every_kernel_is_right():
    faults = []
    for name in ONE_OF_EACH.values():
        case = CASES[name]
        if "large" in case.sizes and case.runs_on_gpu:
            shot = case.shot("large")
            try:
                case.check(shot, launched(case, shot))
            except WrongResultError as wrong:
                faults.append(str(wrong))
    assert not faults
