"""Notebook 09 in JupyterLab: C++ is typed into a cell, refused, found to race, and right."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("_nvrtc")]

CELLS = ("09_cuda_cpp", 'gl.predict("int_overflow"', "transpose_cpp = ", 'gl.check("transpose_cpp"')
COLORED = """kind => [...CSS.highlights.get("gl-" + kind)].map(range =>
    range.startContainer.data.slice(range.startOffset, range.endOffset))"""

# one statement a line and no open bracket, so that the editor leaves the lines as they are
HEAD = [
    'transpose_cpp = r"""',
    "__global__ void transpose(const float* image, float* out, int height, int width)",
    "{ __shared__ float tile[32][33]; int x = threadIdx.x, y = threadIdx.y;",
    "int c = blockIdx.x * 32, r = blockIdx.y * 32;",
    "if (r + y < height && c + x < width) tile[y][x] = image[(r + y) * width + c + x];",
]
TAIL = ["if (c + y < width && r + x < height) out[(c + y) * height + r + x] = tile[x][y]; }"]


def test_a_learner_writes_cuda_cpp(notebook):
    notebook.has_only_unsolved()

    def said(*lines):
        return notebook.answer("transpose_cpp = ", [*HEAD, *lines, '"""'])

    refused = said("__syncthreads()", *TAIL)
    assert 'WrongAnswer: transpose_cpp: line 7: expected a ";" if (c + y < width' in refused
    assert refused.endswith("^")
    racing = said(*TAIL)
    assert "race on tile[1][0] in shared memory: thread (0, 1) of block (0, 0) writes it" in racing
    assert "each thread reads what another thread has loaded." in racing
    assert said("__syncthreads();", *TAIL).startswith("✓ transpose_cpp is right in all 5 cases")


def test_cpp_in_a_string_has_colors_and_line_numbers(notebook):
    lines = [*HEAD, "// the barrier", *TAIL, '"""']
    cell = notebook.cell("transpose_cpp = ")
    notebook.type_into(cell, lines)
    expect(cell).to_have_class(re.compile("gl-kernel"))  # so its lines are numbered
    expect(notebook.cell('gl.check("transpose_cpp"')).not_to_have_class(re.compile("gl-kernel"))
    colored = {kind: notebook.page.evaluate(COLORED, kind) for kind in ("comment", "word", "own")}
    assert colored["comment"] == ["// the barrier"]
    assert colored["word"][:5] == ["void", "const", "float", "float", "int"]
    assert set(colored["own"]) == {"__global__", "__shared__", "threadIdx", "blockIdx"}
    numbers = notebook.page.evaluate(COLORED, "number")
    assert numbers[:2] == ["32", "33"]
    notebook.screenshot("09-colors")
