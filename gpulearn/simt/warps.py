"""What the lanes of a warp do together: shuffles, votes, matches; and bit counting.

A warp's values are looked at as rows of 32; the last warp of a block may be shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.masks import EMPTY
from gpulearn.simt.names import intrinsic
from gpulearn.simt.values import INT64, Value, cast, cast_up, dtype_of, normal, truth, where

if TYPE_CHECKING:
    from gpulearn.simt.machine import Machine

__all__: list[str] = []

WARP = 32
INT32 = np.dtype(np.int32)
UINT32 = np.dtype(np.uint32)
Rows = np.ndarray[Any, Any]


def _rows(m: Machine, value: Value) -> Rows:
    """A value as (warps of the chunk, 32); lanes beyond the block's last thread hold 0."""
    value = np.asarray(value)
    wide = np.zeros((m.blocks, m.warps * WARP), value.dtype)
    wide[:, : m.threads] = value
    return wide.reshape(-1, WARP)


def _flat(m: Machine, rows: Rows) -> Rows:
    """The inverse of `_rows`."""
    result: Rows = rows.reshape(m.blocks, m.warps * WARP)[:, : m.threads]
    return np.ascontiguousarray(result)


def _active(m: Machine, mask: Value) -> Rows:
    """Which lanes take part: those that are active and named in `mask`."""
    if m.mask is EMPTY:
        return np.zeros((m.blocks * m.warps, WARP), bool)
    here = _rows(m, np.broadcast_to(True if m.mask is None else m.mask, (m.blocks, m.threads)))
    named = _rows(m, np.broadcast_to(cast(mask, INT64), (m.blocks, m.threads)))
    lane = np.arange(WARP)
    result: Rows = here & (named >> lane & 1).astype(bool)
    return result


def _shuffle(m: Machine, value: Value, source: Rows) -> Value:
    """Each lane takes the value of the lane that `source` names; out of range, its own."""
    if not isinstance(value, np.ndarray) or value.shape[1] == 1:
        return value
    rows = _rows(m, value)
    valid = (source >= 0) & (source < WARP)
    chosen = np.where(valid, source, np.arange(WARP))
    return _flat(m, np.take_along_axis(rows, chosen, axis=1))


def _operand(m: Machine, value: Value) -> Rows:
    return _rows(m, np.broadcast_to(cast(value, INT64), (m.blocks, m.threads)))


@intrinsic("shfl_sync")
def shfl_sync(m: Machine, mask: Value, value: Value, src_lane: Value) -> Value:
    """`cuda.shfl_sync`: the value of lane `src_lane`."""
    return _shuffle(m, value, _operand(m, src_lane) % WARP)


@intrinsic("shfl_up_sync")
def shfl_up_sync(m: Machine, mask: Value, value: Value, delta: Value) -> Value:
    """`cuda.shfl_up_sync`: the value of the lane `delta` below."""
    return _shuffle(m, value, np.arange(WARP) - _operand(m, delta))


@intrinsic("shfl_down_sync")
def shfl_down_sync(m: Machine, mask: Value, value: Value, delta: Value) -> Value:
    """`cuda.shfl_down_sync`: the value of the lane `delta` above."""
    return _shuffle(m, value, np.arange(WARP) + _operand(m, delta))


@intrinsic("shfl_xor_sync")
def shfl_xor_sync(m: Machine, mask: Value, value: Value, lane_mask: Value) -> Value:
    """`cuda.shfl_xor_sync`: the value of the lane whose number differs in these bits."""
    return _shuffle(m, value, np.arange(WARP) ^ _operand(m, lane_mask))


@intrinsic("shfl_sync_intrinsic")
def shfl_sync_intrinsic(
    m: Machine, mask: Value, mode: int, value: Value, operand: Value, clamp: Value
) -> Value:
    """What the four shuffles are made of: (value, whether its lane was in range)."""
    lane = np.arange(WARP)
    chosen = _operand(m, operand)
    source = (chosen % WARP, lane - chosen, lane + chosen, lane ^ chosen)[mode]
    inside = np.broadcast_to((source >= 0) & (source < WARP), (m.blocks * m.warps, WARP))
    return _shuffle(m, value, source), _flat(m, inside)


def _spread(m: Machine, per_warp: Any) -> Rows:
    """One value per warp, given to each of its lanes."""
    return _flat(m, np.repeat(per_warp[:, None], WARP, axis=1))


def _votes(m: Machine, mask: Value, predicate: Value) -> tuple[Rows, Rows]:
    here = _active(m, mask)
    said = _rows(m, np.broadcast_to(truth(predicate), (m.blocks, m.threads)))
    return here, said


@intrinsic("all_sync")
def all_sync(m: Machine, mask: Value, predicate: Value) -> Value:
    """Whether the predicate holds for all lanes that take part."""
    here, said = _votes(m, mask, predicate)
    return _spread(m, (said | ~here).all(axis=1))


