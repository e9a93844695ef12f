"""The server from which ranks are copied, and what must hold while a process is started."""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpulearn.parallel.launch import rank

PRELOADED = ["gpulearn.parallel.launch.preloaded"]  # what the server imports for all ranks
# a socket's path may have 103 bytes; behind this folder come the server's, 18 more, one launch's,
# 18, and the name of a socket in it, up to 12
MAX_BYTES = 55
# two threads that launch at once would each take the other's stand-in for the main module
_one_at_a_time = threading.Lock()
_folder: str | None = None  # the server's


def context() -> Any:
    """The way in which `multiprocessing` starts ranks.

    A copy of this process ("fork") would inherit locks of threads that it does not have: torch
    hangs in it after any OpenMP work. A server that has loaded torch and done nothing is copied
    in a few milliseconds. Windows has none, and nothing of this was tried there: `launch` refuses.
    """
    multiprocessing.set_forkserver_preload(PRELOADED)
    return multiprocessing.get_context("forkserver")


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """What must hold while a process is started.

    The notebook's main module is hidden, since a rank would import it, which takes time and runs
    it; and the server's socket lies in a folder with a short name.
    """
    with _one_at_a_time:
        main, folder = sys.modules["__main__"], tempfile.tempdir
        sys.modules["__main__"] = types.ModuleType("__main__")
        if len(os.fsencode(tempfile.gettempdir())) > MAX_BYTES:
            usable = [f for f in ("/tmp", "/var/tmp") if os.access(f, os.W_OK | os.X_OK)]
            tempfile.tempdir = usable[0] if usable else folder
        try:
            yield
        finally:
            sys.modules["__main__"], tempfile.tempdir = main, folder


@contextlib.contextmanager
def meeting_place() -> Iterator[Path]:
    """A folder for the files of one launch; what is left in it goes when the server goes.

    The server is started here if there is none. It outlives an interrupt, and a launcher that is
    killed: then it takes its own folder away, with all that lies in it.
    """
    context()
    with tempfile.TemporaryDirectory(prefix="gpulearn-", dir=start_server()) as inner:
        yield Path(inner)


def start_server() -> str:
    """See that the server runs; the folder in which its socket lies.

    An interrupt while it loads torch would end it, so it is born with interrupts blocked.
    """
    global _folder
    from multiprocessing import forkserver, process, resource_tracker

    known: Any = forkserver._forkserver
    here: Any = process.current_process()
    with surroundings():
        if known._forkserver_pid is None or _folder is None or not Path(_folder).is_dir():
            ipython = sys.modules.get("IPython")
            if ipython and ipython.get_ipython():  # a first launch takes long
                print("Starting: loading PyTorch again, once for all ranks.")
            _folder = tempfile.mkdtemp(prefix="gpulearn-")
        before = here._config.get("tempdir")
        resource_tracker.ensure_running()  # it would unblock what is blocked here
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ[rank.FOLDER] = here._config["tempdir"] = _folder
        try:
            forkserver.ensure_running()
        finally:
            os.environ.pop(rank.FOLDER, None)
            here._config["tempdir"] = before
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return _folder


def processes() -> list[int]:
    """The numbers of the server and of the ranks that it has now; of those, the system knows."""
    from multiprocessing import forkserver

    known: Any = forkserver._forkserver
    if known._forkserver_pid is None:
        return []
    server = known._forkserver_pid
    try:
        ranks = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    except OSError:  # no Linux, or it has ended
        ranks = []
    return [server, *map(int, ranks)]
