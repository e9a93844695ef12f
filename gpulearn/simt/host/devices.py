"""The machine as a device: its limits, under the names that Numba uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from gpulearn.simt.host.streams import synchronize

__all__ = [
    "close", "current_context", "detect", "get_current_device", "gpus", "is_available",
    "list_devices", "profile_start", "profile_stop", "profiling", "select_device",
]  # fmt: skip


class Device:
    """The limits of the machine, under the names that Numba uses."""

    id = 0
    name = b"SIMT machine"
    compute_capability = (8, 0)
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X = MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = (1 << 31) - 1
    MAX_GRID_DIM_Y = MAX_GRID_DIM_Z = 65_535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024
    MULTIPROCESSOR_COUNT = 1
    supports_float16 = True

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *reason: object) -> None:
        return None

    def synchronize(self) -> None:
        """Waits for all work."""

    def reset(self) -> None:
        """Nothing is kept that could be reset."""


class _Gpus:
    """`cuda.gpus`: one device, the machine."""

    lst = (Device(),)
    current = lst[0]

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Device:
        return self.lst[index]

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)


gpus = _Gpus()


def get_current_device() -> Device:
    """The machine."""
    return gpus[0]


def select_device(device_id: int) -> Device:
    """The machine, which is device 0."""
    return gpus[device_id]


def list_devices() -> _Gpus:
    """The machine alone."""
    return gpus


def current_context(devnum: int | None = None) -> Any:
    """The context: it knows how much memory there is (1 GB is what launches may take)."""
    info = SimpleNamespace(free=1 << 30, total=1 << 30)
    return SimpleNamespace(get_memory_info=lambda: info, synchronize=synchronize)


def is_available() -> bool:
    """Whether there is a GPU: no, this is the machine."""
    return False


def detect() -> bool:
    """Says which devices there are."""
    print("No GPU is used: kernels run on the SIMT machine")
    return False


def close() -> None:
    """Nothing is open."""


def profile_start() -> None:
    """Profilers of GPUs see nothing here; use `gl.xray`."""


profile_stop = profile_start


@contextmanager
def profiling() -> Iterator[None]:
    """Profilers of GPUs see nothing here; use `gl.xray`."""
    yield
