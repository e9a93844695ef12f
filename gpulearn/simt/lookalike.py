"""`numba.cuda`'s names without a GPU: what `from gpulearn import cuda` gives there."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpulearn.simt.arguments import In, InOut, Out
from gpulearn.simt.devicearray import (
    DeviceNDArray,
    MappedNDArray,
    device_copy,
    device_empty,
    host_array,
)
from gpulearn.simt.dispatch import jit
from gpulearn.simt.names import Namespace, intrinsics

SIMT = True  # this is the machine, not a GPU


def _install() -> None:
    """Puts every intrinsic under its name, such as `cuda.shared.array`."""
    for path, found in intrinsics().items():
        group, _, name = path.rpartition(".")
        if not group:
            globals()[name] = found
            continue
        space = globals().setdefault(group, Namespace(group))
        setattr(space, name, found)


_install()


# --- arrays


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceNDArray:
    """A copy of a host array (or number) on the device."""
    if isinstance(obj, DeviceNDArray):
        return obj
    found = host_array(obj)
    array = np.asarray(obj) if found is None else found
    if array.dtype.kind not in "biufcV":
        raise TypeError(f"an array of {array.dtype} cannot go to the device")
    if to is not None:
        to.copy_to_device(array)
        return to  # type: ignore[no-any-return]
    return device_copy(array)


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """An array on the device that nobody has written."""
    return device_empty(shape, dtype, order)


def _order(ary: Any) -> str:
    fortran = ary.flags["F_CONTIGUOUS"] and not ary.flags["C_CONTIGUOUS"]
    return "F" if fortran else "C"


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An unwritten device array with the shape and dtype of another."""
    plain = ary if isinstance(ary, DeviceNDArray) else host_array(ary)
    assert plain is not None
    return device_empty(plain.shape, plain.dtype, _order(plain))


def pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray[Any, Any]:
    """A host array in memory that copies are fast from."""
    return np.empty(shape, np.dtype(dtype), order=order)  # type: ignore[call-overload,no-any-return]


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """A pinned array with the shape and dtype of another."""
    return pinned_array(ary.shape, ary.dtype, order=_order(ary))


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """A host array that kernels reach without a copy."""
    return np.zeros(shape, np.dtype(dtype), order=order).view(MappedNDArray)  # type: ignore[call-overload,no-any-return]


def mapped_array_like(
    ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """A mapped array with the shape and dtype of another."""
    return mapped_array(ary.shape, ary.dtype, order=_order(ary))


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> MappedNDArray:
    """An array that host and kernels both reach."""
    return mapped_array(shape, dtype, strides, order)


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """The device array itself."""
    if isinstance(obj, DeviceNDArray):
        return obj
    raise TypeError(f"{type(obj).__name__} is not an array on the device")


def is_cuda_array(obj: Any) -> bool:
    """Whether something is an array on the device."""
    return isinstance(obj, DeviceNDArray)


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Pins host arrays while a block runs."""
    yield


@contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """Maps host arrays into device memory while a block runs."""
    made = [to_device(a) for a in arylist]
    yield made[0] if len(made) == 1 else made
    for host, device in zip(arylist, made, strict=True):
        device.copy_to_host(host)


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Nothing to defer here."""
    yield


# --- streams and events


class Stream:
    """An order of work. The machine finishes each launch before it returns."""

    def synchronize(self) -> None:
        """Waits for the stream: nothing is ever pending."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Synchronises at the end of a block."""
        yield self

    def add_callback(self, callback: Any, arg: Any = None) -> None:
        """Calls `callback(stream, status, arg)` once earlier work is done: at once."""
        callback(self, 0, arg)

    def __bool__(self) -> bool:
        return True


class Event:
    """A point in a stream. Its times are those of this computer, not of a GPU."""

    def __init__(self) -> None:
        self._time: float | None = None

    def record(self, stream: Any = 0) -> None:
        """Notes the time."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Whether the event has happened."""
        return True

    def synchronize(self) -> None:
        """Waits for the event."""

    def wait(self, stream: Any = 0) -> None:
        """Makes a stream wait for the event."""

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds between two events."""
        return event_elapsed_time(self, evtend)


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream that is used when none is named."""
    return Stream()


legacy_default_stream = per_thread_default_stream = default_stream


def external_stream(ptr: int) -> Stream:
    """A stream of another library."""
    return Stream()


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event()


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two recorded events."""
    if evtstart._time is None or evtend._time is None:
        raise ValueError("both events must have been recorded")
    return (evtend._time - evtstart._time) * 1000


def synchronize() -> None:
    """Waits for all work: nothing is ever pending."""


# --- the device


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


# --- functions that are kernels inside


def _later(name: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        from gpulearn.simt import ufuncs

        return getattr(ufuncs, name)(*args, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"See `gpulearn.simt.ufuncs.{name}`."
    return make


vectorize, guvectorize = _later("vectorize"), _later("guvectorize")
reduce = Reduce = _later("Reduce")


class _Random:
    """`cuda.random`: one xoroshiro128+ generator per thread, as Numba has it."""

    @staticmethod
    def create_xoroshiro128p_states(
        n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
    ) -> DeviceNDArray:
        """`n` generator states on the device, 2**64 steps apart."""
        from numba.cuda import random

        states = np.empty(n, random.xoroshiro128p_dtype)
        random.init_xoroshiro128p_states_cpu(states, seed, subsequence_start)
        return device_copy(states)

    def __getattr__(self, name: str) -> Any:
        from numba.cuda import random

        return getattr(random, name)


random = _Random()


def __getattr__(name: str) -> Any:
    if name == "libdevice":  # its functions are stubs, the same with and without a GPU
        return importlib.import_module("numba.cuda.libdevice")
    raise AttributeError(f"cuda.{name} is not part of the SIMT machine")


__all__ = [
    "DeviceNDArray",
    "In",
    "InOut",
    "MappedNDArray",
    "Out",
    "jit",
    *[name for name in globals() if not name.startswith("_")],
]
