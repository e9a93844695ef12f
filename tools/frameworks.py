"""Keeps what functions of A and 22 return in TensorFlow and JAX, which travels with the package.

`python -m tools.frameworks`, where the extra `frameworks` is installed, runs notebook A and what
22 asks of TensorFlow, and records each call anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import nbformat.v4
from nbclient import NotebookClient

from gpulearn_lessons.broken_tutorials.mirrored_strategy import observe
from gpulearn_lessons.frameworks.availability import missing
from gpulearn_lessons.frameworks.processes import run
from gpulearn_lessons.frameworks.recordings import FILE, NOTE

__all__ = ["main"]

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "A_frameworks.ipynb"


def main() -> None:
    """Run the notebook, and put what was recorded into the place of the old recordings."""
    if absent := missing():
        raise SystemExit(f"Nothing was recorded: {absent}")
    notebook = nbformat.v4.reads(NOTEBOOK.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "recorded.json"
        client = NotebookClient(notebook, timeout=600, kernel_name="python3")
        os.environ[NOTE] = str(new)
        client.execute(cwd=str(NOTEBOOK.parent), env={**os.environ})
        run("tensorflow", observe)
        recordings = json.loads(new.read_text(encoding="utf-8"))
    FILE.write_text(json.dumps(recordings, indent=1) + "\n", encoding="utf-8")
    print(f"{len(recordings['calls'])} calls, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
