"""Narrow floats: bfloat16 and those of 8 bits as their bits, and two numbers in one register."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Array = Any  # of NumPy


def by_halves(function: Callable[..., Array], *operands: Array) -> Array:
    """An operation on both 16-bit halves of a 32-bit register."""
    of_bits = isinstance(function, partial) and function.func is in_bfloat16
    kind = np.uint16 if of_bits else np.float16
    halves = [np.ascontiguousarray(x).view(kind).reshape(*x.shape, 2) for x in operands]
    return np.ascontiguousarray(function(*halves)).view(np.uint32)[..., 0]


def in_bfloat16(function: Callable[..., Array], *operands: Array) -> Array:
    """An operation of float32 on the bits of bfloat16."""
    return to_bfloat16(function(*map(from_bfloat16, operands)))


def from_bfloat16(x: Array) -> Array:
    """The bits of a bfloat16 as float32."""
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(x: Array, mode: str = "rn") -> Array:
    """float32 to the bits of a bfloat16, to the nearest even one or towards zero."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    if mode == "rn":
        near = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        bits = np.where(np.isnan(x), np.uint32(0x7FFF0000), near)
    return (bits >> np.uint32(16)).astype(np.uint16)


def from_float8(kind: str, x: Array) -> Array:
    """The bits of "e4m3" (no infinity, one NaN) or "e5m2" (the upper half of a float16)."""
    if kind == "e5m2":
        return (x.astype(np.uint16) << np.uint16(8)).view(np.float16)
    low = x.astype(np.uint16) & np.uint16(0x7F)
    size = (low << np.uint16(7)).view(np.float16) * np.float16(256)
    return np.copysign(np.where(low == 0x7F, np.float16(np.nan), size), x.view(np.int8))


def to_float8(kind: str, x: Array) -> Array:
    """The bits of the nearest (even) number of 8 bits; the largest for what lies beyond."""
    top = {"e4m3": 0x7E, "e5m2": 0x7B}[kind]
    numbers = from_float8(kind, np.arange(top + 1, dtype=np.uint8)).astype(np.float32)
    middle = (numbers[1:] + numbers[:-1]) / 2
    size = np.abs(x.astype(np.float32))
    code = np.searchsorted(middle, size)
    tie = size == middle[np.minimum(code, top - 1)]
    code = np.where(np.isnan(size), 0x7F, np.minimum(code + (tie & (code % 2 == 1)), top))
    return (code + 128 * np.signbit(x)).astype(np.uint8)


def without_negative(x: Array) -> Array:
    """`.relu`: zero instead of what is negative; a NaN as the canonical one."""
    return np.where(np.isnan(x), x.dtype.type(np.nan), np.where(x > 0, x, x.dtype.type(0)))


def two_float8(op: tuple[str, ...], high: Array, *low: Array) -> Array:
    """`cvt` from or to two numbers of 8 bits, which are two float32 or a register's two float16."""
    last = without_negative if "relu" in op else lambda x: x
    flat = np.ascontiguousarray(high)
    if op[-1] in ("e4m3x2", "e5m2x2"):
        halves = from_float8(op[-1][:-2], flat.view(np.uint8).reshape(*high.shape, 2))
        return np.ascontiguousarray(last(halves)).view(np.uint32)[..., 0]
    if not low:
        both = flat.view(np.float16).reshape(*high.shape, 2)
        high, low = both[..., 1], (both[..., 0],)
    above, below = (to_float8(op[-2][:-2], last(x)).astype(np.uint16) for x in (high, *low))
    return above << np.uint16(8) | below
