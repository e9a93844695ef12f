"""Kernels that are handed addresses, and arrays of other types than they declare."""

import numpy as np
import pytest
from numba import types

from simt.errors import KernelError
from simt.host import api as cuda


@cuda.jit(types.void(types.CPointer(types.uint8), types.uint32))
def add_one(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1


def test_an_address_is_an_array_to_the_end_of_its_memory():
    x = cuda.to_device(np.arange(8, dtype=np.uint8))
    add_one[1, 32](x.__cuda_array_interface__["data"][0], 8)
    add_one[1, 32](x[3:].device_ctypes_pointer.value, 2)
    assert x.copy_to_host().tolist() == [1, 2, 3, 5, 6, 6, 7, 8]
    with pytest.raises(KernelError, match=r"thread 5 of block 0 accesses x\[5\], out of bounds"):
        add_one[1, 32](x[3:].device_ctypes_pointer.value, 6)
    with pytest.raises(KernelError, match="x points to 0x7, where no array of the SIMT machine"):
        add_one[1, 32](7, 1)


@cuda.jit("void(int32[:], int64[:])")
def copy(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


def test_whole_numbers_are_read_in_the_declared_type_whatever_their_sign():
    out = np.zeros(3, np.int64)
    copy[1, 3](np.array([1, 2**32 - 1, 2**31], np.uint32), out)
    assert out.tolist() == [1, -1, -(2**31)]
    with pytest.raises(KernelError, match="a is a 1-dimensional array of int32, and it is given"):
        copy[1, 3](np.zeros(3, np.float32), out)
    with pytest.raises(KernelError, match="a is a 1-dimensional array of int32, and it is given"):
        copy[1, 3](np.zeros(3, np.uint64), out)
    with pytest.raises(KernelError, match="2-dimensional array of int32: without a signature"):
        copy[1, 3](np.zeros((3, 1), np.int32), out)
