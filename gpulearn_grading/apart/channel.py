"""Messages between two processes of the grader: JSON of bounded length, and nothing else.

What comes from an answer, or from whoever reads answers, is only ever read as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gpulearn_grading.apart.limits import Confinement
from simt.device.selection import ENVIRONMENT_VARIABLE

MAX_BYTES = 64 << 20  # bytes of one message
# of the environment: what else stands in it, such as a token, is the instructor's
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CXX")


class ChannelClosed(Exception):  # noqa: N818 - it says what happened
    """The other side is gone, or sent what is no message."""


class MessageChannel:
    """One end of a pair; a message is a dictionary of JSON's kinds."""

    def __init__(self, end: Connection) -> None:
        self.end = end
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; in place of one that is too long, how long it was."""
        text = json.dumps(message).encode()
        if len(text) > MAX_BYTES:
            text = json.dumps({"large": len(text)}).encode()
        try:
            with self._lock:
                self.end.send_bytes(text)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> dict[str, Any]:
        """Wait for the next message."""
        try:
            message = json.loads(self.end.recv_bytes(MAX_BYTES))
        except (OSError, EOFError, ValueError, RecursionError) as error:
            raise ChannelClosed(str(error)) from None
        if not isinstance(message, dict):
            raise ChannelClosed("what came is no message")
        return message


def start(
    module: str, confinement: Confinement, **options: Any
) -> tuple[subprocess.Popen[bytes], MessageChannel]:
    """A process that runs a module of this package, and our end of its channel.

    The module's arguments are its end's number; it receives the confinement first. `options` are
    those of `subprocess.Popen`.
    """
    ours, theirs = Pipe()
    path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
    process = subprocess.Popen(
        # -P: the current folder may hold a student's numpy.py
        [sys.executable, "-P", "-m", module, str(theirs.fileno())],
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
    ours.send(confinement)
    return process, MessageChannel(ours)
