"""Checkpoints written in the background: a step waits for the copy, a thread for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.checkpointing import save_checkpoint


def snapshot(state: Any) -> Any:
    """A copy of a state in host memory, which later steps cannot change.

    >>> import torch
    >>> weights = torch.ones(2)
    >>> copied = snapshot({"weights": weights, "step": 3})
    >>> weights += 1
    >>> copied
    {'weights': tensor([1., 1.]), 'step': 3}
    """
    if isinstance(state, Tensor):
        return state.detach().to("cpu", copy=True)
    if isinstance(state, dict):
        return {name: snapshot(value) for name, value in state.items()}
    if isinstance(state, list | tuple):
        copies = [snapshot(value) for value in state]
        return copies if isinstance(state, list) else tuple(copies)
    return state


class AsyncCheckpointer:
    """Writes checkpoints in a thread, so that a training step waits only for the copy.

    `save` copies the state to host memory and returns. The thread writes all of it or nothing,
    and the previous checkpoint stays until then. A save waits for the one before it, so there is
    never more than one copy. An error in the thread (`CheckpointError`) is raised by the next
    call. Close it before the process ends: `with AsyncCheckpointer(path) as saver`.

    Args:
        path: the file.
        write: the function that writes a state to the path.

    >>> import tempfile
    >>> import torch
    >>> from gpulearn.train.checkpointing import load_checkpoint
    >>> file = Path(tempfile.mkdtemp()) / "run.pt"
    >>> weights = torch.zeros(3)
    >>> with AsyncCheckpointer(file) as saver:
    ...     saver.save({"weights": weights})
    ...     weights += 1
    >>> load_checkpoint(file)["weights"]
    tensor([0., 0., 0.])
    """

    def __init__(
        self, path: str | Path, write: Callable[[Path, dict[str, Any]], None] = save_checkpoint
    ) -> None:
        self.path = Path(path)
        self._write = write
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._closed = False

    def save(self, state: dict[str, Any]) -> None:
        """Copy the state and start writing it, once the previous save is done."""
        if self._closed:
            raise BadInput(f"{shown(self.path.name)} is closed: save before `close`.")
        self.wait()
        self._thread = threading.Thread(target=self._run, args=(snapshot(state),), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the last save is on the disk."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if (error := self._error) is not None:
            self._error = None
            raise error

    def close(self) -> None:
        """Wait for the last save, and accept no more."""
        self._closed = True
        self.wait()

    def __enter__(self) -> AsyncCheckpointer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, state: dict[str, Any]) -> None:
        try:
            self._write(self.path, state)
        except BaseException as error:  # of any kind: the training has to see it
            self._error = error
