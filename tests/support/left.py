"""What a block of a test leaves behind: processes, descriptors, threads and files."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import psutil

from gpulearn.parallel.launch.forkserver import start_server
from gpulearn.parallel.launch.launch import launch

from .processes import SECONDS, alive, gone

__all__ = ["nothing_left"]

SHARED = Path("/dev/shm")
CHILD_SUBREAPER = 36  # of <linux/prctl.h>


@contextlib.contextmanager
def nothing_left(temporary: Path) -> Iterator[None]:
    """Fail unless all that a block begins has ended with it.

    The server from which ranks are copied stays; it is started here, before anything is counted.

    Args:
        temporary: an empty folder, in which the block's temporary files are made.
    """
    launch(int, 1)  # a server that has just begun still opens files
    folder = Path(start_server())
    running, threads, files = processes(), set(threading.enumerate()), open_files()
    memory, served, of_server = shared(), set(folder.rglob("*")), files_of_server()
    with patch.object(tempfile, "tempdir", str(temporary)), adopting():
        yield
    left = {
        "processes": [pid for pid in processes() - running if not gone(pid)],
        "threads": set(threading.enumerate()) - threads,
        "files that are open": max(0, open_files() - files),
        "temporary files": {*temporary.rglob("*")},
        "the server's files": set(folder.rglob("*")) - served,
    }
    end = time.monotonic() + SECONDS  # for the server, and for what other programs share meanwhile
    while shared() - memory or files_of_server() > of_server:
        if time.monotonic() > end:
            left["shared memory"] = shared() - memory
            left["files that are open in the server"] = files_of_server() - of_server
            break
        time.sleep(0.05)
    found = {what: one for what, one in left.items() if one}
    assert not found, f"left behind: {found}"


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Be the parent of whatever a rank leaves running when it ends, on Linux."""
    prctl = ctypes.CDLL(None).prctl
    prctl(CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(CHILD_SUBREAPER, 0)


def processes() -> set[int]:
    """All that this process has started, and those that they have."""
    found = psutil.Process().children(recursive=True)
    return {one.pid for one in found if alive(one.pid)}


def open_files() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def files_of_server() -> int:
    """How many files the server of ranks has open."""
    count = 0
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it ends just now
            if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                count += child.num_fds()
    return count


def shared() -> set[str]:
    """The files of shared memory that are this user's and in no running process's memory."""
    mine = set()
    for one in SHARED.iterdir():
        with contextlib.suppress(FileNotFoundError):  # it is another program's, and gone
            mine |= {one.name} if one.stat().st_uid == os.getuid() else set()
    for maps in Path("/proc").glob("[0-9]*/maps") if mine else ():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            used = maps.read_text()
            mine = {name for name in mine if f"{SHARED / name}" not in used}
    return mine
