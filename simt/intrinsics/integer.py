"""Integer intrinsics: counting and reversing bits."""

from typing import Any

import numpy as np

from simt.core.registry import intrinsic
from simt.core.values import UINT32, Value, cast_up, dtype_of, normal
from simt.machine.machine import Machine

Words = np.ndarray[Any, Any]


def _unsigned(value: Value) -> tuple[Words, int]:
    dtype = dtype_of(value)
    wide = cast_up(value, dtype)
    bits = dtype.itemsize * 8
    return np.asarray(wide).astype(np.dtype(f"u{dtype.itemsize}")).astype(np.uint64), bits


def _like(value: Value, result: Words, dtype: np.dtype[Any]) -> Value:
    result = result.astype("i1" if dtype.kind == "b" else dtype)  # a bool is an int8 to Numba
    return result if isinstance(value, np.ndarray) else normal(result[()])


@intrinsic("popc")
def popc(m: Machine, value: Value) -> Value:
    """The number of bits that are 1."""
    return _like(value, np.bitwise_count(_unsigned(value)[0]), dtype_of(value))


@intrinsic("clz")
def clz(m: Machine, value: Value) -> Value:
    """The number of leading zeros."""
    word, bits = _unsigned(value)
    length = np.zeros(word.shape, np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        high = word >> np.uint64(shift)
        length = np.where(high != 0, length + shift, length)
        word = np.where(high != 0, high, word)
    return _like(value, np.where(word == 0, bits, bits - 1 - length), dtype_of(value))


@intrinsic("ffs")
def ffs(m: Machine, value: Value) -> Value:
    """One more than the position of the lowest 1; 0 if there is none."""
    word, _ = _unsigned(value)
    lowest = word & (~word + np.uint64(1))
    position = np.bitwise_count(lowest - np.uint64(1)).astype(np.int64)
    return _like(value, np.where(word == 0, 0, position + 1), UINT32)


@intrinsic("brev")
def brev(m: Machine, value: Value) -> Value:
    """The bits in reverse order."""
    dtype = np.dtype(np.uint64) if dtype_of(value) == np.uint64 else UINT32
    word = np.asarray(cast_up(value, dtype)).astype(np.uint64)
    bits = dtype.itemsize * 8
    result = np.zeros(word.shape, np.uint64)
    for bit in range(bits):
        result |= (word >> np.uint64(bit) & np.uint64(1)) << np.uint64(bits - 1 - bit)
    return _like(value, result, dtype)
