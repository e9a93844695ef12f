"""The edition in a browser tab: JupyterLite with the notebooks that need no Numba and no torch."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from gpulearn.judge.cells import has
from tests.notebooks.harness import NOTEBOOKS
from tools.links import ROOT, badge

__all__ = ["EDITION", "FOLDER", "build", "for_a_tab", "in_the_edition", "link", "page"]

HERE = Path(__file__).parent
FOLDER = "lite"  # of the site
EDITION = ("03", "04", "05", "07", "10", "11")
KERNEL = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
SET_UP = (
    "# Set-up: installs gpulearn in this browser tab.\n"
    "%pip install -q gpulearn matplotlib ipywidgets"
)
ABOUT = (
    "*This copy runs in your browser tab, which is experimental. What you change is kept in this "
    "browser only: download what you want to keep. Python itself is fetched from cdn.jsdelivr.net: "
    "if a red cross stands beside “Python (Pyodide)” at the top right, and no cell runs, your "
    "network keeps that away.*"
)


def in_the_edition(name: str) -> bool:
    """Whether a notebook, such as "05_shared_memory_and_barriers", is in the edition."""
    return name.partition("_")[0] in EDITION


def for_a_tab(notebook: NotebookNode, name: str, address: str) -> NotebookNode:
    """A copy of a stored notebook as a browser tab runs it; `address` is the repository's."""
    edition = copy.deepcopy(notebook)
    edition.metadata["kernelspec"] = dict(KERNEL)
    for cell in edition.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace(badge(address, name), ABOUT)
        elif has(cell, "setup"):
            cell.source = SET_UP
    return edition


def link(name: str, title: str, up: str = "") -> str:
    """The link that opens a notebook in a tab, from a page that is `up` away from the front."""
    return f'<a href="{up}{FOLDER}/lab/index.html?path={name}.ipynb">{title}</a>'


def page(questions: Mapping[str, str]) -> str:
    """The page about the edition; `questions` has each notebook's, by the notebook's name."""
    text = (HERE / "browser_tab.md").read_text(encoding="utf-8")
    rows = [
        f"| {link(name, name.partition('_')[0])} | {question} |"
        for name, question in questions.items()
        if in_the_edition(name)
    ]
    return "\n".join([text, "| | question |", "|---|---|", *rows, ""])


def build(out: Path, scratch: Path, address: str) -> None:
    """Build the edition into the folder `out`; no network is needed.

    Args:
        out: the folder for it, inside of the site.
        scratch: an empty folder to work in.
        address: of the repository.

    Raises:
        SystemExit: the wheel or JupyterLite cannot be built.
    """
    contents = scratch / "contents"
    contents.mkdir()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if in_the_edition(path.stem):
            edition = for_a_tab(nbformat.read(path, as_version=4), path.stem, address)
            nbformat.write(edition, contents / path.name)
    called(ROOT, "hatchling", "build", "--target", "wheel", "--directory", str(scratch))
    (wheel,) = scratch.glob("*.whl")
    called(
        scratch, "jupyterlite_core", "build", "--no-sourcemaps", "--no-unused-shared-packages",
        "--apps", "lab", "--lite-dir", str(scratch), "--contents", str(contents),
        "--piplite-wheels", str(wheel), "--output-dir", str(out.resolve()),
    )  # fmt: skip


def called(folder: Path, module: str, *arguments: str) -> None:
    """Run a tool of the site's in a folder, and show what it says only if it fails."""
    command = (sys.executable, "-m", module, *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{module} failed:\n{done.stdout}{done.stderr}")
