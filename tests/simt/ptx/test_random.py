"""Random kernels: the compiler's code and the SIMT machine leave the same in every array."""

import copy
import random

import numpy as np
import pytest

from simt import cuda

from .. import grammar, sources
from ..harness import xray
from .run import compiled, run

pytestmark = pytest.mark.usefixtures("_linker")


# of the others some call `numba_attempt_nocopy_reshape`, whose code Numba links in no PTX, and
# some read what nobody has written, for which either side may have anything
APART = {32, 34, 48, 49, 50, 54, 55, 60, 64, 69}


@pytest.mark.parametrize("number", sorted(set(range(30, 70)) - APART))
def test_a_random_kernel_computes_the_same_as_on_the_machine(number: int) -> None:
    program = grammar.program(random.Random(number).randrange)
    kernel = cuda.jit(sources.module(program.source, cuda).kernel)
    args = program.arguments(number)
    ran = run(compiled(kernel, tuple(args)), program.grid, program.block, tuple(args))
    mine = copy.deepcopy(args)
    report = xray(kernel, program.grid, program.block, *mine)
    assert "uninitialized-read" not in {f.kind for f in report.findings}, "take another number"
    for got, wanted in zip(ran.results, mine, strict=True):
        if isinstance(wanted, np.ndarray):
            assert_alike(got, wanted, program.source)


def assert_alike(got: np.ndarray, wanted: np.ndarray, source: str) -> None:
    if wanted.dtype.names:
        for name in wanted.dtype.names:
            assert_alike(got[name], wanted[name], source)
        return
    # the compiler fuses multiplications with additions, which rounds once less
    loose = 1e-5 if wanted.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, wanted, rtol=loose, atol=loose, err_msg=source)
