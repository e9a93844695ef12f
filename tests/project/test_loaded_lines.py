"""How many lines of the project's own Python a learner's first calls load."""

import subprocess
import sys

import pytest

COUNT = """
import sys
from pathlib import Path
ours = [module for name, module in sys.modules.items() if name.startswith(("gpulearn", "simt"))]
print(sum(Path(module.__file__).read_text("utf-8").count("\\n") for module in ours))
"""

RIGHT = "def matmul_flops(m, n, p): return 2 * m * n * p\n"
WRONG = (
    RIGHT.replace("2", "3") + "import gpulearn as gl\ntry: gl.check('matmul_flops', matmul_flops)"
)
CALLS = {  # code → lines at most
    "import gpulearn": 200,
    "import gpulearn as gl; gl.predict('random_order', 'What changes?')": 4000,
    RIGHT + "import gpulearn as gl; gl.check('matmul_flops', matmul_flops)": 5000,
    WRONG + "\nexcept gl.errors.WrongAnswer: pass": 5000,
}


@pytest.mark.parametrize(("code", "most"), CALLS.items())
def test_a_call_loads_few_lines(code, most):
    run = subprocess.run(
        [sys.executable, "-c", code + COUNT], capture_output=True, text=True, check=True
    )
    assert 0 < int(run.stdout) <= most
