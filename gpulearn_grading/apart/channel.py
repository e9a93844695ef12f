"""Messages between a judge and a student's process: lengths first, then text, nothing else."""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import Any

LARGEST = 64 << 20  # bytes of one message
HEAD = struct.Struct("!I")


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
        if len(text) > LARGEST:
            text = json.dumps({"large": len(text)}).encode()
        try:
            with self._lock:
                self.end.sendall(HEAD.pack(len(text)) + text)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> dict[str, Any]:
        """Wait for the next message."""
        (length,) = HEAD.unpack(self._exactly(HEAD.size))
        if length > LARGEST:
            raise ChannelClosed(f"a message of {length} bytes")
        try:
            message = json.loads(self._exactly(length))
        except (ValueError, RecursionError):
            raise ChannelClosed("what came is no message") from None
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
