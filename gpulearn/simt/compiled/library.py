"""The compiled library: what kernels call, for one thread after the other.

An index outside an array ends the launch; so does a negative one, of which the machine tells.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from gpulearn.simt.compiled.frame import HEADER, WORD, Refused, reader, word_at

__all__ = [
    "CALLS", "EXCHANGE", "EXCHANGES", "IDENTITY", "OPTIONS", "leave", "left_in", "load", "look", "put_block",
    "put_warp", "store", "word",
]  # fmt: skip

OPTIONS = {"error_model": "numpy", "nogil": True}
device = njit(**OPTIONS)


# --- indexing


def _parts(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """The types and values of an index, one for each dimension that it is about."""
    if isinstance(kind, types.BaseTuple):
        return [(k, builder.extract_value(value, n)) for n, k in enumerate(kind.types)]
    return [(kind, value)]


def _checkable(kind: Any) -> Any:
    """The type of an index whose numbers have been checked.

    Raises:
        Refused: it is no index of numbers and slices.
    """
    if isinstance(kind, types.BaseTuple):
        return types.Tuple.from_types([_checkable(k) for k in kind.types])
    if isinstance(kind, types.Integer):
        return types.uint64
    if isinstance(kind, types.SliceType | types.EllipsisType | types.NoneType):
        return kind
    raise Refused(f"an index of type {kind}")


def _checked(context: Any, builder: Any, array: Any, index: Any, args: Any) -> Any:
    """The index with unsigned numbers, after it has been found to be within the array."""
    shape = cgutils.unpack_tuple(
        builder, context.make_array(array)(context, builder, args[0]).shape
    )
    parts = _parts(builder, index, args[1])
    given = [k for k, _ in parts]
    taken = sum(not isinstance(k, types.EllipsisType | types.NoneType) for k in given)
    axis, found = 0, []
    for kind, value in parts:
        if isinstance(kind, types.EllipsisType):
            axis += array.ndim - taken
        elif isinstance(kind, types.Integer):
            value = context.cast(builder, value, kind, types.int64 if kind.signed else types.uint64)
            outside = builder.icmp_unsigned(">=", value, shape[axis])
            with builder.if_then(outside, likely=False):
                context.call_conv.return_user_exc(builder, IndexError, ())
        axis += not isinstance(kind, types.EllipsisType | types.NoneType)
        found.append(value)
    if isinstance(index, types.BaseTuple):
        return context.make_tuple(builder, _checkable(index), found)
    return found[0]


def _access(typingctx: Any, operation: Any, kinds: tuple[Any, ...]) -> Any:
    """An access to an array by Numba's own code, after its index has been checked."""
    array, index, *values = kinds
    checked = _checkable(index)
    function = typingctx.resolve_value_type(operation)
    inner = function.get_call_type(typingctx, (array, checked, *values), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = [args[0], _checked(context, builder, array, index, args), *args[2:]]
        have = (array, checked, *values)
        cast = [
            context.cast(builder, v, h, w) for v, h, w in zip(given, have, inner.args, strict=True)
        ]
        return context.get_function(operation, inner)(builder, cast)

    return inner.return_type(*kinds), codegen


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def load(typingctx: Any, thing: Any, index: Any) -> Any:
    """`thing[index]`."""
    if isinstance(thing, types.Array):
        return _access(typingctx, operator.getitem, (thing, types.unliteral(index)))
    if isinstance(thing, types.BaseTuple) and isinstance(index, types.IntegerLiteral):
        place = index.literal_value % len(thing)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.extract_value(args[0], place)

        return thing.types[place](thing, index), codegen
    function = typingctx.resolve_value_type(operator.getitem)
    inner = function.get_call_type(typingctx, (thing, types.unliteral(index)), {})

    def other(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cast = [
            context.cast(builder, v, h, w)
            for v, h, w in zip(args, signature.args, inner.args, strict=True)
        ]
        return context.get_function(operator.getitem, inner)(builder, cast)

    return inner.return_type(*inner.args), other


@intrinsic  # type: ignore[untyped-decorator]
def store(typingctx: Any, thing: Any, index: Any, value: Any) -> Any:
    """`thing[index] = value`."""
    return _access(typingctx, operator.setitem, (thing, index, value))


# --- the thread


def _own(place: int, kind: Any = types.int32) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
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


@device
def _laneid(me: Any) -> Any:
    return np.int32(number(me) % 32)


@device
def _lanemask_lt(me: Any) -> Any:
    return np.uint32((1 << number(me) % 32) - 1)


@device
def _warpsize(me: Any) -> Any:
    return np.int32(32)


IDENTITY |= {"warpsize": _warpsize, "laneid": _laneid}


# --- what the host asks of a running launch


def word(name: str) -> tuple[Any, Any]:
    """Functions of `me` that read and write a word of the header which changes."""
    offset = HEADER[name]

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typingctx: Any, me: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = word_at(builder, args[0], offset)
            return builder.load_atomic(place, "monotonic", 8)

        return types.int64(me), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typingctx: Any, me: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store_atomic(args[1], word_at(builder, args[0], offset), "monotonic", 8)
            return context.get_dummy_value()

        return types.none(me, types.int64), codegen

    return read, write


_stopped, _ = word("stop")


@device
def look(me: Any) -> None:
    """Ends the launch if the host wants it to."""
    if _stopped(me) != 0:
        raise RuntimeError


def _left(builder: Any, me: Any) -> Any:
    base = builder.load(word_at(builder, me, HEADER["left"]))
    own = builder.mul(builder.extract_value(me, 7), WORD(8))
    return builder.inttoptr(builder.add(base, own), WORD.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def leave(typingctx: Any, me: Any, place: Any) -> Any:
    """Says in which statement of the kernel a thread returns, counted from 1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(context.cast(builder, args[1], place, types.int64), _left(builder, args[0]))
        return context.get_dummy_value()

    return types.none(me, place), codegen


@intrinsic  # type: ignore[untyped-decorator]
def left_in(typingctx: Any, me: Any) -> Any:
    """In which statement a thread has returned; 0 if it has not."""
    return types.int64(me), lambda c, builder, s, args: builder.load(_left(builder, args[0]))


# --- atomics: one thread at a time carries them out


def _atomic(update: Callable[..., Any]) -> Any:
    @device
    def operate(me: Any, array: Any, index: Any, value: Any) -> Any:
        old = load(array, index)
        store(array, index, update(old, array.dtype.type(value)))
        return old

    return operate


@device
def _exchanged(old: Any, value: Any) -> Any:
    return value


@device
def _greatest(old: Any, value: Any) -> Any:
    return value if value > old else old  # a NaN stays, and one that comes changes nothing


@device
def _least(old: Any, value: Any) -> Any:
    return value if value < old else old


@device
def _increased(old: Any, limit: Any) -> Any:
    return old - old if old >= limit else old + 1


@device
def _decreased(old: Any, limit: Any) -> Any:
    return limit if old == 0 or old > limit else old - 1


@device
def _swap(me: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    old = load(array, index)
    if old == array.dtype.type(expected):
        store(array, index, value)
    return old


@device
def _swap_first(me: Any, array: Any, expected: Any, value: Any) -> Any:
    return _swap(me, array, 0, expected, value)


ATOMICS: dict[str, Any] = {
    f"atomic.{name}": _atomic(update)
    for name, update in {
        "add": operator.add, "sub": operator.sub, "and_": operator.and_, "or_": operator.or_,
        "xor": operator.xor, "exch": _exchanged, "inc": _increased,
        "dec": _decreased, "max": _greatest, "min": _least,
    }.items()
} | {"atomic.cas": _swap, "atomic.compare_and_swap": _swap_first}  # fmt: skip



@device
def _fence(me: Any) -> None:
    """One thread at a time: all see what it has written."""


CALLS: dict[str, Any] = {
    **{f"{name}{n}": f for name, fs in {
        "grid": (_grid1, _grid2, _grid3), "gridsize": (_gridsize1, _gridsize2, _gridsize3),
    }.items() for n, f in enumerate(fs, 1)},
    "lanemask_lt": _lanemask_lt,
    "threadfence": _fence, "threadfence_block": _fence, "threadfence_system": _fence,
    **ATOMICS,
}  # fmt: skip


# --- bits


def _bits(name: str) -> Any:
    """An operation of LLVM's on the bits of a number."""

    @intrinsic  # type: ignore[untyped-decorator]
    def operate(typingctx: Any, me: Any, value: Any) -> Any:
        kind = types.unliteral(value)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = args[1]
            if name in ("ctlz", "cttz"):
                return getattr(builder, name)(word, ir.IntType(1)(0))
            return getattr(builder, name)(word)

        return kind(me, kind), codegen

    return operate


_popc, _clz, _ctz = map(_bits, ("ctpop", "ctlz", "cttz"))


@device
def _ffs(me: Any, value: Any) -> Any:
    return np.uint32(0 if value == 0 else _ctz(me, value) + 1)


CALLS |= {"popc": _popc, "clz": _clz, "ffs": _ffs}


# --- what threads do together: each puts its part where the others find it after their turn

EXCHANGE = 4  # slots of a thread: two of its warp's, two of its block's, by turns


def _slot(context: Any, builder: Any, me: Any, lane: Any, name: str, before: int) -> Any:
    """The address of a thread's slot in this turn, or in the one before."""
    base = builder.load(word_at(builder, me, HEADER["exchange"]))
    turn = builder.load(word_at(builder, me, HEADER[name]))
    turn = builder.and_(builder.add(turn, WORD(before)), WORD(1))
    first = WORD(2 if name == "round" else 0)
    place = builder.add(builder.mul(lane, WORD(EXCHANGE)), builder.add(turn, first))
    return builder.add(base, builder.mul(place, WORD(8)))


def _putter(name: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
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
    @intrinsic  # type: ignore[untyped-decorator]
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
def _threads(me: Any) -> Any:
    return np.int64(dx(me)) * dy(me) * dz(me)


@device
def _named(me: Any, mask: Any) -> None:
    """The machine alone knows masks that name a part of the warp."""
    if np.int64(mask) & 0xFFFFFFFF != 0xFFFFFFFF:
        raise RuntimeError


def _shuffle(source: Callable[..., Any]) -> Any:
    source = device(source)

    @device
    def shuffle(me: Any, mask: Any, value: Any, turn: Any, operand: Any) -> Any:
        _named(me, mask)
        lane = number(me) % 32
        found = source(lane, np.int64(operand))
        if found < 0 or found >= 32:
            return value
        return _of_warp(me, number(me) - lane + found, value)

    return shuffle


@device
def _ballot(me: Any, mask: Any, said: Any, turn: Any) -> Any:
    _named(me, mask)
    first = number(me) - number(me) % 32
    bits = 0
    for lane in range(min(32, _threads(me) - first)):
        if _of_warp(me, first + lane, said):
            bits |= 1 << lane
    return np.int32(bits)


@device
def _all(me: Any, mask: Any, said: Any, turn: Any) -> Any:
    first = number(me) - number(me) % 32
    whole = (1 << min(32, _threads(me) - first)) - 1
    return np.int64(_ballot(me, mask, said, turn)) & 0xFFFFFFFF == whole


@device
def _equal(me: Any, mask: Any, said: Any, turn: Any) -> Any:
    return _all(me, mask, said, turn) or not _any(me, mask, said, turn)


@device
def _match_any(me: Any, mask: Any, value: Any, turn: Any) -> Any:
    _named(me, mask)
    first = number(me) - number(me) % 32
    bits = 0
    for lane in range(min(32, _threads(me) - first)):
        if _of_warp(me, first + lane, value) == value:
            bits |= 1 << lane
    return np.int32(bits)


@device
def _match_all(me: Any, mask: Any, value: Any, turn: Any) -> Any:
    bits = _match_any(me, mask, value, turn)
    first = number(me) - number(me) % 32
    whole = np.int64(bits) & 0xFFFFFFFF == (1 << min(32, _threads(me) - first)) - 1
    return (bits if whole else np.int32(0)), whole


@device
def _any(me: Any, mask: Any, said: Any, turn: Any) -> Any:
    return _ballot(me, mask, said, turn) != 0


@device
def _count(me: Any, said: Any, turn: Any) -> Any:
    count = 0
    for lane in range(_threads(me)):
        if _of_block(me, lane, said):
            count += 1
    return np.int32(count)


@device
def _and(me: Any, said: Any, turn: Any) -> Any:
    return np.int32(_count(me, said, turn) == _threads(me))


@device
def _or(me: Any, said: Any, turn: Any) -> Any:
    return np.int32(_count(me, said, turn) != 0)


@device
def _syncwarp(me: Any, mask: Any, turn: Any) -> None:
    _named(me, mask)


# by name: what looks at the others' parts, which argument is a thread's own, whether of a warp
EXCHANGES: dict[str, tuple[Any, int | None, bool]] = {
    "syncthreads": (None, None, False),
    "syncthreads_count": (_count, 0, False),
    "syncthreads_and": (_and, 0, False),
    "syncthreads_or": (_or, 0, False),
    "syncwarp": (_syncwarp, None, True),
    "shfl_sync": (_shuffle(lambda lane, operand: operand % 32), 1, True),
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
