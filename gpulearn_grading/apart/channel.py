"""Messages between two processes of the grader: lengths first, then text, nothing else."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpulearn_grading.apart.limits import Confinement
from simt.device.selection import ENVIRONMENT_VARIABLE

MAX_BYTES = 64 << 20  # bytes of one message
HEAD = struct.Struct("!I")
# of the environment: what else stands in it, such as a token, is the instructor's
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CXX")


class ChannelClosed(Exception):  # noqa: N818 - it says what happened
    """The other side is gone, or sent what is no message."""


class MessageChannel:
    """One end of a pair of sockets; a message is a dictionary of JSON's kinds."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        text = json.dumps(message).encode()
        if len(text) > MAX_BYTES:
            text = json.dumps({"large": len(text)}).encode()
        try:
            with self._lock:
                self.end.sendall(HEAD.pack(len(text)) + text)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> dict[str, Any]:
        """Wait for the next message."""
        (length,) = HEAD.unpack(self._exactly(HEAD.size))
        if length > MAX_BYTES:
            raise ChannelClosed(f"a message of {length} bytes")
        message = None
        with suppress(ValueError, RecursionError):
            message = json.loads(self._exactly(length))
        if not isinstance(message, dict):
            raise ChannelClosed("what came is no message")
        return message

    def _exactly(self, length: int) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            try:
                part = self.end.recv(min(1 << 20, length - len(parts)))
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            if not part:
                raise ChannelClosed("the process has ended")
            parts += part
        return bytes(parts)


def start(
    module: str, confinement: Confinement, **options: Any
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process that runs a module, given its end of a channel and the confinement; our end.

    Args:
        module: of this package.
        confinement: of the answers.
        options: of `subprocess.Popen`.
    """
    ours, theirs = socket.socketpair()
    path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
    process = subprocess.Popen(
        # -P: the current folder may hold a student's numpy.py
        [sys.executable, "-P", "-m", module, str(theirs.fileno()), confinement.written()],
        pass_fds=[theirs.fileno()],
        env={
            **{n: value for n, value in os.environ.items() if n in KEPT or "GPULEARN" in n},
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "passive",
            "TORCHINDUCTOR_CACHE_DIR": str(confinement.box),  # not in /tmp, where it would stay
            ENVIRONMENT_VARIABLE: "cpu",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        **options,
    )
    theirs.close()
    return process, ours
