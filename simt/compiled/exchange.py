"""What threads do together in compiled code: barriers, shuffles and votes.

Each thread puts its part into its slot, waits, and finds the others' parts in theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from simt.compiled.frame import WORD, word_of
from simt.compiled.thread import device, number, threads

__all__ = ["EXCHANGES", "put_block", "put_warp"]

EXCHANGE = 4  # slots of a thread: two of its warp's, two of its block's, by turns


def _slot(context: Any, builder: Any, me: Any, lane: Any, name: str, before: int) -> Any:
    """The address of a thread's slot in this turn, or in the one before."""
    base = word_of(builder, me, "exchange")
    turn = word_of(builder, me, name)
    turn = builder.and_(builder.add(turn, WORD(before)), WORD(1))
    first = WORD(2 if name == "round" else 0)
    place = builder.add(builder.mul(lane, WORD(EXCHANGE)), builder.add(turn, first))
    return builder.add(base, builder.mul(place, WORD(8)))


def _putter(name: str) -> Any:
    @intrinsic
    def put(typingctx: Any, me: Any, value: Any) -> Any:
        """The value itself, after it has been put in the thread's slot."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lane = builder.extract_value(args[0], 7)
            address = _slot(context, builder, args[0], lane, name, 0)
            kind = context.get_data_type(value).as_pointer()
            context.pack_value(builder, value, args[1], builder.inttoptr(address, kind))
            return args[1]

        return value(me, value), codegen

    return put


def _getter(name: str) -> Any:
    @intrinsic
    def get(typingctx: Any, me: Any, lane: Any, like: Any) -> Any:
        """What another thread has put in its slot."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lane = context.cast(builder, args[1], signature.args[1], types.int64)
            address = _slot(context, builder, args[0], lane, name, 1)
            kind = context.get_data_type(like).as_pointer()
            return context.unpack_value(builder, like, builder.inttoptr(address, kind))

        return like(me, lane, like), codegen

    return get


put_warp, put_block = _putter("round"), _putter("meeting")
_of_warp, _of_block = _getter("round"), _getter("meeting")


@device
def _require_full_mask(me: Any, mask: Any) -> None:
    """Refuses a mask that names a part of the warp: only the machine handles those."""
    if np.int64(mask) & 0xFFFFFFFF != 0xFFFFFFFF:
        raise RuntimeError


def _shuffle(source: Callable[..., Any]) -> Any:
    source = device(source)

    @device
    def shuffle(me: Any, mask: Any, value: Any, turn: Any, operand: Any) -> Any:
        _require_full_mask(me, mask)
        lane = number(me) % 32
        other = source(lane, np.int64(operand) & 31)  # PTX reads five bits
        if other < 0 or other >= 32:
            return value
        return _of_warp(me, number(me) - lane + other, value)

    return shuffle


def _lanes(counts: Callable[..., Any]) -> Any:
    """A bit for each lane of the warp whose part counts, beside the thread's own."""
    counts = device(counts)

    @device
    def bits_of(me: Any, mask: Any, own: Any, turn: Any) -> Any:
        _require_full_mask(me, mask)
        first = number(me) - number(me) % 32
        bits = 0
        for lane in range(min(32, threads(me) - first)):
            if counts(_of_warp(me, first + lane, own), own):
                bits |= 1 << lane
        return np.int32(bits)

    return bits_of


_ballot = _lanes(lambda theirs, own: theirs)
_match_any = _lanes(lambda theirs, own: theirs == own)


@device
def _all(me: Any, mask: Any, predicate: Any, turn: Any) -> Any:
    first = number(me) - number(me) % 32
    whole = (1 << min(32, threads(me) - first)) - 1
    return np.int64(_ballot(me, mask, predicate, turn)) & 0xFFFFFFFF == whole


@device
def _equal(me: Any, mask: Any, predicate: Any, turn: Any) -> Any:
    return _all(me, mask, predicate, turn) or not _any(me, mask, predicate, turn)


@device
def _match_all(me: Any, mask: Any, value: Any, turn: Any) -> Any:
    bits = _match_any(me, mask, value, turn)
    first = number(me) - number(me) % 32
    whole = np.int64(bits) & 0xFFFFFFFF == (1 << min(32, threads(me) - first)) - 1
    return (bits if whole else np.int32(0)), whole


@device
def _any(me: Any, mask: Any, predicate: Any, turn: Any) -> Any:
    return _ballot(me, mask, predicate, turn) != 0


@device
def _count(me: Any, predicate: Any, turn: Any) -> Any:
    count = 0
    for lane in range(threads(me)):
        if _of_block(me, lane, predicate):
            count += 1
    return np.int32(count)


@device
def _and(me: Any, predicate: Any, turn: Any) -> Any:
    return np.int32(_count(me, predicate, turn) == threads(me))


@device
def _or(me: Any, predicate: Any, turn: Any) -> Any:
    return np.int32(_count(me, predicate, turn) != 0)


@device
def _syncwarp(me: Any, mask: Any, turn: Any) -> None:
    _require_full_mask(me, mask)


# by name: what looks at the others' parts, which argument is a thread's own, whether of a warp
EXCHANGES: dict[str, tuple[Any, int | None, bool]] = {
    "syncthreads": (None, None, False),
    "syncthreads_count": (_count, 0, False),
    "syncthreads_and": (_and, 0, False),
    "syncthreads_or": (_or, 0, False),
    "syncwarp": (_syncwarp, None, True),
    "shfl_sync": (_shuffle(lambda lane, operand: operand), 1, True),
    "shfl_up_sync": (_shuffle(lambda lane, operand: lane - operand), 1, True),
    "shfl_down_sync": (_shuffle(lambda lane, operand: lane + operand), 1, True),
    "shfl_xor_sync": (_shuffle(lambda lane, operand: lane ^ operand), 1, True),
    "ballot_sync": (_ballot, 1, True),
    "all_sync": (_all, 1, True),
    "any_sync": (_any, 1, True),
    "eq_sync": (_equal, 1, True),
    "match_any_sync": (_match_any, 1, True),
    "match_all_sync": (_match_all, 1, True),
}
