"""Random kernels: the compiler's code and the SIMT machine leave the same in every array.

So do both engines that carry out the compiler's code, bit by bit: `python -m
tests.simt.ptx.test_random 3000 1000` compares them on the kernels 3000 to 3999.
"""

import copy
import random
import sys

import numpy as np
import pytest

from simt import cuda

from .. import grammar, sources
from ..harness import xray
from .run import compiled, engines, run

pytestmark = pytest.mark.usefixtures("_linker")


# of the others some read what nobody has written, for which either side may have anything
APART = {48, 50, 55, 60, 69}


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


def difference(number: int) -> str:
    """What the engines make different of a kernel, in words."""
    program = grammar.program(random.Random(number).randrange)
    kernel = cuda.jit(sources.module(program.source, cuda).kernel)
    args = tuple(program.arguments(number))
    with np.errstate(all="ignore"):
        return engines(compiled(kernel, args), program.grid, program.block, args)


@pytest.mark.full
@pytest.mark.parametrize("number", [*range(3000, 3024), 3055, 3073])
def test_machine_code_of_a_random_kernel_leaves_the_executors_bits(number: int) -> None:
    pytest.importorskip("llvmlite")
    assert difference(number) == ""


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    told = {number: text for number in range(first, first + count) if (text := difference(number))}
    for number, text in told.items():
        print(number, text)
    print(f"{len(told)} of {count} differ")
