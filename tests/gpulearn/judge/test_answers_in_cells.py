"""Answers as they are typed into notebook cells, with the imports that learners use."""

import cProfile
import linecache

import pytest

from gpulearn import solution
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
def test_right_answers_pass_with_all_imports(imports):
    assert diagnose(find("block_sum"), typed(CELL.format(imports=imports), "block_sum")) is None


@pytest.mark.parametrize("imports", IMPORTS.values(), ids=IMPORTS)
def test_lines_are_counted_from_the_top_of_the_cell(imports):
    wrong = CELL.format(imports=imports).replace("        cuda.syncthreads()\n", "")
    said = diagnose(find("block_sum"), typed(wrong, "block_sum"))
    assert "(`partial[t] += partial[t + half]`): race on partial[" in said


BORROWED = """def matmul_flops(m, n, p):
    from gpulearn.kernels.matmul import matmul_flops as theirs
    return theirs(m, n, p)
"""
MEASURED = """import cProfile
def matmul_flops(m, n, p):
    with cProfile.Profile():
        return 2 * m * n * p
"""


@pytest.fixture
def profiled():
    """A profiler that was there before the check, and is there after it."""
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()
    assert any("diagnose" in str(entry.code) for entry in profile.getstats())


def test_who_calls_the_solution_is_seen():
    said = diagnose(find("matmul_flops"), typed(BORROWED, "matmul_flops"))
    assert "it calls the library's matmul_flops: write it yourself" in said
    assert diagnose(find("matmul_flops"), typed(MEASURED, "matmul_flops")) is None


def test_what_shares_a_decorator_with_the_solution_may_be_called():
    """`blocks_for` looks at its arguments as `pipeline_copies` does, by the same wrapper."""
    imports = (
        "from gpulearn import cuda\nfrom gpulearn.kernels.indexing import blocks_for\n"
        "from gpulearn_lessons.between_kernels.populations import after_seasons\nBLOCK = 128\n"
    )
    answer = typed(imports + str(solution("pipeline_copies")), "pipeline_copies")
    assert diagnose(find("pipeline_copies"), answer) is None


@pytest.mark.usefixtures("profiled")
def test_an_answer_is_right_where_somebody_measures_the_check():
    right = "def matmul_flops(m, n, p):\n    return 2 * m * n * p\n"
    assert diagnose(find("matmul_flops"), typed(right, "matmul_flops")) is None
