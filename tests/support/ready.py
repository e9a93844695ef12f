"""A Python that has imported torch, Numba and matplotlib: copies of one process that has.

To import them takes seconds, and the tests start hundreds of kernels, ranks and programs. Here
one process, the server, imports them once and is copied for each; nothing of gpulearn is loaded
there. Run as a program this file stands in for Python: it asks the server for a copy that does
what the command line says, passes signals on, and ends as the copy does, or takes it with it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from pathlib import Path
from typing import Any

__all__ = ["ready_python"]

IMPORTED = (
    "ipykernel.kernelapp", "ipywidgets", "matplotlib.pyplot", "numba.cuda", "torch",
    "torch._dynamo",  # the first optimizer of a process imports it
    "torch.distributed.run",
)  # fmt: skip
# what libraries read when they are imported: as ipykernel sets it for every kernel
FIXED = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
PATIENCE = 120.0  # seconds for the server's imports
STREAMS = (0, 1, 2)


def ready_python() -> str:
    """A program that does what Python does, sooner; Python itself where it cannot be copied."""
    if not hasattr(os, "pidfd_open"):  # Linux has it
        return sys.executable
    return _server()


@functools.cache
def _server() -> str:
    """The program that asks the server of this process, which ends with it."""
    from simt.device.selection import cores  # what is started in Python's place has none

    # a Unix socket's path holds about 100 characters
    folder = tempfile.TemporaryDirectory(prefix="ready-")
    address = Path(folder.name) / "s"
    program = address.with_name("python")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {__file__} {address} "$@"\n')
    program.chmod(0o755)
    # each worker has its share of the cores: threads beyond it wait for each other. What is kept
    # to be shown is measured on all, as a learner measures
    kept = os.environ.get("GPULEARN_EXECUTED")
    workers = 1 if kept else int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = max(1, cores() // workers)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(share))
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", address],
        env={**threads, **os.environ, **FIXED},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what libraries warn of when they are imported
        start_new_session=True,
    )
    _kept.append((folder, process))
    return str(program)


_kept: list[Any] = []  # until this process ends


# --- the server


def serve(address: str) -> None:
    """Imports, becomes a program for each that asks, and tells how it ended."""
    del sys.path[0]  # this file's folder, which is no program's
    gc.disable()
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # nothing of it is garbage: to look for some takes each copy a second at its end
    gc.enable()
    running: dict[int, tuple[int, socket.socket]] = {}
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        while True:
            ready = select.select([door, sys.stdin, *running], [], [])[0]
            # standard input ends with the process that started the server
            if sys.stdin in ready:
                return
            for ended in running.keys() & set(ready):
                os.close(ended)
                pid, asked = running.pop(ended)
                with asked, contextlib.suppress(OSError):  # whoever asked may be gone
                    asked.sendall(f"{os.waitpid(pid, 0)[1]}\n".encode())
            if door in ready:
                asked, _ = door.accept()
                pid = os.fork()
                if pid == 0:
                    door.close()
                    for number, (_, other) in running.items():
                        os.close(number)
                        other.close()
                    become(asked)
                running[os.pidfd_open(pid)] = pid, asked


def become(asked: socket.socket) -> None:
    """In the copy: what the request says."""
    os.setsid()
    text, streams, *_ = socket.recv_fds(asked, 1 << 20, len(STREAMS))
    while not text.endswith(b"\n"):
        text += asked.recv(1 << 20)
    request = json.loads(text)
    for given, own in zip(streams, STREAMS, strict=True):
        os.dup2(given, own)
        os.close(given)
    os.environ.clear()
    os.environ.update(request["environment"])
    if "JPY_PARENT_PID" in os.environ:  # a kernel ends when it has another parent
        os.environ["JPY_PARENT_PID"] = str(os.getppid())
    os.chdir(request["folder"])
    sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    if threads := os.environ.get("OMP_NUM_THREADS"):  # read once, by the server
        sys.modules["torch"].set_num_threads(int(threads))
    asked.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    run_as_python(request["arguments"])
    sys.exit()


def run_as_python(arguments: list[str]) -> None:
    """What Python does with a command line."""
    kind = ""
    while kind not in ("-c", "-m") and arguments[0].startswith("-"):
        option = arguments.pop(0)
        kind, value = option[:2], option[2:]
        if kind in ("-c", "-m", "-W", "-X"):
            value = value or arguments.pop(0)
        if kind == "-W":
            sys.warnoptions.append(value)
            warnings._processoptions([value])  # type: ignore[attr-defined]
        elif kind == "-u":
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if kind == "-m":
        sys.argv = ["-m", *arguments]
        sys.path.insert(0, str(Path.cwd()))
        runpy._run_module_as_main(value)  # type: ignore[attr-defined]
    elif kind == "-c":
        sys.argv = ["-c", *arguments]
        sys.path.insert(0, "")
        exec(compile(value, "<string>", "exec", dont_inherit=True), vars(main))
    else:
        file = Path(arguments[0])
        sys.argv, main.__file__ = arguments, str(file)
        sys.path.insert(0, str(file.resolve().parent))
        exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), vars(main))


def _end_with(asked: socket.socket) -> None:
    asked.recv(1)
    os.killpg(0, signal.SIGKILL)


# --- what is started in Python's place


def ask(address: str, arguments: list[str]) -> None:
    """Has a copy made, stays while it does, and ends as it does."""
    copy = 0
    early: list[int] = []

    def pass_on(number: int, _: Any) -> None:
        if copy:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(copy, number)
        else:
            early.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    request = {
        "arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd()),
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as server, server.makefile() as told:
        _connect(server, address)
        text = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(server, [text], STREAMS)
        server.sendall(text[sent:])
        copy = int(told.readline())
        for number in early:
            pass_on(number, None)
        status = os.waitstatus_to_exitcode(int(told.readline()))
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL has nothing else
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


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
