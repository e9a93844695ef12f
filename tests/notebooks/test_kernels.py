"""Kernels and sizes that a notebook imports are those that tests/gpulearn/kernels tests."""

from __future__ import annotations

import ast

import pytest

from gpulearn.judge.cells import has
from gpulearn.judge.stubs import notebook_source
from gpulearn.kernels import blocks, copies, transpose, transpose_steps, transpose_tiled
from gpulearn_lessons.coalescing import columns, points
from gpulearn_lessons.shared_memory import convolution, stencil
from tests.notebooks.harness import NOTEBOOKS
from tests.notebooks.page import read
from tools.gpu.cases import lesson_kernels, warp_kernels

# notebook → the modules that hold its kernels, and how many it defines
TAKEN = {
    "04_memory_coalescing": (
        (copies, warp_kernels, columns, points, transpose, lesson_kernels),
        13,
    ),
    "05_shared_memory_and_barriers": (
        (blocks, convolution, stencil, transpose_steps, transpose_tiled, lesson_kernels),
        10,
    ),
}


def statements(notebook: str) -> list[ast.stmt]:
    return [
        node
        for cell in read(NOTEBOOKS / f"{notebook}.ipynb").cells
        if cell.cell_type == "code" and not has(cell, "exercise") and not has(cell, "setup")
        for node in ast.parse(cell.source).body
    ]


def known(notebook: str) -> dict[str, object]:
    modules, _ = TAKEN[notebook]
    return {name: thing for module in modules for name, thing in vars(module).items()}


@pytest.mark.parametrize("notebook", TAKEN)
def test_the_kernels_are_the_same(notebook):
    defined = [
        node
        for node in statements(notebook)
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    assert len(defined) == TAKEN[notebook][1]
    for kernel in defined:
        wanted = ast.parse(notebook_source(known(notebook)[kernel.name]))
        assert ast.unparse(kernel) == ast.unparse(wanted), kernel.name


def test_the_sizes_are_the_same():
    sizes = {}
    wanted = known("05_shared_memory_and_barriers")
    for node in statements("05_shared_memory_and_barriers"):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                exec(ast.unparse(node), sizes)
                assert sizes[name] == wanted[name], name
    assert {
        "TILE",
        "PADDED",
        "BLOCK",
        "CELLS",
        "RADIUS",
        "WINDOW",
        "REACH",
        "SIDE",
        "TIMES",
    } <= set(sizes)
