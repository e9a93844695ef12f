"""Blocks, one after the other, and their threads, each to its end or in turns between barriers.

What leads through blocks is compiled once, for all kernels: it calls a kernel's own part by its
address, which lies in the frame. That part is written in LLVM's language: it is short then, and
Numba has nothing to infer in what is compiled for each kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.imputils import call_iternext
from numba.extending import intrinsic

from simt.compiled.frame import ME, WORD, LaunchFrame, word_of
from simt.compiled.thread import (
    IDENTITY,
    INNER,
    OPTIONS,
    device,
    left_at,
    left_in,
    look,
    threads,
    word,
)

__all__ = ["SITE_BITS", "Part", "in_pass", "in_turns", "to_the_end"]

SITE_BITS = 12  # of a place where threads wait; above is the number of the kernel's statement
PLACE_BITS = 32  # of both; above are the passes of the loops around

across, down = IDENTITY["gridDim.x"], IDENTITY["gridDim.y"]
_noted, _note = word("noted")
_, _set_block = word("block")
_round, _set_round = word("round")
_meeting, _set_meeting = word("meeting")


@intrinsic
def _first_of(typingctx: Any, address: Any, block: Any) -> Any:
    """The first thread of a block, whose place in the grid is given."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        short = ir.IntType(32)
        places = [builder.trunc(builder.extract_value(args[1], n), short) for n in range(3)]
        return context.make_tuple(builder, ME, [args[0], *places, *[short(0)] * 3, WORD(0)])

    return ME(types.int64, types.UniTuple(types.int64, 3)), codegen


@intrinsic
def _numbered(typingctx: Any, me: Any, number: Any) -> Any:
    """A thread of the same block, given by its number alone."""
    return ME(ME, types.int64), lambda c, builder, s, args: builder.insert_value(*args, 7)


def _placed(builder: Any, me: Any, place: Any, number: Any) -> Any:
    for n, index in enumerate(place):
        me = builder.insert_value(me, builder.trunc(index, ir.IntType(32)), 4 + n)
    return builder.insert_value(me, number, 7)


# --- a kernel's part

_PART = types.UniTuple(types.int64, 2)(ME, types.boolean)


class Part:
    """What is compiled for one kernel: `part(me, begins)`, a function with an `address`.

    `me` is the first thread of a block. Without turns the part is all threads of the block. With
    turns it lets all of them begin, or those of the warp of `me` run on to where they wait: where
    that is (below 0 for their warp, above for their block, 0 at their end), and how many have
    ended; -1 if they wait apart.
    """

    def __init__(self, kernel: Any, frame: LaunchFrame) -> None:
        make_part = _part_in_turns if frame.turns else _part_to_the_end
        kernel.compile((ME,))  # before its part, whose errors would hide what it says
        (overload,) = kernel.overloads.values()
        result_type = overload.signature.return_type
        self.state = _state_bytes(overload.target_context, result_type) if frame.turns else 0
        body = make_part(kernel, frame)

        @njit(**INNER)
        def part(me: Any, begins: Any) -> Any:
            return body(me, begins)

        part.compile(_PART.args)
        (self._code,) = part.overloads.values()
        self.address = self._code.library.get_pointer_to_function(self._code.fndesc.llvm_func_name)


