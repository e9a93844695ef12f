"""Keeps what A and 22 find in TensorFlow and JAX and B in Triton, which travels with the package.

`python -m tools.frameworks`, where the extra `frameworks` is installed, runs notebooks A and B
and what 22 asks of TensorFlow, and records each call anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import nbformat.v4
from nbclient import NotebookClient

from gpulearn_lessons.broken_tutorials.mirrored_strategy import observe
from gpulearn_lessons.frameworks.availability import FRAMEWORKS, missing
from gpulearn_lessons.frameworks.processes import run
from gpulearn_lessons.frameworks.recordings import FILE, NOTE

__all__ = ["main"]

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def main() -> None:
    """Run the notebooks, and put what was recorded into the place of the old recordings."""
    if absent := missing([*FRAMEWORKS]):
        raise SystemExit(f"Nothing was recorded: {absent}")
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "recorded.json"
        os.environ[NOTE] = str(new)
        for path in (NOTEBOOKS / "A_frameworks.ipynb", NOTEBOOKS / "B_tiles.ipynb"):
            notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
            client = NotebookClient(notebook, timeout=600, kernel_name="python3")
            client.execute(cwd=str(NOTEBOOKS), env={**os.environ})
        run("tensorflow", observe)
        recordings = json.loads(new.read_text(encoding="utf-8"))
    FILE.write_text(json.dumps(recordings, indent=1) + "\n", encoding="utf-8")
    print(f"{len(recordings['calls'])} calls, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
