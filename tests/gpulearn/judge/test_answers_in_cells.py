"""Answers as they are typed into notebook cells, with the imports that learners use."""

import linecache

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose

IMPORTS = {
    "gpulearn's": "from gpulearn import cuda",
    "numba's": "from numba import cuda",
    "numba's, with a name of its own": "import numba.cuda as nc; cuda = nc",
    "gpulearn's attribute": "import gpulearn as gl; cuda = gl.cuda",
}

CELL = """{imports}
import math
import numpy as np
from numba import float32
BLOCK = 128

@cuda.jit(device=True)
def fetch(a, i):
    return a[i] if i < a.size else float32(0)

@cuda.jit
def block_sum(a, out):
    partial = cuda.shared.array(shape=BLOCK, dtype=float32)
    t = cuda.threadIdx.x
    partial[t] = fetch(a, t + cuda.blockIdx.x * BLOCK)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]
"""


def typed(source, name):
    """What IPython makes of a cell: it runs in the user's namespace, its text can be found."""
    filename = f"<ipython-input-{abs(hash(source))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"__name__": "__main__"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_a_right_answer_passes_and_a_wrong_ones_lines_are_those_of_the_cell(imports):
    cell = CELL.format(imports=imports)
    assert diagnose(find("block_sum"), typed(cell, "block_sum")) is None
    wrong = cell.replace("        cuda.syncthreads()\n", "")
    told = diagnose(find("block_sum"), typed(wrong, "block_sum"))
    assert "(`partial[t] += partial[t + half]`): race on partial[" in told