@intrinsic
def _run_part(typingctx: Any, me: Any, begins: Any) -> Any:
    """Calls the kernel's part."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(_PART.return_type, _PART.args)
        address = word_of(builder, args[0], "part")
        part = builder.inttoptr(address, kind.as_pointer())
        status, pair = convention.call_function(builder, part, _PART.return_type, _PART.args, args)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return pair

    return _PART, codegen


def _part_to_the_end(kernel: Any, frame: LaunchFrame) -> Any:
    """The part of a kernel whose threads run one after the other."""

    @intrinsic
    def part(typingctx: Any, me: Any, begins: Any) -> Any:
        kind = types.Dispatcher(kernel)
        callee_type = kind.get_call_type(typingctx, (ME,), {})

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            run = _link(context, kind, callee_type)
            with _each_thread(builder, frame, args[0]) as own:
                run(builder, (own,))
            return context.get_constant_null(_PART.return_type)

        return _PART, codegen

    return part


def _part_in_turns(kernel: Any, frame: LaunchFrame) -> Any:
    """The part of a kernel whose threads wait for each other: each is a generator."""

    @intrinsic
    def part(typingctx: Any, me: Any, begins: Any) -> Any:
        kind = types.Dispatcher(kernel)
        called = kind.get_call_type(typingctx, (ME,), {})
        gen_type = called.return_type

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            run = _link(context, kind, called)
            me, begins = args
            states, size = word_of(builder, me, "states"), WORD(_state_bytes(context, gen_type))

            def state(number: Any) -> Any:
                place = builder.add(states, builder.mul(number, size))
                return builder.inttoptr(place, context.get_value_type(gen_type))

            def on(number: Any) -> Any:
                """Where a thread waits next."""
                step = call_iternext(context, builder, gen_type, state(number))
                site = context.cast(builder, step.yielded_value(), gen_type.yield_type, types.int64)
                return builder.select(step.is_valid(), site, WORD(0))

            where, ended, apart = (cgutils.alloca_once_value(builder, WORD(0)) for _ in range(3))
            with builder.if_else(begins) as (first, later):
                with first, _each_thread(builder, frame, me) as own:
                    builder.store(WORD(0), left_at(builder, own))
                    generator = builder.load(run(builder, (own,)))
                    builder.store(generator, state(builder.extract_value(own, 7)))
                with later:
                    begin = builder.extract_value(me, 7)
                    count = _smaller(builder, builder.sub(_count(builder, me), begin), WORD(32))
                    with cgutils.for_range(builder, count) as lane:
                        now = on(builder.add(begin, lane.index))
                        gone = builder.icmp_signed("==", now, WORD(0))
                        _add(builder, ended, gone)
                        known = builder.load(where)
                        none = builder.icmp_signed("==", known, WORD(0))
                        known = builder.select(none, now, known)
                        builder.store(known, where)
                        other = builder.icmp_signed("!=", known, now)
                        _add(builder, apart, builder.and_(builder.not_(gone), other))
            met = builder.icmp_signed("==", builder.load(apart), WORD(0))
            outcome = builder.select(met, builder.load(ended), WORD(-1))
            return context.make_tuple(builder, _PART.return_type, [builder.load(where), outcome])

        return _PART, codegen

    return part


@contextmanager
def _each_thread(builder: Any, frame: LaunchFrame, first: Any) -> Iterator[Any]:
    """A loop over the threads of a block, with their memory poisoned."""
    x, y, z = (word_of(builder, first, f"blockDim.{axis}") for axis in "xyz")
    _poison(builder, frame, "shared", first)
    with cgutils.for_range(builder, z) as k, cgutils.for_range(builder, y) as j:
        row = builder.mul(builder.add(builder.mul(k.index, y), j.index), x)
        with cgutils.for_range(builder, x) as i:
            number = builder.add(row, i.index)
            own = _placed(builder, first, (i.index, j.index, k.index), number)
            _poison(builder, frame, "local", own)
            yield own


def _count(builder: Any, me: Any) -> Any:
    """The number of threads of a block."""
    x, y, z = (word_of(builder, me, f"blockDim.{axis}") for axis in "xyz")
    return builder.mul(builder.mul(x, y), z)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _add(builder: Any, total: Any, truth: Any) -> None:
    builder.store(builder.add(builder.load(total), builder.zext(truth, WORD)), total)


def _link(context: Any, kind: Any, called: Any) -> Any:
    run = context.get_function(kind, called)
    context.add_linking_libs(getattr(run, "libs", ()))
    return run


def _poison(builder: Any, frame: LaunchFrame, space: str, me: Any) -> None:
    """Fills unwritten memory with a value that cannot be a result."""
    base = word_of(builder, me, space)
    if space == "local" and frame.turns:
        own = builder.mul(builder.extract_value(me, 7), WORD(frame.sizes[space]))
        base = builder.add(base, own)
    for begin, count, byte in frame.pieces[space]:
        pointer = builder.inttoptr(builder.add(base, WORD(begin)), ir.IntType(8).as_pointer())
        cgutils.memset(builder, pointer, WORD(count), byte)


def _state_bytes(context: Any, generator: Any) -> int:
    """The bytes of a generator's state."""
    kind = context.data_model_manager[generator].get_data_type()
    return int(context.get_abi_sizeof(kind))


# --- all blocks


@device
def _block(address: Any, number: Any) -> Any:
    """The first thread of a block that begins."""
    nobody = _first_of(address, (0, 0, 0))
    x, y = across(nobody), down(nobody)
    _set_block(nobody, number)
    look(nobody)
    return _first_of(address, (number % x, number // x % y, number // (x * y)))


@njit(**OPTIONS)
def to_the_end(address: Any, first: Any, last: Any) -> None:
    """Runs the blocks `first` to `last`, each thread from its beginning to its end."""
    for number in range(first, last):
        _run_part(_block(address, number), True)


@device
def in_pass(place: Any, counts: Any) -> Any:
    """A place where threads wait, in one pass of the loops around it: a hash of their counts."""
    passes = 0
    for count in counts:
        passes = passes * 1_000_003 + count
    return (passes & 0x3FFFFFFF) << PLACE_BITS | place


@njit(**OPTIONS)
def in_turns(address: Any, first: Any, last: Any) -> None:
    """Runs the blocks `first` to `last`; the threads of each wait for each other.

    What threads have to say where some do not come is the machine's: this only notes a block in
    which all others have returned before.
    """
    for number in range(first, last):
        me = _block(address, number)
        count = threads(me)
        _run_part(me, True)
        where = 1
        while where != 0:
            where, ended = 0, 0
            for warp in range(0, count, 32):
                here = -1
                while here < 0:
                    here, gone = _run_part(_numbered(me, warp), False)
                    if gone < 0 or (here < 0 and gone != 0):
                        raise RuntimeError
                    if here < 0:
                        _set_round(me, _round(me) + 1)
                ended += gone
                if here != 0:
                    if where != 0 and where != here:
                        raise RuntimeError
                    where = here
            if where != 0 and ended != 0:
                left = 0
                for thread in range(count):
                    place = left_in(_numbered(me, thread))
                    if place != 0 and place < where % (1 << PLACE_BITS) >> SITE_BITS:
                        left += 1
                if left != ended:
                    raise RuntimeError
                if _noted(me) < 0:
                    _note(me, number)
            _set_meeting(me, _meeting(me) + 1)
