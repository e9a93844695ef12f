"""Kernels and sizes that a notebook writes out are those that tests/gpulearn/kernels tests."""

import ast

import pytest

from gpulearn.judge.stubs import notebook_source
from gpulearn.kernels import blocks, transpose
from gpulearn_lessons.shared_memory import convolution, stencil
from tests.gpulearn.kernels import lesson_kernels
from tests.gpulearn.kernels.lesson_kernels import COALESCING, SHARED_MEMORY, defined_in
from tools.record.launches import specifications

# those that the package does not have are tested as they stand in the notebook
LESSONS = {s.name for s in vars(lesson_kernels).values() if hasattr(s, "reference")}


@pytest.mark.parametrize(
    ("notebook", "count"), [("04_memory_coalescing", 13), ("05_shared_memory_and_barriers", 9)]
)
def test_the_kernels_are_the_same(notebook, count):
    defined = defined_in(notebook)
    assert len(defined) == count
    for name, kernel in defined.items():
        if name in specifications() and name not in LESSONS:
            wanted = ast.parse(notebook_source(specifications()[name].kernel))
            assert ast.unparse(kernel) == ast.unparse(wanted), name
        else:
            assert name in LESSONS, name


def test_the_sizes_are_the_same():
    sizes = {n: v for names in (COALESCING, SHARED_MEMORY) for n, v in names.items() if n.isupper()}
    wanted = "TILE PADDED BLOCK CELLS RADIUS WINDOW REACH SIDE TIMES"
    assert set(wanted.split()) <= set(sizes)
    for module in (blocks, convolution, stencil, transpose):
        for name in sizes.keys() & vars(module).keys():
            assert sizes[name] == vars(module)[name], name
