"""`python -m gpulearn.parallel.watch.worker train.py …`: a rank's process, watched.

The script runs as `__main__`, with its own arguments and its own folder first on the path, as if
Python had been given it.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import multiprocessing

from gpulearn.parallel.watch.folder import FOLDER
from gpulearn.parallel.watch.watch import start, watched


def main() -> None:
    """Watch this process and what it spawns, and run the script that the arguments name."""
    spawn: Callable[..., Any] = multiprocessing.spawn  # type: ignore[attr-defined]

    def watched_spawn(fn: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        # these form a group of their own, whose store the launcher does not keep
        os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
        return spawn(functools.partial(watched, fn), *args, **keywords)

    multiprocessing.spawn = watched_spawn  # type: ignore[attr-defined]
    start(os.environ[FOLDER])
    is_module = sys.argv[1] == "-m"
    del sys.argv[: 2 if is_module else 1]
    if is_module:
        sys.path[0] = str(Path.cwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
