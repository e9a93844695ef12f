"""Device arrays: memory that only kernels and explicit copies reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from gpulearn.simt.core.memory import Allocation, View

__all__ = [
    "NUMBERS",
    "DeviceNDArray",
    "MappedNDArray",
    "device_copy",
    "device_empty",
    "host_array",
]

Array = np.ndarray[Any, Any]
NUMBERS = "biufcMm"  # the kinds of dtypes that a kernel computes with


def _bytes_of(array: Array) -> Array:
    """The memory of a contiguous array as flat bytes, without a copy."""
    flat = array if array.flags.c_contiguous else array.T
    return flat.reshape(-1).view(np.uint8)


class DeviceNDArray:
    """An array in device memory, as `numba.cuda` has it."""

    def __init__(self, array: Array, allocation: Allocation) -> None:
        self._array = array
        self._allocation = allocation
        self._seen: View | None = None  # the last view that a kernel got

    # --- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per dimension."""
        return self._array.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self._array.nbytes

    @property
    def flags(self) -> Any:
        """NumPy's flags: contiguity above all."""
        return self._array.flags

    def is_c_contiguous(self) -> bool:
        """Whether rows lie one after the other."""
        return bool(self._array.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether columns lie one after the other."""
        return bool(self._array.flags.f_contiguous)

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        return f"<DeviceNDArray {self.dtype} {self.shape}>"

    # --- copies

    def copy_to_host(self, ary: Array | None = None, stream: Any = 0) -> Array:
        """A NumPy copy, in `ary` if one is given."""
        if ary is None:
            return self._array.copy(order="K")
        if ary.shape != self.shape or ary.dtype != self.dtype:
            raise BadInput(
                f"copy_to_host needs an array of {self.dtype} {self.shape}, "
                f"got {ary.dtype} {ary.shape}"
            )
        ary[...] = self._array
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrites this array with another, from the host or the device."""
        source = ary._array if isinstance(ary, DeviceNDArray) else np.asarray(ary)
        if source.shape != self.shape:
            raise BadInput(f"copy_to_device: shape {source.shape} into shape {self.shape}")
        self._array[...] = source

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    # --- views

    def _share(self, array: Array) -> DeviceNDArray:
        return DeviceNDArray(array, self._allocation)

    def __getitem__(self, index: Any) -> Any:
        part = self._array[index]
        if isinstance(part, np.ndarray):
            if not np.shares_memory(part, self._array) and part.size:
                raise NotImplementedError("device arrays take integers and slices as indices")
            return self._share(part)
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        source = value._array if isinstance(value, DeviceNDArray) else value
        self._array[index] = source

    getitem = __getitem__
    setitem = __setitem__

    def reshape(self, *shape: Any, order: str = "C") -> DeviceNDArray:
        """The same elements in another shape; never copies."""
        made = self._array.reshape(*shape, order=order)  # type: ignore[call-overload]
        if made.size and not np.shares_memory(made, self._array):
            raise NotImplementedError("reshape of a non-contiguous device array needs a copy")
        return self._share(made)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """All elements in one dimension; never copies."""
        return self.reshape(-1, order=order)

    def spread(self, shape: tuple[int, ...]) -> DeviceNDArray:
        """The array broadcast to a shape: an axis that is repeated has stride 0."""
        return self._share(np.broadcast_to(self._array, shape))

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """The array with its axes reversed, or in the order given."""
        return self._share(self._array.transpose(axes))

    @property
    def T(self) -> DeviceNDArray:  # noqa: N802 - NumPy's name
        """The array with its axes reversed."""
        return self._share(self._array.T)

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as another type."""
        return self._share(self._array.view(dtype))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """The array without its dimensions of length 1."""
        return self._share(self._array.squeeze(axis))

    def split(self, section: int, stream: Any = 0) -> list[DeviceNDArray]:
        """Pieces of `section` elements along the first dimension."""
        return [self[i : i + section] for i in range(0, len(self), section)]

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The array itself: streams run at once here."""
        return self

    # --- for kernels

    def as_view(self, name: str) -> View:
        """The view through which a kernel sees the array."""
        if self._seen is None or self._seen.name != name:
            base = self._allocation.data.__array_interface__["data"][0]
            offset = self._array.__array_interface__["data"][0] - base if self.size else 0
            self._seen = View(self._allocation, self.dtype, self.shape, self.strides, offset, name)
        return self._seen


class MappedNDArray(np.ndarray[Any, Any]):
    """A host array that kernels reach without a copy."""


def device_copy(array: Array) -> DeviceNDArray:
    """A device array with a copy of a host array, contiguous as `to_device` makes it."""
    copy = array.copy(order="K") if _dense(array) else np.array(array, order="C", copy=True)
    copy = np.asarray(copy)
    return DeviceNDArray(copy, Allocation("global", _bytes_of(copy)))


def _dense(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def device_empty(shape: Any, dtype: Any, order: str = "C") -> DeviceNDArray:
    """A device array that nobody has written: NaN, or a bit pattern that stands out."""
    array = np.empty(shape, np.dtype(dtype), order=order)  # type: ignore[call-overload]
    if array.dtype.kind in "fc":
        array.fill(np.nan)
    else:
        _bytes_of(array).fill(0xA5)
    return DeviceNDArray(array, Allocation("global", _bytes_of(array)))


def host_array(thing: Any) -> Array | None:
    """The NumPy array behind an argument from the host: an array or a torch CPU tensor."""
    if isinstance(thing, np.ndarray):
        return thing
    if type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "detach"):
        if thing.requires_grad:
            raise BadInput("a tensor that requires grad cannot go to a kernel: pass x.detach()")
        if thing.device.type != "cpu":
            raise BadInput(f"a tensor on {thing.device} cannot go to the SIMT machine")
        made: Array = thing.numpy()
        return made
    return None
