"""Kernels that have imported what every notebook imports: copies of one process that has.

A kernel takes seconds to import torch, Numba and matplotlib, and the tests start a hundred. Here
one process, the server, imports them once and is copied for each; nothing of gpulearn is loaded
there. Run as a program this file is what Jupyter starts in a kernel's place: it asks the server
for a copy, passes signals on, and ends when the kernel does, or takes the kernel with it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

__all__ = ["kernel_command"]

IMPORTED = (
    "ipykernel.kernelapp", "ipywidgets", "matplotlib.pyplot", "numba.cuda", "torch",
    "torch.distributed",
)  # fmt: skip
# what libraries read when they are imported: as ipykernel sets it for every kernel
FIXED = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
PATIENCE = 120.0  # seconds for the server's imports
STREAMS = (0, 1, 2)


def kernel_command() -> list[str]:
    """The beginning of a command that starts such a kernel, as a kernel's specification has it."""
    if not hasattr(os, "pidfd_open"):  # Linux has it
        return [sys.executable, "-m", "ipykernel_launcher"]
    return [sys.executable, "-S", "-E", __file__, _server()]


@functools.cache
def _server() -> str:
    """The address of the server of this process, which ends with it."""
    # a Unix socket's path holds about 100 characters
    folder = tempfile.TemporaryDirectory(prefix="ready-")
    address = str(Path(folder.name) / "s")
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", address],
        env={**os.environ, **FIXED},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what libraries warn of when they are imported
        start_new_session=True,
    )
    _kept.append((folder, process))
    return address


_kept: list[Any] = []  # until this process ends


# --- the server


def serve(address: str) -> None:
    """Imports, and becomes a kernel for each that asks."""
    del sys.path[0]  # this file's folder, which is no kernel's
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a copy
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        while True:
            # standard input ends with the process that started the server
            if sys.stdin in select.select([door, sys.stdin], [], [])[0]:
                return
            asked, _ = door.accept()
            if os.fork() == 0:
                door.close()
                become_kernel(asked)
            asked.close()


def become_kernel(asked: socket.socket) -> None:
    """In the copy: what the request says, then the kernel."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, *_ = socket.recv_fds(asked, 1 << 20, len(STREAMS))
    while not text.endswith(b"\n"):
        text += asked.recv(1 << 20)
    request = json.loads(text)
    for given, own in zip(streams, STREAMS, strict=True):
        os.dup2(given, own)
        os.close(given)
    os.environ.clear()
    os.environ.update(request["environment"] | {"JPY_PARENT_PID": str(os.getppid())})
    os.chdir(request["folder"])
    sys.argv = ["ipykernel_launcher", *request["arguments"]]
    sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    asked.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
    sys.exit()


def _end_with(asked: socket.socket) -> None:
    asked.recv(1)
    os.killpg(0, signal.SIGKILL)


# --- what Jupyter starts


def ask(address: str, arguments: list[str]) -> None:
    """Has a kernel made, and stays while it does."""
    kernel = 0
    early: list[int] = []

    def pass_on(number: int, _: Any) -> None:
        if kernel:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(kernel, number)
        else:
            early.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    request = {
        "arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd()),
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as server:
        _connect(server, address)
        text = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(server, [text], STREAMS)
        server.sendall(text[sent:])
        kernel = int(server.recv(32))
        for number in early:
            pass_on(number, None)
        select.select([os.pidfd_open(kernel)], [], [])


def _connect(server: socket.socket, address: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return server.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        ask(sys.argv[1], sys.argv[2:])
