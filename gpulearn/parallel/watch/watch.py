"""One rank's side: what its training does is written down, for `report` to compare over ranks.

Torch's public hooks see forwards, optimizer steps and what becomes part of a module. Where torch
has no hook (collectives that a script calls itself, backward, clipping, samplers, loaders,
`torch.save`), the public function is replaced by one that notes the call and passes it on.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import socket
import sys
import sysconfig
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from gpulearn.parallel.watch.collectives import Collectives
from gpulearn.parallel.watch.files import Files
from gpulearn.parallel.watch.folder import FOLDER
from gpulearn.parallel.watch.forwards import Forwards
from gpulearn.parallel.watch.samples import Samples
from gpulearn.parallel.watch.steps import Steps

_PACKAGES = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_NOT_THE_USERS = (
    *_PACKAGES,
    str(Path(torch.__file__).parent),
    str(Path(__file__).parents[2]),
    "<",
)
PATIENCE = timedelta(seconds=20)  # with machines that end later


class Watch:
    """Notes of this process, in a file of its own."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / f"{socket.gethostname()}-{os.getpid()}.json"
        # steps completed and steps begun, in a mapped file: right also if this process is killed
        self.counter = np.memmap(self._file.with_suffix(".steps"), np.int64, "w+", shape=2)
        self._rank, self._size = int(os.environ.get("RANK", "0")), 1
        self._record = ""
        self.collectives = Collectives(self)
        self.forwards = Forwards(self)
        self.steps = Steps(self)
        self.samples = Samples(self)
        self.files = Files(self)

    @property
    def step(self) -> int:
        """How many optimizer steps this process has completed."""
        return self.steps.count

    def is_sampled(self) -> bool:
        """Whether the coming step is looked at closely: the first four, then ever more rarely."""
        return self.step < 4 or self.step & (self.step - 1) == 0

    def line(self) -> str:
        """The user's line that is running, as `/home/ann/train.py:31`."""
        frame: FrameType | None = sys._getframe(1)
        while frame and frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""

    def replace(self, owner: Any, name: str, before: Callable[..., None]) -> None:
        """Let a public function call `before` with its arguments first."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def noted(*args: Any, **keywords: Any) -> Any:
            before(*args, **keywords)
            return original(*args, **keywords)

        setattr(owner, name, noted)

    def write(self) -> None:
        """Write the record; called when there is something new, since a rank may be killed."""
        if dist.is_available() and dist.is_initialized():
            self._rank, self._size = dist.get_rank(), dist.get_world_size()
        if self._size == 1:
            return  # a launcher's own process, or a script that never joined the others
        steps, begun = map(int, self.counter)
        record = {
            "rank": self._rank,
            "size": self._size,
            "host": socket.gethostname(),
            "parent": _parent(),
            "steps": steps,
            "begun": begun,
            **self.steps.record(),
            **self.forwards.record(),
            **self.collectives.record(),
            **self.samples.record(),
            **self.files.record(),
        }
        self._record = json.dumps(record)
        aside = self._file.with_suffix(".tmp")
        aside.write_text(self._record)
        aside.replace(self._file)

    def end(self) -> None:
        """Note how the replicas ended, and write the record for the last time."""
        self.steps.look_at_the_end()
        self.write()
        local = int(os.environ.get("LOCAL_WORLD_SIZE", self._size))
        if local < self._size:  # torchrun on several machines
            with contextlib.suppress(RuntimeError):  # the others may be gone
                self._bring_together(local)

    def _bring_together(self, local: int) -> None:
        """Bring the records of other machines to the one of rank 0, by the launcher's store."""
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = dist.TCPStore(host, port, timeout=PATIENCE)  # type: ignore[attr-defined]
        store.set(f"gpulearn {self._rank}", self._record)
        for rank in range(local, self._size if self._rank == 0 else 0):
            record = json.loads(store.get(f"gpulearn {rank}")) | {"parent": _parent()}
            self._file.with_name(f"rank {rank}.json").write_text(json.dumps(record))


def _parent() -> str:
    """The process that started this one: ranks of one training share it."""
    return f"{socket.gethostname()} {os.getppid()}"


@functools.cache
def start(folder: str) -> Watch:
    """Watch this process from now on."""
    watch = Watch(folder)
    atexit.register(watch.end)
    return watch


def watched(fn: Callable[..., Any], *args: Any) -> Any:
    """Watch this process, one that `torch.multiprocessing.spawn` has made, while it runs `fn`."""
    watch = start(os.environ[FOLDER])
    try:
        return fn(*args)
    finally:
        watch.end()  # such a process leaves without calling what `atexit` holds
