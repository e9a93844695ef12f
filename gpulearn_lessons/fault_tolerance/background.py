"""Checkpoints written beside training: a step waits for the copy, a thread for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from gpulearn.errors import BadInput
from gpulearn.require import shown
from gpulearn.train.checkpointing import save_checkpoint


def snapshot(state: Any, into: Any = None) -> Any:
    """A copy of a state in the host's memory, which later steps cannot change.

    An older copy that is needed no more can be given as `into`: its memory is used again where
    it fits. To get new memory from the system takes longer than to copy.

    >>> import torch
    >>> weights = torch.ones(2)
    >>> copied = snapshot({"weights": weights, "step": 3})
    >>> weights += 1
    >>> copied
    {'weights': tensor([1., 1.]), 'step': 3}
    """
    if isinstance(state, Tensor):
        fits = isinstance(into, Tensor) and (into.shape, into.dtype) == (state.shape, state.dtype)
        return into.copy_(state.detach()) if fits else state.detach().to("cpu", copy=True)
    if isinstance(state, dict):
        old = into if isinstance(into, dict) else {}
        return {name: snapshot(value, old.get(name)) for name, value in state.items()}
    if isinstance(state, list | tuple):
        fits = isinstance(into, list | tuple) and len(into) == len(state)
        older = into if fits else [None] * len(state)
        copies = [snapshot(value, other) for value, other in zip(state, older, strict=True)]
        return copies if isinstance(state, list) else tuple(copies)
    return state


class AsyncCheckpointer:
    """Writes a run's checkpoints in a thread, so that a step waits only until they are copied.

    `save` copies the state to the host's memory and returns; the thread writes it whole or not at
    all, and the checkpoint before stays until then. A save waits for the one before it, so there
    is never more than one copy. What goes wrong in the thread (`CheckpointError`) is raised by the
    next call. A process that ends has to close it first: `with AsyncCheckpointer(path) as saver`.

    Args:
        path: the file; of a sharded training the folder of all checkpoints.
        write: what writes a state to the path; of a sharded training what `parts_writer` gives.

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
        self._copied: dict[str, Any] | None = None

    def save(self, state: dict[str, Any]) -> None:
        """Copy the state and let the thread write it, once the save before is done."""
        if self._closed:
            raise BadInput(f"{shown(self.path.name)} is closed: save before `close`.")
        self.wait()
        self._copied = snapshot(state, into=self._copied)
        self._thread = threading.Thread(target=self._run, args=(self._copied,), daemon=True)
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
        """Wait for the last save, and take no more."""
        self._closed = True
        self.wait()

    def __enter__(self) -> AsyncCheckpointer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, state: dict[str, Any]) -> None:
        try:
            self._write(self.path, state)
        except BaseException as error:  # whatever it is, training has to hear of it
            self._error = error
