"""Kernels and sizes that notebook 05 defines are those of the package, tested in tests/kernels."""

from __future__ import annotations

import ast

from gpulearn.kernels import blocks, convolution, stencil, transpose_steps, transpose_tiled
from gpulearn.lessons.overview import notebook_source
from tests.notebooks.harness import NOTEBOOKS, has
from tests.notebooks.page import read

KNOWN = {
    name: vars(module)[name]
    for module in (blocks, convolution, stencil, transpose_steps, transpose_tiled)
    for name in module.__all__
}
STATEMENTS = [
    node
    for cell in read(NOTEBOOKS / "05_shared_memory_and_barriers.ipynb").cells
    if cell.cell_type == "code" and not has(cell, "exercise") and not has(cell, "setup")
    for node in ast.parse(cell.source).body
]


def test_the_kernels_are_the_same():
    kernels = [n for n in STATEMENTS if isinstance(n, ast.FunctionDef) and n.decorator_list]
    assert len(kernels) == 8
    for kernel in kernels:
        wanted = ast.parse(notebook_source(KNOWN[kernel.name]))
        assert ast.unparse(kernel) == ast.unparse(wanted), kernel.name


def test_the_sizes_are_the_same():
    sizes = {}
    for node in STATEMENTS:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                exec(ast.unparse(node), sizes)
                assert sizes[name] == KNOWN[name], name
    assert {"TILE", "PADDED", "BLOCK", "CELLS", "RADIUS", "WINDOW", "REACH", "SIDE"} <= set(sizes)
