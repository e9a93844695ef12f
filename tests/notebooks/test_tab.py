"""The notebooks of the edition in a browser tab, without what a tab does not have."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.notebooks import tab
from tests.notebooks.harness import NOTEBOOKS, faults
from tests.notebooks.kernel import Limits
from tests.notebooks.page import read
from tools.links import repository
from tools.site.browser_tab import for_a_tab, in_the_edition

PATHS = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if in_the_edition(path.stem)]
TOLD = "SimtWarning: Numba is not installed here"
NO_KERNELS = ("10_gradient_descent",)


@pytest.mark.notebook
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_runs_in_both_forms(path) -> None:
    notebook = for_a_tab(read(path), path.stem, repository())
    for cell in notebook.cells:
        cell.source = "\n".join(ln for ln in cell.source.splitlines() if not ln.startswith("%pip"))
    found = faults(notebook, path.name, "both", execute=tab.run)
    told = [fault for fault in found if TOLD in fault]
    assert len(told) == (path.stem not in NO_KERNELS)
    assert found == told, "\n" + "\n".join(found)


MISSED = {
    "import numba": "ModuleNotFoundError: No module named 'numba'",
    "from torch import nn": "ModuleNotFoundError: No module named 'torch'",
    "import resource": "ModuleNotFoundError: No module named 'resource'",
    "import threading; threading.Thread(target=bool).start()": "RuntimeError: can't start new",
    "from concurrent.futures import ThreadPoolExecutor as t; t().submit(bool)": "RuntimeError: can",
    "import os; os.fork()": "OSError: ",
    "import subprocess; subprocess.run(['true'])": "OSError: ",
    "import multiprocessing as m; m.Process(target=bool).start()": "OSError: ",
    "import warnings; warnings.warn('once')": "UserWarning: once",
}


def test_what_a_tab_does_not_have_is_missed_and_all_else_kept() -> None:
    sources = [*MISSED, "print('printed')\ndisplay('shown')\n6 * 7"]
    ran = tab.run(new_notebook(cells=[*map(new_code_cell, sources)]), NOTEBOOKS, Limits())
    for report, says in zip(ran.reports, MISSED.values(), strict=True):
        assert says in report.text
    assert ran.notebook.cells[-1].outputs[0].text == "printed\n"
    assert [data["text/plain"] for _, data in ran.shown if data] == ["'shown'", "42"]
    assert not ran.ended
