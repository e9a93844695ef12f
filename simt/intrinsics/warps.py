"""Warp intrinsics: shuffles, votes, matches and `syncwarp` among the lanes of a warp.

A warp's values are looked at as rows of 32; the last warp of a block may be shorter.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.findings import Finding
from simt.core.masks import EMPTY
from simt.core.registry import intrinsic
from simt.core.undefined import Doubtful, doubtful
from simt.core.values import INT64, UINT32, Value, cast, truth
from simt.intrinsics.sync import returned
from simt.machine.lockstep import Lockstep

WARP = 32
FULL_MASK = 0xFFFFFFFF
INT32 = np.dtype(np.int32)
Rows = np.ndarray[Any, Any]


def warp_rows(m: Lockstep, value: Value) -> Rows:
    """A value of each thread as (warps, 32); lanes beyond the block's last thread hold 0."""
    value = np.asarray(value)
    wide = np.zeros((m.blocks, m.warps * WARP), value.dtype)
    wide[:, : m.threads] = value
    return wide.reshape(-1, WARP)


def from_rows(m: Lockstep, rows: Rows) -> Rows:
    """The inverse of `warp_rows`."""
    result: Rows = rows.reshape(m.blocks, m.warps * WARP)[:, : m.threads]
    return np.ascontiguousarray(result)


def taking_part(m: Lockstep, mask: Value) -> Rows:
    """Which lanes take part: those that are active and named in `mask`."""
    if m.mask is EMPTY:
        return np.zeros((m.blocks * m.warps, WARP), bool)
    here = warp_rows(m, True if m.mask is None else m.mask)
    masks = warp_rows(m, cast(mask, INT64))
    lane = np.arange(WARP)
    result: Rows = here & (masks >> lane & 1).astype(bool)
    return result


def meet(m: Lockstep, mask: Value, name: str) -> None:
    """Stops the launch if `mask` names a thread of the warp that is not here, or not the caller.

    CUDA asks for all threads in the mask that have not left the kernel.
    """
    if m.mask is EMPTY:
        return
    _name_themselves(m, mask, name)
    if m.mask is None:
        return
    here = warp_rows(m, m.mask)
    masks = np.where(here, warp_rows(m, cast(mask, INT64)), 0)
    missing = warp_rows(m, ~np.asarray(m.mask) & ~returned(m))
    required = np.bitwise_or.reduce(masks, axis=1)[:, None] >> np.arange(WARP) & 1
    rows, lanes = np.nonzero(missing & required.astype(bool))
    if not len(rows):
        return
    row, lane = int(rows[0]), int(lanes[0])
    caller = int(np.flatnonzero(masks[row] >> lane & 1)[0])
    base = row // m.warps * m.threads + row % m.warps * WARP
    here_name, there = m.thread_name(base + caller), m.thread_name(base + lane)
    words = m.pair_text(here_name, there)
    message = (
        f"the mask of {name} names lane {lane}, which is not here: "
        f"{words[0]} waits, {words[1]} took another path"
    )
    raise m.stop("barrier-divergence", message, here_name, there, detail="mask names another")


