"""`python -m gpulearn.parallel.watch.worker train.py …`: a rank's process, watched.

The script runs as `__main__`, with its own arguments and its own folder first on the path, as if
Python had been given it.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from typing import Any

import torch.multiprocessing

from gpulearn.parallel.watch.folder import FOLDER
from gpulearn.parallel.watch.watch import Watched, start


def main() -> None:
    """Watch this process and what it spawns, and run the script that the arguments name."""
    spawn = torch.multiprocessing.spawn

    def watched_spawn(fn: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        return spawn(Watched(fn), *args, **keywords)

    torch.multiprocessing.spawn = watched_spawn  # type: ignore[assignment]
    start(os.environ[FOLDER])
    is_module = sys.argv[1] == "-m"
    del sys.argv[: 2 if is_module else 1]
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
