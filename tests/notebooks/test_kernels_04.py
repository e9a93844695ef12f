"""The kernels that notebook 04 defines are those of the package, tested in tests/kernels."""

from __future__ import annotations

import ast

from gpulearn.kernels import columns, copies, points, transpose, warps
from gpulearn.lessons.overview import notebook_source
from tests.notebooks.harness import NOTEBOOKS, has
from tests.notebooks.page import read

MODULES = (copies, warps, columns, points, transpose)


def test_notebook_and_package_hold_the_same_kernels():
    known = {name: vars(module)[name] for module in MODULES for name in module.__all__}
    defined = {}
    for cell in read(NOTEBOOKS / "04_memory_coalescing.ipynb").cells:
        if cell.cell_type == "code" and not has(cell, "exercise") and not has(cell, "setup"):
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef) and node.decorator_list:
                    defined[node.name] = ast.unparse(node)
    assert len(defined) == 11
    for name, source in defined.items():
        assert source == ast.unparse(ast.parse(notebook_source(known[name]))), name
