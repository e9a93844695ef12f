"""Blocks, one after the other, and their threads, each to its end or in turns between barriers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from gpulearn.simt.compiled.frame import HEADER, ME, WORD, LaunchFrame, reader, word_at
from gpulearn.simt.compiled.thread import OPTIONS, device, leave, left_in, look, word

__all__ = ["SITE_BITS", "in_pass", "in_turns", "to_the_end"]

SITE_BITS = 12  # of a place where threads wait; above is the number of the kernel's statement
PLACE_BITS = 32  # of both; above are the passes of the loops around


def _header(name: str) -> Any:
    return reader(types.int64, HEADER[name])


dx, dy, dz, gx, gy = (
    _header(name) for name in ("blockDim.x", "blockDim.y", "blockDim.z", "gridDim.x", "gridDim.y")
)
_states = _header("states")
_noted, _note = word("noted")
_, _set_block = word("block")
_round, _set_round = word("round")
_meeting, _set_meeting = word("meeting")


@intrinsic
def _me(typingctx: Any, address: Any, block: Any, thread: Any, number: Any) -> Any:
    """Who a thread is."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [args[0]]
        for triple in args[1:3]:
            parts += [
                builder.trunc(builder.extract_value(triple, n), ir.IntType(32)) for n in range(3)
            ]
        return context.make_tuple(builder, ME, [*parts, args[3]])

    triple = types.UniTuple(types.int64, 3)
    return ME(types.int64, triple, triple, types.int64), codegen


def _poison(frame: LaunchFrame, space: str) -> Any:
    """A function of `me` that fills what nobody has written with what is no result."""

    @intrinsic
    def fill(typingctx: Any, me: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = builder.load(word_at(builder, args[0], HEADER[space]))
            if space == "local" and frame.turns:
                own = builder.mul(builder.extract_value(args[0], 7), WORD(frame.sizes[space]))
                base = builder.add(base, own)
            for begin, count, byte in frame.pieces[space]:
                pointer = builder.inttoptr(
                    builder.add(base, WORD(begin)), ir.IntType(8).as_pointer()
                )
                cgutils.memset(builder, pointer, WORD(count), byte)
            return context.get_dummy_value()

        return types.none(me), codegen

    return fill


def to_the_end(kernel: Any, frame: LaunchFrame) -> Any:
    """Runs the blocks `first` to `last`, each thread from its beginning to its end."""
    clear, clear_own = _poison(frame, "shared"), _poison(frame, "local")

    @njit(**OPTIONS)
    def run(address: Any, first: Any, last: Any) -> Any:
        nobody = _me(address, (0, 0, 0), (0, 0, 0), 0)
        x, y, z = dx(nobody), dy(nobody), dz(nobody)
        across, down = gx(nobody), gy(nobody)
        for number in range(first, last):
            _set_block(nobody, number)
            look(nobody)
            clear(nobody)
            block = (number % across, number // across % down, number // (across * down))
            thread = 0
            for k in range(z):
                for j in range(y):
                    for i in range(x):
                        me = _me(address, block, (i, j, k), thread)
                        clear_own(me)
                        kernel(me)
                        thread += 1
        return 0

    return run


# --- in turns


@intrinsic
def _size(typingctx: Any, generator: Any) -> Any:
    """The bytes of a generator's state."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.data_model_manager[generator].get_data_type()
        return WORD(context.get_abi_sizeof(kind))

    return types.int64(generator), codegen


@intrinsic
def _keep(typingctx: Any, generator: Any, address: Any) -> Any:
    """Puts the state of a generator at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.inttoptr(args[1], args[0].type)
        builder.store(builder.load(args[0]), place)
        return context.get_dummy_value()

    return types.none(generator, types.int64), codegen


@intrinsic
def _kept(typingctx: Any, like: Any, address: Any) -> Any:
    """The generator whose state is at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[1], args[0].type)

    return like(like, types.int64), codegen


@device
def in_pass(place: Any, counts: Any) -> Any:
    """A place where threads wait, in one pass of the loops around it: a hash of their counts."""
    passes = 0
    for count in counts:
        passes = passes * 1_000_003 + count
    return (passes & 0x3FFFFFFF) << PLACE_BITS | place


def in_turns(kernel: Any, frame: LaunchFrame) -> Any:
    """Runs the blocks `first` to `last`; the threads of each wait for each other.

    A thread runs on to where it waits and says where that is: below 0 for its warp, above for
    its block, 0 at its end. What threads have to say where some do not come is the machine's:
    it only notes a block in which all others have returned before. Without blocks it gives the
    bytes of a thread's state.
    """
    clear, clear_own = _poison(frame, "shared"), _poison(frame, "local")

    @njit(**OPTIONS)
    def start(address: Any, number: Any) -> None:
        nobody = _me(address, (0, 0, 0), (0, 0, 0), 0)
        size = _size(kernel(nobody))
        x, y, z = dx(nobody), dy(nobody), dz(nobody)
        across, down = gx(nobody), gy(nobody)
        _set_block(nobody, number)
        look(nobody)
        clear(nobody)
        block = (number % across, number // across % down, number // (across * down))
        for thread in range(x * y * z):
            place = (thread % x, thread // x % y, thread // (x * y))
            me = _me(address, block, place, thread)
            clear_own(me)
            leave(me, 0)
            _keep(kernel(me), _states(me) + thread * size)

    @njit(**OPTIONS)
    def meet(address: Any, first: Any, last: Any) -> Any:
        """Runs threads on to where they wait: where that is, and how many have ended before."""
        nobody = _me(address, (0, 0, 0), (0, 0, 0), 0)
        like = kernel(nobody)
        size = _size(like)
        where, ended = 0, 0
        for thread in range(first, last):
            now = 0
            for site in _kept(like, _states(nobody) + thread * size):
                now = site
                break
            if now == 0:
                ended += 1
            elif where == 0:
                where = now
            elif where != now:
                raise RuntimeError
        return where, ended

    @njit(**OPTIONS)
    def run(address: Any, first: Any, last: Any) -> Any:
        nobody = _me(address, (0, 0, 0), (0, 0, 0), 0)
        if first == last:
            return _size(kernel(nobody))
        threads = dx(nobody) * dy(nobody) * dz(nobody)
        for number in range(first, last):
            start(address, number)
            where = 1
            while where != 0:
                where, ended = 0, 0
                for warp in range(0, threads, 32):
                    here = -1
                    while here < 0:
                        here, gone = meet(address, warp, min(warp + 32, threads))
                        if here < 0:
                            if gone != 0:
                                raise RuntimeError
                            _set_round(nobody, _round(nobody) + 1)
                    ended += gone
                    if here != 0:
                        if where != 0 and where != here:
                            raise RuntimeError
                        where = here
                if where != 0 and ended != 0:
                    left = 0
                    for thread in range(threads):
                        place = left_in(_me(address, (0, 0, 0), (0, 0, 0), thread))
                        if place != 0 and place < where % (1 << PLACE_BITS) >> SITE_BITS:
                            left += 1
                    if left != ended:
                        raise RuntimeError
                    if _noted(nobody) < 0:
                        _note(nobody, number)
                _set_meeting(nobody, _meeting(nobody) + 1)
        return 0

    return run
