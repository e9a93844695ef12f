"""Layout: how the elements of an array lie in memory, and how other libraries are told of it."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def bytes_of(array: Array) -> Array:
    """The memory of a contiguous array as flat bytes, without a copy."""
    flat = array if array.flags.c_contiguous else array.T
    return flat.reshape(-1).view(np.uint8)


def span(shape: Any, strides: Any, dtype: Any) -> int:
    """The bytes from the first to the last element."""
    steps = zip(np.atleast_1d(shape), np.atleast_1d(strides), strict=True)
    last = sum((n - 1) * abs(stride) for n, stride in steps)
    return max(0, int(last + np.dtype(dtype).itemsize))


def dense(array: Array) -> bool:
    """Whether the elements lie side by side, by rows or by columns."""
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def same_order(a: Array, b: Array) -> bool:
    """Whether two arrays lie by rows, or by columns, alike."""
    ours, theirs = a.flags, b.flags
    return (ours.c_contiguous, ours.f_contiguous) == (theirs.c_contiguous, theirs.f_contiguous)


def array_interface(array: Array, stream: Any) -> dict[str, Any]:
    """The CUDA Array Interface of an array, whose memory is this computer's."""
    described = array.__array_interface__
    return {
        "shape": array.shape,
        "strides": None if array.flags.c_contiguous else array.strides,
        "typestr": described["typestr"],
        "descr": described["descr"],
        "data": (described["data"][0] if array.size else 0, False),
        "stream": int(stream) or None,
        "version": 3,
    }
