"""The process that students' processes are copied from, with the libraries loaded once.

`python -m gpulearn_grading.apart.server FD` loads NumPy, Numba and torch, and then copies itself
for each request that comes over the channel: a copy starts in milliseconds, where loading takes
seconds. It never runs an answer itself, and has nothing open but that channel.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import signal
import sys
import warnings
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

from gpulearn.errors import KernelError, MissingPackage
from gpulearn_grading.apart import sandbox, student
from gpulearn_grading.apart.channel import ChannelClosed, MessageChannel, start
from gpulearn_grading.apart.limits import Confinement
from simt.programs.cuda.nvcc import runtime_library

# what answers use; so that a copy need not load it
PRELOADED = (
    "numpy", "numba", "torch", "torch.utils.data", "torch.distributed", "gpulearn.cuda",
    "gpulearn.kernels", "gpulearn.nn.autograd", "gpulearn.optim.optimizers", "gpulearn.perf.gpus",
    "gpulearn.parallel.collectives", "gpulearn.tables", "simt.host.xray",
)  # fmt: skip


class Server:
    """The judge's side: starts the server, and asks it for processes."""

    def __init__(self, confinement: Confinement) -> None:
        self._process, self._channel = start(__spec__.name, confinement, cwd=confinement.box)
        self._channel.receive()  # it is ready

    def start(self, *, closed: bool) -> tuple[MessageChannel, int, int, str]:
        """A fresh process: its channel, where it prints, its number, and which walls it lacks.

        To a closed one the folders with exercises and checks look empty too.
        """
        ours, theirs = Pipe()
        read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(write, True)
        with suppress(OSError, AttributeError):  # so that much is seen at each look
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
        self._channel.send({"closed": closed})
        for file in (theirs.fileno(), write):
            send_handle(self._channel.end, file, self._process.pid)
        theirs.close()
        os.close(write)
        reply = self._channel.receive()
        if "failed" in reply:
            os.close(read)
            ours.close()
            raise RuntimeError(reply["failed"])
        return MessageChannel(ours), read, int(reply["pid"]), reply["lacks"]

    def close(self) -> None:
        """End the server, and what it has started."""
        self._channel.end.close()
        self._process.terminate()
        self._process.wait()


def main(channel: MessageChannel) -> None:
    """Serve until the judge is gone."""
    sandbox.bury_with(os.getppid())
    confinement: Confinement = channel.end.recv()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to deal with
    with suppress(MissingPackage, KernelError):  # whole CUDA programs are linked with it
        confinement = confinement._replace(seen=(runtime_library(),))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the copies
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PRELOADED:
            with suppress(ModuleNotFoundError, MissingPackage):
                importlib.import_module(name)
    student.prepare()
    gc.freeze()  # a copy need not look for garbage in all this
    channel.send({})
    with suppress(ChannelClosed, EOFError):
        while True:
            hidden = confinement.hidden + sandbox.sockets()
            if channel.receive()["closed"]:
                hidden += student.catalogue_files()
            files = [recv_handle(channel.end) for _ in range(2)]
            channel.send(_copy(files, confinement._replace(hidden=hidden)))
            for file in files:
                os.close(file)


def _copy(files: list[int], confinement: Confinement) -> dict[str, Any]:
    """Start a process behind walls; what it and its warden said until the walls stood."""
    read, write = os.pipe()
    server = os.getpid()
    if os.fork() == 0:
        try:
            os.close(read)
            sandbox.bury_with(server)
            _behind_walls(files, write, confinement)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        return _understood(answers.read().decode(errors="replace"))


def _understood(text: str) -> dict[str, Any]:
    """What a new process and its warden said, in whichever order they came to say it."""
    said = dict(line.partition(" ")[::2] for line in text.splitlines())
    if {"pid", "lacks", "ready"} <= said.keys():
        return said
    return {"failed": said.get("failed", "it ended before it was ready")}


def _behind_walls(files: list[int], pipe: int, confinement: Confinement) -> None:
    lacks = sandbox.in_namespaces()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    inmate = os.getpid() if lacks else os.fork()
    if inmate:
        _say(pipe, f"pid {inmate}\nlacks {lacks}")
    if inmate and not lacks:  # the warden; the pipe ends once its own copy does
        for file in (pipe, *files):
            os.close(file)
        with suppress(OSError):
            os.waitpid(inmate, 0)
        os._exit(0)
    os.setsid()  # to signal its own group would reach the judge's otherwise
    if lacks:
        confinement.box.mkdir(exist_ok=True)
    elif sys.platform == "linux":
        sandbox.libc.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        channel, output, pipe = (os.dup2(file, 200 + n) for n, file in enumerate([*files, pipe]))
        for fd in (0, 1, 2):
            os.dup2(output, fd)
        os.closerange(3, 200)
        os.closerange(203, 4096)
        sandbox.confine(confinement, walls=not lacks)
        _say(pipe, "ready")
        os.close(pipe)
        os.close(output)
    except BaseException as error:
        _say(pipe, f"failed {type(error).__name__}: {error}".replace("\n", " "))
        os._exit(1)
    student.serve(MessageChannel(Connection(channel)))
    os._exit(0)


def _say(pipe: int, text: str) -> None:
    os.write(pipe, f"{text}\n".encode())


if __name__ == "__main__":
    main(MessageChannel(Connection(int(sys.argv[1]))))
