"""A device that works while the host goes on: a GPU, or a queue in front of this CPU.

A launch on a GPU returns before the work is done; `synchronize` waits for it. Without a
GPU the same contract is kept by a thread that works through a queue, in order, with
torch on the CPU: its times are this CPU's, its manners are a GPU's.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import require
from simt.device import selection
from simt.errors import BadInput


class CudaAccelerator:
    """A GPU by way of torch."""

    def __init__(self) -> None:
        self._torch = require.package("torch", "gl.accelerator")
        self.name = self._device()

    def put(self, array: np.ndarray) -> Any:
        """Copy an array to the device and wait for it."""
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
            raise BadInput(f"put was given {require.shown(array)}: give a NumPy array of numbers.")
        return self._copied(self._torch.from_numpy(array))

    def matmul(self, a: Any, b: Any) -> Any:
        """Launch a·b and return at once; the result is there after `synchronize`.

        What cannot be multiplied is refused at the launch, as by a GPU's libraries.
        """
        _check_placed("a", a)
        _check_placed("b", b)
        if a.shape[1] != b.shape[0] or a.dtype != b.dtype:
            raise BadInput(
                f"a is {tuple(a.shape)} of {a.dtype} and b {tuple(b.shape)} of {b.dtype}: the "
                f"inner sizes and the dtypes must agree."
            )
        return self._launched(a, b)

    def get(self, array: Any) -> np.ndarray:
        """Wait for a result and copy it to the host."""
        _check_placed("array", array)
        return np.asarray(self._fetched(array))

    def synchronize(self) -> None:
        """Wait until all that was launched is done; an error of a launch is raised here."""
        self._torch.cuda.synchronize()

    def _device(self) -> str:
        return str(self._torch.cuda.get_device_name())

    def _copied(self, tensor: Any) -> Any:
        placed = tensor.cuda()
        self.synchronize()
        return placed

    def _launched(self, a: Any, b: Any) -> Any:
        return a @ b

    def _fetched(self, tensor: Any) -> Any:
        return tensor.cpu()


class QueueAccelerator(CudaAccelerator):
    """A thread that multiplies with torch on the CPU, in the order of the launches."""

    def __init__(self) -> None:
        super().__init__()
        self._launches: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._fault: Exception | None = None
        self._worker = threading.Thread(target=self._work, daemon=True, name="gpulearn-queue")
        self._worker.start()
        atexit.register(self.close)

    def _work(self) -> None:
        while (launch := self._launches.get()) is not None:
            try:
                launch()
            except Exception as error:  # kept for synchronize, as a GPU's driver does
                self._fault = self._fault or error

    def synchronize(self) -> None:
        """Wait for the queue to run empty."""
        done = threading.Event()
        self._launches.put(done.set)
        done.wait()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def close(self) -> None:
        """End the thread after what is queued."""
        self._launches.put(None)
        self._worker.join()

    def _device(self) -> str:
        return f"a launch queue in front of {selection.cpu_name()}"

    def _copied(self, tensor: Any) -> Any:
        return tensor.clone()  # the host's own array may change meanwhile

    def _launched(self, a: Any, b: Any) -> Any:
        result = self._torch.empty((a.shape[0], b.shape[-1]), dtype=a.dtype)
        self._launches.put(lambda: self._torch.matmul(a, b, out=result))
        return result

    def _fetched(self, tensor: Any) -> Any:
        self.synchronize()
        return tensor.clone()


def _check_placed(name: str, x: Any) -> None:
    if not hasattr(x, "cpu") or x.ndim != 2:
        raise BadInput(f"{name} is {require.shown(x)}: give a matrix that put has placed.")


def accelerator() -> CudaAccelerator:
    """The GPU where there is one, else the queue that behaves like one."""
    require.package("torch", "gl.accelerator")
    return CudaAccelerator() if selection.torch_gpu() else QueueAccelerator()
