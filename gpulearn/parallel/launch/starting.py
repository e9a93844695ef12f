"""How a rank's process comes into being: copied from a server that has torch loaded, or afresh."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from typing import Any

__all__ = ["context", "surroundings"]

# _dynamo: the first optimizer of a process imports it, which takes a second and 120 MB
PRELOADED = [
    "torch",
    "torch.distributed",
    "torch._dynamo",
    "cloudpickle",
    "gpulearn.parallel.launch.rank",
]
# a socket's path may have 103 bytes, and the server's has 32 behind the folder
MOST_BYTES = 71
# two threads that launch at once would each take the other's stand-in for the main module
_one_at_a_time = threading.Lock()
_launcher = os.getpid()


def context() -> Any:
    """The way in which `multiprocessing` starts ranks.

    A copy of this process ("fork") would inherit locks of threads that it does not have: torch
    hangs in it after any OpenMP work. A server that has loaded torch and done nothing is copied
    in a few milliseconds. Where there is none, each rank loads torch itself ("spawn").

    Windows has no server either, but its pipes cannot be waited for as here, and it has no
    signals: nothing of this was tried there, so `launch` refuses and names WSL.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    _forget_anothers_server()
    multiprocessing.set_forkserver_preload(PRELOADED)
    return multiprocessing.get_context("forkserver")


def _forget_anothers_server() -> None:
    """In a copy of the process that launched before: the server is that one's child, not ours."""
    global _launcher
    if os.getpid() == _launcher:
        return
    from multiprocessing import forkserver

    _launcher = os.getpid()
    known: Any = forkserver._forkserver
    if getattr(known, "_forkserver_alive_fd", None) is not None:
        os.close(known._forkserver_alive_fd)  # or that server would outlive its own process
    known.__init__()


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """What must hold while a process is started.

    The notebook's main module is hidden, since a rank would import it, which takes time and runs
    it; and the server's socket lies in a folder with a short name.
    """
    with _one_at_a_time:
        main, folder = sys.modules["__main__"], tempfile.tempdir
        sys.modules["__main__"] = types.ModuleType("__main__")
        if len(os.fsencode(tempfile.gettempdir())) > MOST_BYTES:
            usable = [f for f in ("/tmp", "/var/tmp") if os.access(f, os.W_OK | os.X_OK)]
            tempfile.tempdir = usable[0] if usable else folder
        try:
            yield
        finally:
            sys.modules["__main__"], tempfile.tempdir = main, folder