@intrinsic("any_sync")
def any_sync(m: Machine, mask: Value, predicate: Value) -> Value:
    """Whether the predicate holds for any lane that takes part."""
    here, said = _votes(m, mask, predicate)
    return _spread(m, (said & here).any(axis=1))


@intrinsic("eq_sync")
def eq_sync(m: Machine, mask: Value, predicate: Value) -> Value:
    """Whether the predicate is the same for all lanes that take part."""
    here, said = _votes(m, mask, predicate)
    return _spread(m, (said | ~here).all(axis=1) | ~(said & here).any(axis=1))


def _bits(rows: Rows, dtype: np.dtype[Any]) -> Rows:
    """Rows of 32 bools as one number per warp."""
    weights = np.left_shift(np.int64(1), np.arange(WARP))
    result: Rows = (rows * weights).sum(axis=1).astype(dtype)
    return result


@intrinsic("ballot_sync")
def ballot_sync(m: Machine, mask: Value, predicate: Value) -> Value:
    """One bit per lane: its predicate. An int32, as in Numba."""
    here, said = _votes(m, mask, predicate)
    return _spread(m, _bits(said & here, INT32))


@intrinsic("activemask")
def activemask(m: Machine) -> Value:
    """One bit per active lane."""
    return _spread(m, _bits(_active(m, 0xFFFFFFFF), UINT32))


@intrinsic("lanemask_lt")
def lanemask_lt(m: Machine) -> Value:
    """One bit for each lane below this one."""
    lane = np.arange(m.threads).reshape(1, -1) % WARP
    return ((np.int64(1) << lane) - 1).astype(UINT32)


@intrinsic("match_any_sync")
def match_any_sync(m: Machine, mask: Value, value: Value) -> Value:
    """One bit for each lane that holds the same value as this one."""
    here = _active(m, mask)
    rows = _rows(m, np.broadcast_to(value, (m.blocks, m.threads)))
    same = (rows[:, :, None] == rows[:, None, :]) & here[:, None, :] & here[:, :, None]
    weights = np.left_shift(np.int64(1), np.arange(WARP))
    return _flat(m, (same * weights).sum(axis=2).astype(INT32))


@intrinsic("match_all_sync")
def match_all_sync(m: Machine, mask: Value, value: Value) -> Value:
    """(the lanes, True) if all that take part hold one value, else (0, False)."""
    here = _active(m, mask)
    rows = _rows(m, np.broadcast_to(value, (m.blocks, m.threads)))
    first = rows[np.arange(len(rows)), here.argmax(axis=1)]
    agree = ((rows == first[:, None]) | ~here).all(axis=1)
    lanes = np.where(agree, _bits(here, INT32), 0).astype(INT32)
    return _spread(m, lanes), _spread(m, agree)


@intrinsic("vote_sync_intrinsic")
def vote_sync_intrinsic(m: Machine, mask: Value, mode: int, predicate: Value) -> Value:
    """What the four votes are made of: (ballot, answer)."""
    said = (all_sync, any_sync, eq_sync)[mode](m, mask, predicate) if mode < 3 else False
    return ballot_sync(m, mask, predicate), said


@intrinsic("syncwarp")
def syncwarp(m: Machine, mask: Value = 0xFFFFFFFF) -> None:
    """Waits for the lanes of the warp, and orders what they did to memory."""
    if m.hazards is not None and m.mask is not EMPTY:
        m.hazards.warp_barrier(m.mask)


# --- bits


def _unsigned(value: Value) -> tuple[Rows, int]:
    dtype = dtype_of(value)
    wide = cast_up(value, dtype)
    bits = dtype.itemsize * 8
    return np.asarray(wide).astype(np.dtype(f"u{dtype.itemsize}")).astype(np.uint64), bits


def _like(value: Value, result: Rows, dtype: np.dtype[Any]) -> Value:
    result = result.astype(dtype)
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


@intrinsic("selp")
def selp(m: Machine, condition: Value, a: Value, b: Value) -> Value:
    """`a` where the condition holds, else `b`; both are evaluated."""
    condition = truth(condition)
    if not isinstance(condition, np.ndarray):
        return a if condition else b
    return where(condition, a, b)


@intrinsic("fma", flop=True)
def fma(m: Machine, a: Value, b: Value, c: Value) -> Value:
    """A * b + c, rounded once."""
    m.flop(a)
    dtype = np.result_type(*(dtype_of(v) for v in (a, b, c)))
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    wide = np.dtype(np.longdouble if dtype.itemsize == 8 else np.float64)
    exact = np.asarray(a).astype(wide) * np.asarray(b).astype(wide) + np.asarray(c).astype(wide)
    result = exact.astype(dtype)
    return normal(result[()]) if result.ndim == 0 else result


@intrinsic("cbrt", flop=True)
def cbrt(m: Machine, value: Value) -> Value:
    """The cube root."""
    dtype = dtype_of(value)
    return normal(np.cbrt(cast_up(value, dtype if dtype.kind == "f" else np.dtype(np.float64))))
