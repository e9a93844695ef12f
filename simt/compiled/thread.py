"""A thread of compiled code: who it is, and what it and the host say to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from simt.compiled.frame import HEADER, WORD, reader, word_at, word_of

__all__ = [
    "GRID", "IDENTITY", "INNER", "OPTIONS", "device", "lanemask_lt", "leave", "left_at", "left_in",
    "look", "number", "threads", "word",
]  # fmt: skip

OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
INNER = {**OPTIONS, "no_cpython_wrapper": True}  # of what only compiled code calls
device = njit(**INNER)


def _own(place: int, kind: Any = types.int32) -> Any:
    @intrinsic
    def read(typingctx: Any, me: Any) -> Any:
        return kind(me), lambda c, builder, s, args: builder.extract_value(args[0], place)

    return read


IDENTITY: dict[str, Any] = {
    f"{name}.{axis}": _own(1 + 3 * first + n)
    for first, name in enumerate(("blockIdx", "threadIdx"))
    for n, axis in enumerate("xyz")
} | {name: reader(types.int32, HEADER[name]) for name in HEADER if "Dim" in name}

bx, by, bz, tx, ty, tz, dx, dy, dz, gx, gy, gz = (
    IDENTITY[f"{name}.{axis}"]
    for name in ("blockIdx", "threadIdx", "blockDim", "gridDim")
    for axis in "xyz"
)
number = _own(7, types.int64)


@device
def _grid1(me: Any) -> Any:
    return np.int64(bx(me)) * dx(me) + tx(me)


@device
def _grid2(me: Any) -> Any:
    return _grid1(me), np.int64(by(me)) * dy(me) + ty(me)


@device
def _grid3(me: Any) -> Any:
    return _grid1(me), np.int64(by(me)) * dy(me) + ty(me), np.int64(bz(me)) * dz(me) + tz(me)


@device
def _gridsize1(me: Any) -> Any:
    return np.int64(dx(me)) * gx(me)


@device
def _gridsize2(me: Any) -> Any:
    return _gridsize1(me), np.int64(dy(me)) * gy(me)


@device
def _gridsize3(me: Any) -> Any:
    return _gridsize1(me), np.int64(dy(me)) * gy(me), np.int64(dz(me)) * gz(me)


GRID = {
    "grid1": _grid1, "grid2": _grid2, "grid3": _grid3,
    "gridsize1": _gridsize1, "gridsize2": _gridsize2, "gridsize3": _gridsize3,
}  # fmt: skip


@device
def threads(me: Any) -> Any:
    """The number of threads of a block."""
    return np.int64(dx(me)) * dy(me) * dz(me)


@device
def _laneid(me: Any) -> Any:
    return np.int32(number(me) % 32)


@device
def lanemask_lt(me: Any) -> Any:
    """A bit for each lane below the thread's own."""
    return np.uint32((1 << number(me) % 32) - 1)


@device
def _warpsize(me: Any) -> Any:
    return np.int32(32)


IDENTITY |= {"warpsize": _warpsize, "laneid": _laneid}


def word(name: str) -> tuple[Any, Any]:
    """Functions of `me` that read and write a word of the header which changes."""
    offset = HEADER[name]

    @intrinsic
    def read(typingctx: Any, me: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = word_at(builder, args[0], offset)
            return builder.load_atomic(place, "monotonic", 8)

        return types.int64(me), codegen

    @intrinsic
    def write(typingctx: Any, me: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store_atomic(args[1], word_at(builder, args[0], offset), "monotonic", 8)
            return context.get_dummy_value()

        return types.none(me, types.int64), codegen

    return read, write


_stopped, _ = word("stop")


@device
def look(me: Any) -> None:
    """Ends the launch if the host has asked for it."""
    if _stopped(me) != 0:
        raise RuntimeError


def left_at(builder: Any, me: Any) -> Any:
    """Where it stands in which statement a thread has returned."""
    base = word_of(builder, me, "left")
    own = builder.mul(builder.extract_value(me, 7), WORD(8))
    return builder.inttoptr(builder.add(base, own), WORD.as_pointer())


@intrinsic
def leave(typingctx: Any, me: Any, place: Any) -> Any:
    """Records the statement of the kernel in which a thread returns, counted from 1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(context.cast(builder, args[1], place, types.int64), left_at(builder, args[0]))
        return context.get_dummy_value()

    return types.none(me, place), codegen


@intrinsic
def left_in(typingctx: Any, me: Any) -> Any:
    """The statement in which a thread has returned; 0 if it has not."""
    return types.int64(me), lambda c, builder, s, args: builder.load(left_at(builder, args[0]))
