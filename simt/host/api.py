"""The API of `numba.cuda` without a GPU: what `from simt import cuda` gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from simt.core.registry import INTRINSICS, DeclaredFunction, Namespace
from simt.device import numba_cuda
from simt.host.arguments import In, InOut, Out, host_array
from simt.host.device_array import (
    NUMBERS,
    DeviceNDArray,
    MappedNDArray,
    device_copy,
    device_empty,
    from_interface,
)
from simt.host.devices import *  # noqa: F403 - its names are `cuda`'s
from simt.host.devices import current_context
from simt.host.dispatcher import jit
from simt.host.generated import on_device
from simt.host.gufuncs import guvectorize
from simt.host.reduction import Reduce
from simt.host.stand_in import counterpart
from simt.host.streams import *  # noqa: F403 - its names are `cuda`'s
from simt.host.ufuncs import vectorize
from simt.host.work.pinned import pin, pinned_empty, unpin
from simt.host.work.queue import work_queue

_NUMBER_TYPES = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
reduce = Reduce

for _path, _function in INTRINSICS.items():  # each has its name, such as `cuda.shared.array`
    _group, _, _name = _path.rpartition(".")
    if _group:
        setattr(globals().setdefault(_group, Namespace(_group)), _name, _function)
    else:
        globals()[_name] = _function

# --- arrays


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceNDArray:
    """A copy of a host array (or number) on the device.

    On a stream, one from pinned memory is not waited for.
    """
    if isinstance(obj, DeviceNDArray):
        if to is not None:
            to.copy_to_device(obj, stream)
        return obj if to is None else to
    host = host_array(obj)
    array = np.asarray(obj) if host is None else host
    if array.dtype.kind == "O":  # such as None: references, bytes that no kernel can make use of
        array = np.zeros(array.shape, f"V{array.itemsize}")
    if array.dtype.kind not in NUMBERS + "V":
        raise TypeError(f"an array of {array.dtype} cannot go to the device")
    if to is not None:
        to.copy_to_device(array, stream)
        return to  # type: ignore[no-any-return]
    return on_device(array, stream)


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """An array on the device that nobody has written."""
    return device_empty(shape, dtype, order).bind(stream)


def _order(ary: Any) -> str:
    """C or F, whichever the array is nearer to."""
    dense = ary.flags["C_CONTIGUOUS"], ary.flags["F_CONTIGUOUS"]
    ascending = list(ary.strides) == sorted(ary.strides)
    return "F" if dense == (False, True) or (not any(dense) and ascending) else "C"


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An unwritten device array with the shape and dtype of another."""
    plain = ary if isinstance(ary, DeviceNDArray) else host_array(ary)
    assert plain is not None
    return device_empty(plain.shape, plain.dtype, _order(plain)).bind(stream)


def auto_device(obj: Any, stream: Any = 0, copy: bool = True) -> tuple[DeviceNDArray, bool]:
    """An array on the device, and whether it is a new copy."""
    array = to_device(obj, stream, copy)
    return array, array is not obj


def pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray[Any, Any]:
    """A host array in pinned memory: copies from and to it are fast, and need not be waited for."""
    return pinned_empty(shape, np.dtype(dtype), order)


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """A pinned array with the shape and dtype of another."""
    return pinned_array(ary.shape, ary.dtype, order=_order(ary))


def mapped_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0,
    portable: bool = False, wc: bool = False,
) -> MappedNDArray:  # fmt: skip
    """A host array that kernels reach without a copy."""
    array = pinned_empty(shape, np.dtype(dtype), order).view(MappedNDArray)
    array.fill(0)
    array.stream = stream
    return array


def mapped_array_like(
    ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """A mapped array with the shape and dtype of another."""
    return mapped_array(ary.shape, ary.dtype, order=_order(ary))


def managed_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0,
    attach_global: bool = True,
) -> MappedNDArray:  # fmt: skip
    """An array that host and kernels both reach."""
    return mapped_array(shape, dtype, strides, order, stream)


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """The array of the machine that a CUDA Array Interface describes."""
    return from_interface(desc, sync)


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """An array on the device as a device array, without a copy."""
    if is_cuda_array(obj):
        return from_interface(obj.__cuda_array_interface__, sync)
    raise TypeError(f"{type(obj).__name__} is not an array on the device")


def is_cuda_array(obj: Any) -> bool:
    """Whether something is an array on the device."""
    return hasattr(obj, "__cuda_array_interface__")


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Pins host arrays while a block runs: copies from and to them are not waited for."""
    regions = [(array, pin(array)) for array in map(np.asarray, arylist)]
    try:
        yield
    finally:
        for array, region in regions:
            work_queue.unpin(array)
            unpin(region)


@contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """Maps host arrays into the device's addresses while a block runs."""
    arrays = [to_device(a) for a in arylist]
    yield arrays[0] if len(arrays) == 1 else arrays
    for host, device in zip(arylist, arrays, strict=True):
        device.copy_to_host(host)


defer_cleanup = current_context().defer_cleanup


def transpose(a: Any, b: DeviceNDArray | None = None) -> DeviceNDArray:
    """The transpose of a matrix, in `b` if one is given, as `numba.cuda.kernels` has it."""
    transposed = to_device(a).T
    return transposed if b is None else to_device(transposed.copy_to_host(), to=b)


def declare_device(name: str, sig: Any, link: Any = None, **options: Any) -> DeclaredFunction:
    """A function of compiled code, which kernels can call on a GPU only."""
    return DeclaredFunction(name, sig)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> DeviceNDArray:
    """`cuda.random`'s generators: `n` states of xoroshiro128+ on the device, 2**64 steps apart."""
    numba_cuda.load()
    from numba.cuda import random

    states = np.empty(n, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states_cpu(states, seed, subsequence_start)
    return device_copy(states)


def __getattr__(name: str) -> Any:
    """What the machine has no object of its own for is Numba's: types, errors, modules.

    Where there is no Numba, the number types are NumPy's.
    """
    if not name.startswith("__") and not numba_cuda.installed():
        if name in _NUMBER_TYPES:
            return getattr(np, name)
        raise AttributeError(f"cuda.{name} is not part of the SIMT machine, and Numba is not here")
    if not name.startswith("__"):
        real = numba_cuda.load()
        if hasattr(real, name):
            return counterpart(getattr(real, name))
    raise AttributeError(f"cuda.{name} is not part of the SIMT machine")


__all__ = [
    "DeviceNDArray", "In", "InOut", "MappedNDArray", "Out", "Reduce", "guvectorize", "jit",
    "vectorize", *[name for name in globals() if not name.startswith("_")],
]  # fmt: skip
