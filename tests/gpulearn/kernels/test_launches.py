"""Every kernel of the package computes what NumPy says: on the machine, unchecked, and as PTX."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numba import typeof, types
from numba.core.errors import NumbaError

import gpulearn as gl
from gpulearn import cuda
from gpulearn.plot.recorders.measuring import WrongResultError
from simt.numba_ptx.codegen import unfused_ptx
from tools.record.launches import Example, examples

from .found import package_kernels


def threads(example: Example) -> int:
    return int(np.prod(example.launch.grid) * np.prod(example.launch.block))


# the largest launch of each kernel
ONE_OF_EACH = {e.kernel.__name__: e for e in sorted(examples().values(), key=threads)}
# those that unchecked launches leave to the machine, with the reason's first words
# of each module the largest launch: its kernels are written alike
OF_EACH_MODULE = {e.kernel.py_func.__module__: name for name, e in ONE_OF_EACH.items()}


def test_every_kernel_of_the_package_is_launched_and_results_that_are_none_are_found():
    launched = {id(example.kernel) for example in examples().values()}
    assert [name for name, kernel in package_kernels().items() if id(kernel) not in launched] == []
    for example in ONE_OF_EACH.values():
        with pytest.raises(WrongResultError, match=example.kernel.__name__):
            example.check(example.launch.arguments())


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_machine_finds_nothing_and_the_result_is_numpys(name):
    example = ONE_OF_EACH[name]
    there = example.arguments()
    report = gl.xray(example.kernel)[example.shape](*there)
    assert report.findings == []
    example.check(there)


@pytest.mark.full
@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", sorted({*OF_EACH_MODULE.values(), "grid_sum_cooperative"}))
def test_an_unchecked_launch_gives_what_numpy_says(name):
    example = ONE_OF_EACH[name]
    kernel = cuda.jit(example.kernel.py_func)  # the package's own stays as it was
    there = example.arguments()
    with gl.unchecked(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ran as machine code")
        kernel[example.shape](*there)
    example.check(there)
    (overload,) = kernel.overloads.values()
    assert not overload.unchecked.left


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_kernel_compiles_to_ptx(name):
    example = ONE_OF_EACH[name]
    kinds = tuple(map(typeof, example.launch.args))
    assert ".visible .entry" in unfused_ptx(example.kernel, kinds)


@pytest.mark.usefixtures("_compiler")
def test_types_that_do_not_fit_are_refused():
    with pytest.raises(NumbaError):
        unfused_ptx(ONE_OF_EACH["vector_add"].kernel, (types.int64,) * 3)
