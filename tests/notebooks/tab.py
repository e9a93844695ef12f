"""Runs a notebook as a browser tab would: in one Python without Numba, torch, threads, processes.

A kernel of JupyterLab's needs threads itself, so IPython's shell runs the cells here, as it does
in Pyodide's kernel.
"""

import copy
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from tests.notebooks.kernel import PROGRESS, Limits, Run, environment, reported

ROOT = Path(__file__).parents[2]
# executes a notebook in place; without the addresses that tests/conftest.py leaves out, too
SHELL = """import sys
sys.modules["rfc3987_syntax"] = None
from tests.notebooks import tab
tab.main(sys.argv[1])
"""


def run(notebook: NotebookNode, folder: Path, limits: Limits, progress: str = "") -> Run:
    """As `kernel.run`: execute a copy of a notebook; errors are reported, none is raised."""
    with tempfile.TemporaryDirectory(prefix="tab-") as name:
        scratch = Path(name)
        path = scratch / "notebook.ipynb"
        nbformat.write(copy.deepcopy(notebook), path)
        (scratch / PROGRESS).write_text(progress, encoding="utf-8")
        env = environment(scratch)
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], str(ROOT)])
        done = subprocess.run(
            [sys.executable, "-c", SHELL, str(path)],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=limits.notebook,
            check=False,
        )
        ran = Run(nbformat.read(path, as_version=4), last_cell=len(notebook.cells))
        if done.returncode:
            ran.ended = f"the shell died ({''.join(done.stderr.strip().splitlines()[-1:])})"
            ran.last_cell = 0
    for index, cell in enumerate(ran.notebook.cells):
        for output in cell.get("outputs", ()):
            ran.reports += reported(output, index)
            ran.shown.append((index, output.get("data", {})))
    return ran


def execute(notebook: NotebookNode) -> None:
    """Run the cells of a notebook in this process, and keep what they print and show."""
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    HistoryManager.enabled = False  # it has a thread that writes
    shell = InteractiveShell.instance()
    errors: list[NotebookNode] = []

    def show_error(kind: Any, error: Any, traceback: list[str]) -> None:
        errors.append(
            new_output("error", ename=kind.__name__, evalue=str(error), traceback=traceback)
        )

    shell._showtraceback = show_error
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        with capture_output() as said:
            shell.display_trap.hook = sys.displayhook  # which keeps what a cell gives, too
            shell.run_cell(cell.source, store_history=True)
        printed = {"stdout": said.stdout, "stderr": said.stderr}
        cell.outputs = [
            *(new_output("stream", name=to, text=text) for to, text in printed.items() if text),
            *(new_output("display_data", data=one.data) for one in said.outputs),
            *errors,
        ]
        errors.clear()


def main(path: str) -> None:
    """Execute a notebook in place, as in a tab."""
    from tests.simt.browser_tab import refuse

    refuse()
    given = nbformat.read(path, as_version=4)
    execute(given)
    nbformat.write(given, path)
