"""A CUDA program as a process of its own, whose requests are answered here."""

import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import IO

from simt.programs.cuda.graphs import REQUEST
from simt.programs.cuda.runtime import Runtime

ANSWER = struct.Struct("<i4xQQQQQ")
REGION, WRITE = struct.Struct("<QQQ"), struct.Struct("<QQ")


def serve(
    program: Path, arguments: list[str], runtime: Runtime, libraries: Path, *, captured: bool
) -> int:
    """Runs a program to its end and gives its exit status, as a shell has it.

    `captured` sends what it prints to `sys.stdout` and `sys.stderr`, which in a notebook are no
    files; else it has those of this process. `libraries` is a folder of shared libraries that come
    before others.

    Raises:
        NotSupported: the program cannot be carried on; it is ended.
    """
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    pipe = subprocess.PIPE if captured else None
    environment = os.environ | {"SIMT_CHANNEL": str(theirs.fileno())}
    # before NVRTC, of which it changes some functions
    for name, first in (("LD_LIBRARY_PATH", libraries), ("LD_PRELOAD", libraries / "libcudart.so")):
        environment[name] = ":".join(filter(None, (str(first), environment.get(name))))
    process = subprocess.Popen(
        [str(program), *arguments], pass_fds=[theirs.fileno()], stdout=pipe, stderr=pipe,
        stdin=subprocess.DEVNULL if captured else None, env=environment,
    )  # fmt: skip
    theirs.close()
    runtime.process = process.pid
    try:
        with ours, selectors.DefaultSelector() as selector:
            selector.register(ours, selectors.EVENT_READ)
            for stream, out in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, out)
            while selector.get_map():
                for key, _ in selector.select():
                    source = key.fileobj
                    alive = (
                        _answer(ours, runtime) if source is ours else _forward(source, key.data)  # type: ignore[arg-type]
                    )
                    if not alive:
                        selector.unregister(source)
        status = process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    runtime.finish(status)
    if status < 0:
        print(f"the program is ended by {signal.Signals(-status).name}", file=sys.stderr)
        return 128 - status
    return status


def _forward(stream: IO[bytes], out: IO[str]) -> bool:
    content = stream.read1(65536)  # type: ignore[attr-defined]
    out.write(content.decode(errors="replace"))
    return bool(content)


def _read(channel: socket.socket, size: int) -> bytes:
    """So many bytes; fewer if the program has ended."""
    parts: list[bytes] = []
    while size and (part := channel.recv(min(size, 1 << 30), socket.MSG_WAITALL)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _answer(channel: socket.socket, runtime: Runtime) -> bool:
    """Answers one request; False if the program has ended."""
    try:
        head = _read(channel, REQUEST.size)
        if len(head) < REQUEST.size:
            return False
        name, line, *values, size = REQUEST.unpack(head)
        payload = _read(channel, size)
        if len(payload) < size:
            return False
        answer = runtime.answer(name.rstrip(b"\0").decode(), line, tuple(values), payload)
        printed, runtime.printed = runtime.printed.encode(), ""
        regions = b"".join(REGION.pack(*change) for change in runtime.held.changes())
        writes = b"".join(
            WRITE.pack(address, len(content)) + content for address, content in runtime.host_writes
        )
        runtime.host_writes.clear()
        sizes = map(len, (printed, answer.content, regions, writes))
        head = ANSWER.pack(answer.error, answer.value, *sizes)
        parts = (head + printed, answer.content, regions + writes)
        for part in parts if answer.content else (b"".join(parts),):
            channel.sendall(part)
    except ConnectionError:
        return False
    return True