def _name_themselves(m: Lockstep, mask: Value, name: str) -> None:
    """Stops the launch if a mask does not name the calling thread: undefined in CUDA."""
    if not isinstance(mask, np.ndarray) and int(mask) & FULL_MASK == FULL_MASK:
        return
    here = warp_rows(m, True if m.mask is None else m.mask)
    unnamed = here & ~taking_part(m, mask)
    if not unnamed.any():
        return
    row, lane = (int(n[0]) for n in np.nonzero(unnamed))
    caller = m.thread_name(row // m.warps * m.threads + row % m.warps * WARP + lane)
    message = (
        f"{m.text(caller)} calls {name}, and its mask does not name it: "
        f"the bit of lane {lane} must be set"
    )
    raise m.stop("barrier-divergence", message, caller, detail="mask lacks the caller")


def _shuffle(m: Lockstep, mask: Value, value: Value, source: Rows, name: str) -> Value:
    """Each lane takes the value of the lane that `source` names; out of range, its own."""
    meet(m, mask, name)
    valid = (source >= 0) & (source < WARP)
    return taken(m, value, np.where(valid, source, np.arange(WARP)), mask, name)


def taken(m: Lockstep, value: Value, source: Rows, mask: Value, name: str) -> Value:
    """The value of lane `source` for each lane; undefined if that lane takes no part."""
    source = np.broadcast_to(source, (m.blocks * m.warps, WARP))
    result = value
    if isinstance(value, np.ndarray) and value.shape[1] > 1:
        result = from_rows(m, np.take_along_axis(warp_rows(m, value), source, axis=1))
    if type(value) is Doubtful and value.origin is not None:
        origin = np.take_along_axis(warp_rows(m, value.origin), source, axis=1)
        result = doubtful(m.spread(result), from_rows(m, origin))
    full = not isinstance(mask, np.ndarray) and int(mask) & FULL_MASK == FULL_MASK
    if m.mask is EMPTY or not m.events.unset or (m.mask is None and full and m.threads % WARP == 0):
        return result
    here = warp_rows(m, np.broadcast_to(m.mask is None or m.mask, (m.blocks, m.threads)))
    named = warp_rows(m, cast(mask, INT64)) >> source & 1
    absent = here & ~(np.take_along_axis(here, source, axis=1) & named.astype(bool))
    lanes = np.flatnonzero(from_rows(m, absent))
    if not len(lanes):
        return result
    who, lane = m.thread_name(int(lanes[0])), int(from_rows(m, source).ravel()[lanes[0]])
    message = (
        f"{m.text(who)} takes the value of lane {lane} by {name}, and lane {lane} takes no part: "
        "what it gets is undefined"
    )
    finding = Finding("uninitialized-read", m.here(), message, [who], count=len(lanes))
    return m.doubted(result, lanes, ("undefined-lane", m.line), finding)


def _operand(m: Lockstep, value: Value) -> Rows:
    """A lane, or how far it is, as PTX reads it: of the number only the lower five bits."""
    return warp_rows(m, cast(value, INT64)) % WARP


@intrinsic("shfl_sync")
def shfl_sync(m: Lockstep, mask: Value, value: Value, src_lane: Value) -> Value:
    """`cuda.shfl_sync`: the value of lane `src_lane`."""
    return _shuffle(m, mask, value, _operand(m, src_lane), "shfl_sync")


@intrinsic("shfl_up_sync")
def shfl_up_sync(m: Lockstep, mask: Value, value: Value, delta: Value) -> Value:
    """`cuda.shfl_up_sync`: the value of the lane `delta` below."""
    return _shuffle(m, mask, value, np.arange(WARP) - _operand(m, delta), "shfl_up_sync")


@intrinsic("shfl_down_sync")
def shfl_down_sync(m: Lockstep, mask: Value, value: Value, delta: Value) -> Value:
    """`cuda.shfl_down_sync`: the value of the lane `delta` above."""
    return _shuffle(m, mask, value, np.arange(WARP) + _operand(m, delta), "shfl_down_sync")


@intrinsic("shfl_xor_sync")
def shfl_xor_sync(m: Lockstep, mask: Value, value: Value, lane_mask: Value) -> Value:
    """`cuda.shfl_xor_sync`: the value of the lane whose number differs in these bits."""
    return _shuffle(m, mask, value, np.arange(WARP) ^ _operand(m, lane_mask), "shfl_xor_sync")


@intrinsic("shfl_sync_intrinsic")
def shfl_sync_intrinsic(
    m: Lockstep, mask: Value, mode: int, value: Value, operand: Value, clamp: Value
) -> Value:
    """What the four shuffles are made of: (value, whether its lane was in range)."""
    lane = np.arange(WARP)
    lanes = _operand(m, operand)
    source = (lanes, lane - lanes, lane + lanes, lane ^ lanes)[mode]
    inside = np.broadcast_to((source >= 0) & (source < WARP), (m.blocks * m.warps, WARP))
    return _shuffle(m, mask, value, source, "shfl_sync_intrinsic"), from_rows(m, inside)


def _spread(m: Lockstep, per_warp: Any) -> Rows:
    """One value per warp, given to each of its lanes."""
    return from_rows(m, np.repeat(per_warp[:, None], WARP, axis=1))


def _votes(m: Lockstep, mask: Value, predicate: Value) -> tuple[Rows, Rows]:
    """The lanes that said yes, and those that said no, of each lane's own mask: as bits."""
    here = taking_part(m, mask)
    votes = warp_rows(m, truth(predicate))
    masks = np.asarray(cast(mask, INT64))
    yes, no = (_spread(m, _bits(r & here, INT64)) & masks for r in (votes, ~votes))
    return yes, no


# by the lanes that said yes and no; a ballot is an int32, as in Numba
_ANSWERS: dict[str, Callable[[Rows, Rows], Value]] = {
    "all_sync": lambda yes, no: no == 0,
    "any_sync": lambda yes, no: yes != 0,
    "eq_sync": lambda yes, no: (yes == 0) | (no == 0),
    "ballot_sync": lambda yes, no: yes.astype(INT32),
}


def _register_vote(name: str) -> None:
    @intrinsic(name)
    def vote(m: Lockstep, mask: Value, predicate: Value) -> Value:
        meet(m, mask, name)
        return _ANSWERS[name](*_votes(m, mask, predicate))


for _name in _ANSWERS:
    _register_vote(_name)


def _bits(rows: Rows, dtype: np.dtype[Any]) -> Rows:
    """Rows of 32 bools as one number per warp."""
    weights = np.left_shift(np.int64(1), np.arange(WARP))
    result: Rows = (rows * weights).sum(axis=1).astype(dtype)
    return result


@intrinsic("activemask")
def activemask(m: Lockstep) -> Value:
    """One bit per active lane."""
    return _spread(m, _bits(taking_part(m, 0xFFFFFFFF), UINT32))


@intrinsic("lanemask_lt")
def lanemask_lt(m: Lockstep) -> Value:
    """One bit for each lane below this one."""
    lane = np.arange(m.threads).reshape(1, -1) % WARP
    return ((np.int64(1) << lane) - 1).astype(UINT32)


def _matches(m: Lockstep, mask: Value, value: Value) -> tuple[Rows, Rows]:
    """Of each lane's own mask, the lanes with its value, and all that take part: as bits."""
    here = taking_part(m, mask)
    rows = warp_rows(m, value)
    same = (rows[:, :, None] == rows[:, None, :]) & here[:, None, :] & here[:, :, None]
    weights = np.left_shift(np.int64(1), np.arange(WARP))
    masks = np.asarray(cast(mask, INT64))
    equal = from_rows(m, (same * weights).sum(axis=2))
    return equal & masks, _spread(m, _bits(here, INT64)) & masks


@intrinsic("match_any_sync")
def match_any_sync(m: Lockstep, mask: Value, value: Value) -> Value:
    """One bit for each lane that holds the same value as this one."""
    meet(m, mask, "match_any_sync")
    return _matches(m, mask, value)[0].astype(INT32)


@intrinsic("match_all_sync")
def match_all_sync(m: Lockstep, mask: Value, value: Value) -> Value:
    """(the lanes, True) if all that take part hold one value, else (0, False)."""
    meet(m, mask, "match_all_sync")
    same, complete = _matches(m, mask, value)
    agree = same == complete
    return np.where(agree, complete, 0).astype(INT32), agree


@intrinsic("vote_sync_intrinsic")
def vote_sync_intrinsic(m: Lockstep, mask: Value, mode: int, predicate: Value) -> Value:
    """What the four votes are made of: (ballot, answer)."""
    meet(m, mask, "vote_sync_intrinsic")
    votes = _votes(m, mask, predicate)
    ballot, *answers = (_ANSWERS[f"{name}_sync"](*votes) for name in ("ballot", "all", "any", "eq"))
    return ballot, answers[mode] if mode < 3 else False


@intrinsic("syncwarp")
def syncwarp(m: Lockstep, mask: Value = 0xFFFFFFFF) -> None:
    """Waits for the lanes in the mask, and orders what they did to memory."""
    meet(m, mask, "syncwarp")
    if not m.events.warp_barrier or m.mask is EMPTY:
        return
    whole = not isinstance(mask, np.ndarray) and int(mask) & 0xFFFFFFFF == 0xFFFFFFFF
    lanes = None
    if not whole or m.mask is not None:
        masks = warp_rows(m, cast(mask, INT64) & 0xFFFFFFFF)
        exists = warp_rows(m, np.ones((m.blocks, m.threads), bool))
        lanes = taking_part(m, mask), masks, exists
    for callback in m.events.warp_barrier:
        callback(m, lanes)
