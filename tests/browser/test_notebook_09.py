"""Notebook 09 in JupyterLab: C++ is typed into a cell, refused, found to race, and right."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("_nvrtc")]

CELLS = ("09_cuda_cpp", "transpose_cpp = ", 'gl.check("transpose_cpp"')

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
