"""`from gpulearn import cuda`, its command, and what the course can do in a browser's tab."""

import json
import linecache
import subprocess
import sys

import numpy as np

from gpulearn.__main__ import main

KERNEL = """
from gpulearn import cuda

@cuda.jit
def count(out):
    out[0] += {}
"""


def test_an_edited_cell_that_imports_cuda_defines_a_new_kernel():
    out = np.zeros(1)
    for value in (1, 2):
        file, scope, text = f"<cell {value}>", {}, KERNEL.format(value)
        linecache.cache[file] = (1, None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), scope)
        scope["count"][1, 1](out)
    assert out.tolist() == [3]


def test_the_command_of_the_machine_is_also_one_of_ours(tmp_path, monkeypatch, capsys):
    program = tmp_path / "program.py"
    monkeypatch.setattr(sys, "argv", ["gpulearn", "run", str(program)])
    program.write_text(
        f"import numpy as np\n{KERNEL.format('cuda.threadIdx.x')}\ncount[1, 2](np.zeros(1))\n"
    )
    assert main() == 0
    assert "program.py:7: race on out[0] in global memory" in capsys.readouterr().err


IN_A_TAB = """
import json
from tests.simt.browser_tab import refuse
refuse()
import gpulearn as gl
from gpulearn.judge.limits import time_limit
try:
    with time_limit(0.2):
        exec("while True:\\n    pass")
except TimeoutError:
    ended = True
measured = len(gl.measure(lambda: sum(range(1000)), seconds=0.01).times)
print(json.dumps([ended, measured, [row[0] for row in gl.exercises().rows]]))
"""


def test_without_numba_torch_threads_and_processes_the_rest_of_the_course_is_there():
    run = [sys.executable, "-c", IN_A_TAB]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    ended, measured, exercises = json.loads(done.stdout)
    assert ended
    assert measured >= 3
    assert {"vector_add", "tile_intensity", "adam_step"} <= set(exercises)
    assert not {"train_step", "serve_with_backup"} & set(exercises)  # torch, processes
