"""What kernels call in compiled code: a thread's place, atomics and bits.

One thread at a time carries out an atomic: there is nobody between its read and its write.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from simt.compiled.access import converted, load, store, whole
from simt.compiled.thread import GRID, INNER, device, lanemask_lt

__all__ = ["CALLS", "PAIRS", "SHIFTS", "SUBSTITUTES"]


# --- atomics


def _atomic(update: Callable[..., Any]) -> Any:
    @device
    def operate(me: Any, array: Any, index: Any, value: Any) -> Any:
        old = load(array, index)
        store(array, index, update(old, converted(value, old)))
        return old

    return operate


@device
def _exchange(old: Any, value: Any) -> Any:
    return value


@device
def _greatest(old: Any, value: Any) -> Any:
    return value if value > old else old  # a NaN stays, and one that comes changes nothing


@device
def _least(old: Any, value: Any) -> Any:
    return value if value < old else old


@device
def _increment(old: Any, limit: Any) -> Any:
    return old - old if old >= limit else old + converted(1, old)


@device
def _decrement(old: Any, limit: Any) -> Any:
    return limit if old == 0 or old > limit else old - converted(1, old)


@device
def _swap(me: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    old = load(array, index)
    if old == converted(expected, old):
        store(array, index, value)
    return old


@device
def _swap_first(me: Any, array: Any, expected: Any, value: Any) -> Any:
    return _swap(me, array, 0, expected, value)


ATOMICS: dict[str, Any] = {
    f"atomic.{name}": _atomic(update)
    for name, update in {
        "add": operator.add, "sub": operator.sub, "and_": operator.and_, "or_": operator.or_,
        "xor": operator.xor, "exch": _exchange, "inc": _increment,
        "dec": _decrement, "max": _greatest, "min": _least,
    }.items()
} | {"atomic.cas": _swap, "atomic.compare_and_swap": _swap_first}  # fmt: skip


@device
def _fence(me: Any) -> None:
    """Does nothing: threads run one at a time, and all see what each has written."""


# --- numbers


@device
def _round(value: Any, digits: Any = None) -> Any:
    """`round`."""
    return whole(np.rint(value)) if digits is None else round(value, digits)


@device
def _scale(value: Any, by: Any) -> Any:
    """`math.ldexp`."""
    return math.ldexp(value, converted(by, np.int32))


@device
def _shift_left(value: Any, by: Any) -> Any:
    """`<<`, which leaves nothing after 64 steps or backwards."""
    whole = value << (by - by)
    return value << by if 0 <= by < 64 else whole ^ whole


@device
def _shift_right(value: Any, by: Any) -> Any:
    """`>>`, which leaves the sign after 64 steps or backwards."""
    return value >> by if 0 <= by < 64 else value >> 63 >> 1


def _pair(python: Any, choose: Callable[..., Any]) -> Any:
    """`min` or `max` of two: of floats by PTX's rules, else by Python's, as Numba has it."""

    def best(a: Any, b: Any) -> Any:
        return python(a, b)

    def stub(a: Any, b: Any) -> Any:
        """A placeholder; one of the two implementations takes its place."""

    @overload(stub, jit_options=INNER)
    def of_types(a: Any, b: Any) -> Any:
        return choose if isinstance(a, types.Float) and isinstance(b, types.Float) else best

    return stub


def _smaller(a: Any, b: Any) -> Any:
    return b if a != a or b < a or (b == a and math.copysign(1.0, b) < 0) else a


def _larger(a: Any, b: Any) -> Any:
    return b if a != a or b > a or (b == a and math.copysign(1.0, a) < 0) else a


# what Numba has otherwise for CPUs: whole numbers as integers, what a float becomes that is no
# integer of the type, pairs with a NaN or with two zeros, and shifts by too much
SUBSTITUTES: dict[Any, Any] = {
    math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, int: whole,
    round: _round, math.ldexp: _scale,
}  # fmt: skip
PAIRS: dict[Any, Any] = {min: _pair(min, _smaller), max: _pair(max, _larger)}
SHIFTS: dict[type[ast.operator], Any] = {ast.LShift: _shift_left, ast.RShift: _shift_right}


def _bits(name: str) -> Any:
    """An operation of LLVM's on the bits of a number."""

    @intrinsic
    def operate(typingctx: Any, me: Any, value: Any) -> Any:
        kind = types.unliteral(value)
        kind = types.int8 if kind == types.boolean else kind

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = context.cast(builder, args[1], signature.args[1], kind)
            if name in ("ctlz", "cttz"):
                return getattr(builder, name)(word, ir.IntType(1)(0))
            return getattr(builder, name)(word)

        return kind(me, kind), codegen

    return operate


_popc, _clz, _ctz = map(_bits, ("ctpop", "ctlz", "cttz"))


@device
def _ffs(me: Any, value: Any) -> Any:
    return np.uint32(0 if value == 0 else _ctz(me, value) + 1)


CALLS: dict[str, Any] = {
    **GRID, **ATOMICS, "lanemask_lt": lanemask_lt, "popc": _popc, "clz": _clz, "ffs": _ffs,
    "threadfence": _fence, "threadfence_block": _fence, "threadfence_system": _fence,
}  # fmt: skip
