"""Device arrays: memory that only kernels and explicit copies reach."""

from __future__ import annotations

import ctypes
import math
from operator import attrgetter
from typing import Any

import numpy as np

from simt.core.memory import Allocation, View, at_address, poison
from simt.device import numba_cuda
from simt.errors import BadInput
from simt.host.streams import external_stream
from simt.host.work.copies import copy_in, copy_on_device, copy_out, unread
from simt.host.work.layout import array_interface, bytes_of, dense, same_order, span
from simt.host.work.queue import work_queue
from simt.observers.initialized import WriteMap

Array = np.ndarray[Any, Any]
NUMBERS = "biufcMm"  # the kinds of dtypes that a kernel computes with

# copies to the device do not rearrange: what Numba says where one would have to
NOT_CONTIGUOUS = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy .ascontiguousarray()"
)


def _of_array(name: str) -> Any:
    return property(attrgetter(f"_array.{name}"))


class DeviceNDArray:
    """An array in device memory, as `numba.cuda` has it: new memory if none is given."""

    __cuda_ndarray__ = True  # numba-cuda's mark
    _seen: View | None = None  # the last view that a kernel got

    def __init__(
        self, shape: Any, strides: Any, dtype: Any, stream: Any = 0, gpu_data: Any = None
    ) -> None:
        memory = gpu_data or device_empty(span(shape, strides, dtype), np.uint8).gpu_data
        self.gpu_data: Allocation = memory
        self._array: Array = np.ndarray(shape, dtype, self.gpu_data.data, 0, strides)
        self.stream = stream

    @classmethod
    def over(cls, array: Array, allocation: Allocation, stream: Any = 0) -> DeviceNDArray:
        """The device array whose elements are a NumPy array in the bytes of an allocation."""
        device_array = cls.__new__(cls)
        device_array._array, device_array.gpu_data, device_array.stream = array, allocation, stream
        allocation.know()
        return device_array

    # --- what it is, as NumPy says it

    shape: tuple[int, ...] = _of_array("shape")
    strides: tuple[int, ...] = _of_array("strides")
    dtype: np.dtype[Any] = _of_array("dtype")
    ndim: int = _of_array("ndim")
    size: int = _of_array("size")
    nbytes: int = _of_array("nbytes")
    flags: Any = _of_array("flags")

    @property
    def alloc_size(self) -> int:
        """The bytes from the first element to the last."""
        return span(self.shape, self.strides, self.dtype)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address, as functions of other libraries take it."""
        return ctypes.c_void_p(self.__cuda_array_interface__["data"][0])

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the array lies, for other libraries; theirs are the machine's addresses."""
        self.gpu_data.written = None  # what they write, nobody sees
        unread.pop(self.gpu_data.number, None)
        return array_interface(self._array, self.stream)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes the array for."""
        from numba import types
        from numba.np.numpy_support import from_dtype

        flags = self._array.flags
        broadcast = 0 in self.strides and self.size
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return types.Array(from_dtype(self.dtype), self.ndim, "A" if broadcast else layout)

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
        """A NumPy copy, in `ary` if one is given.

        On a stream and to pinned memory, the call does not wait: wait for the stream before the
        copy is read.
        """
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(
                f"D->H copy not implemented for negative strides: {self.strides}; "
                "copy the whole array, then turn the copy round"
            )
        if ary is None:
            ary = np.empty_like(self._array)
        elif ary.shape != self.shape or ary.dtype != self.dtype:
            raise BadInput(
                f"copy_to_host needs an array of {self.dtype} {self.shape}, "
                f"got {ary.dtype} {ary.shape}"
            )
        copy_out(ary, self._array, stream or self.stream, self)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrites this array with another, from the host or the device.

        From pinned memory, on a stream, the call does not wait.
        """
        source = ary._array if isinstance(ary, DeviceNDArray) else np.asarray(ary)
        arrays = [self._array, source] if isinstance(ary, DeviceNDArray) else [self._array]
        if not all(dense(array) for array in arrays):
            raise ValueError(NOT_CONTIGUOUS)
        if source.shape != self.shape:
            raise BadInput(f"copy_to_device: shape {source.shape} into shape {self.shape}")
        if isinstance(ary, DeviceNDArray) and source.size and not same_order(source, self._array):
            raise BadInput(f"incompatible strides: {self.strides} vs. {source.strides}")
        self._write(self._array, ary, stream)

    def _write(self, part: Array, value: Any, stream: Any, *, waits: bool = False) -> None:
        """Copies something into a part of this array."""
        stream = stream or self.stream
        if isinstance(value, DeviceNDArray):
            copy_on_device(part, value._array, stream, self, value, waits=waits and not stream)
        else:
            copy_in(part, value, stream, self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        if copy is False:
            raise ValueError("`copy=False` is not possible: the array lies on the device")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    # --- views

    def _share(self, array: Array) -> DeviceNDArray:
        return DeviceNDArray.over(array, self.gpu_data, self.stream)

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        """The same as `array[index] = value`."""
        self._write(self._part(index), value, stream, waits=True)

    __setitem__ = setitem

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """The same as `array[index]`."""
        part = self._part(index)
        if isinstance(self._array[index], np.ndarray):
            return self._share(part)
        element = np.empty((), self.dtype)
        copy_out(element, part, stream or self.stream, self)
        # a record is one in the array's memory
        return self._array[index] if self.dtype.kind == "V" else element[()]

    __getitem__ = getitem

    def _part(self, index: Any) -> Array:
        """The elements that an index chooses, without a copy; of one element, without an axis."""
        part = self._array[index]
        if not isinstance(part, np.ndarray):
            return self._array[(*(index if isinstance(index, tuple) else (index,)), ...)]
        if not np.shares_memory(part, self._array) and part.size:
            raise NotImplementedError("device arrays take integers and slices as indices")
        return part

    def reshape(self, *shape: Any, order: str = "C") -> DeviceNDArray:
        """The same elements in another shape; never copies."""
        view = self._array.reshape(*shape, order=order)  # type: ignore[call-overload]
        return self if view.shape == self.shape else self._without_copy(view, "reshape")

    def _without_copy(self, view: Array, what: str) -> DeviceNDArray:
        if view.size and not (dense(self._array) and np.shares_memory(view, self._array)):
            raise NotImplementedError(f"{what} of a non-contiguous device array needs a copy")
        return self._share(view)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """All elements in one dimension; never copies."""
        flat = self._array.reshape(-1, order=order)  # type: ignore[call-overload]
        return self._without_copy(flat, "ravel").bind(stream or self.stream)

    def spread(self, shape: tuple[int, ...]) -> DeviceNDArray:
        """The array broadcast to a shape: an axis that is repeated has stride 0."""
        return self._share(np.broadcast_to(self._array, shape))

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """A new array with the two axes exchanged: on the device that is a copy, as in Numba."""
        axes = tuple(reversed(range(self.ndim)) if axes is None else axes)
        if axes == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes != (1, 0):
            raise BadInput(f"invalid axes list {axes}")
        result = device_empty(self.shape[::-1], self.dtype).bind(self.stream)
        copy_on_device(result._array, self._array.T, self.stream, result, self)
        return result

    @property
    def T(self) -> DeviceNDArray:  # noqa: N802 - NumPy's name
        """A new array with the two axes exchanged."""
        return self.transpose()

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as another type."""
        return self._share(self._array.view(dtype))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """The array without its dimensions of length 1."""
        return self._share(self._array.squeeze(axis)).bind(stream or self.stream)

    def split(self, section: int, stream: Any = 0) -> list[DeviceNDArray]:
        """Pieces of `section` elements along the first dimension."""
        parts = [self[i : i + section] for i in range(0, len(self), section)]
        return [part.bind(stream or self.stream) for part in parts]

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The same array with another stream."""
        return DeviceNDArray.over(self._array, self.gpu_data, stream)

    # --- for kernels

    def as_view(self, name: str) -> View:
        """The view through which a kernel sees the array."""
        if self._seen is None or self._seen.name != name:
            base = self.gpu_data.data.__array_interface__["data"][0]
            offset = self._array.__array_interface__["data"][0] - base if self.size else 0
            self._seen = View(self.gpu_data, self.dtype, self.shape, self.strides, offset, name)
        return self._seen


class MappedNDArray(np.ndarray[Any, Any]):
    """A host array that kernels reach without a copy."""

    stream: Any = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the array lies, for other libraries."""
        return array_interface(np.asarray(self), self.stream)


def from_interface(interface: dict[str, Any], sync: bool = True) -> DeviceNDArray:
    """The array that the CUDA Array Interface of an array of the machine describes: no copy.

    Raises:
        NotImplementedError: it has a mask.
        BadInput: the memory is not the machine's.
    """
    if interface.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported: apply the mask first")
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    if dtype.kind == "V":
        dtype = np.dtype(interface["descr"])
    handle = interface.get("stream")
    stream = None if handle is None else external_stream(handle)
    if stream is not None and sync and numba_cuda.setting("CUDA_ARRAY_INTERFACE_SYNC", True):
        stream.synchronize()
    if math.prod(shape) == 0:
        return device_empty(shape, dtype)
    address = interface["data"][0]
    target = at_address(address)
    if target is None:
        message = f"the memory at {address:#x} is none of the SIMT machine's: copy it to the host"
        raise BadInput(message)
    allocation, offset = target
    array: Array = np.ndarray(shape, dtype, allocation.data, offset, interface.get("strides"))
    return DeviceNDArray.over(array, allocation, stream or 0)


def device_copy(array: Array, stream: Any = 0) -> DeviceNDArray:
    """A device array with a copy of a host array, contiguous as `to_device` makes it."""
    if not work_queue.direct(stream):
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        result = device_empty(array.shape, array.dtype, "F" if fortran else "C").bind(stream)
        copy_in(result._array, array, stream, result)
        return result
    copy = array.copy(order="K") if dense(array) else np.array(array, order="C", copy=True)
    copy = np.asarray(copy)
    return DeviceNDArray.over(copy, Allocation("global", bytes_of(copy)))


def device_empty(shape: Any, dtype: Any, order: str = "C") -> DeviceNDArray:
    """A device array that nobody has written: NaN, or a bit pattern that stands out."""
    array = np.empty(shape, np.dtype(dtype), order=order)  # type: ignore[call-overload]
    poison(array.ravel(order="K"))
    allocation = Allocation("global", bytes_of(array))
    allocation.written = WriteMap(array.nbytes, 1 if array.dtype.kind == "V" else array.itemsize)
    return DeviceNDArray.over(array, allocation)
