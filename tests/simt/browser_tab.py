"""What a browser tab does not give Python, taken away from this process too.

Pyodide, the Python of a browser tab, has neither Numba nor torch, starts no thread and no
process, and lacks some modules of POSIX's. `refuse()` makes an ordinary Python behave like it.
Source: Pyodide, "Pyodide Python compatibility".
"""

import _thread
import os
import signal
import subprocess
import sys
import threading
from typing import Any, NoReturn

ABSENT = (
    "numba", "numba_cuda", "llvmlite", "torch", "torchgen", "psutil",
    "resource", "fcntl", "grp", "pwd", "termios", "_multiprocessing",
)  # fmt: skip


class _Without:
    """A finder of modules that does not find those that are absent."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        absent = name.partition(".")[0] in ABSENT
        return None if absent else self._finder.find_spec(name, path, target)


def _no_thread(*args: Any, **named: Any) -> NoReturn:
    raise RuntimeError("can't start new thread")


def _no_process(*args: Any, **named: Any) -> NoReturn:
    raise OSError("emscripten does not support processes.")


def refuse() -> None:
    """From here on imports of what is absent, threads and processes fail as they do in a tab."""
    for name in ABSENT:
        sys.modules.pop(name, None)
    sys.meta_path[:] = [_Without(finder) for finder in sys.meta_path]  # type: ignore[misc]
    threading.Thread.start = _no_thread  # type: ignore[method-assign]
    _thread.start_new_thread = _no_thread  # type: ignore[assignment]
    subprocess.Popen.__init__ = _no_process  # type: ignore[method-assign]
    os.fork = os.system = _no_process
    for place, name in (
        (os, "posix_spawn"), (os, "sched_getaffinity"),
        (signal, "pthread_kill"), (threading, "get_native_id"),
    ):  # fmt: skip
        if hasattr(place, name):
            delattr(place, name)
