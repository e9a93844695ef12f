"""Array accesses of compiled code, each index of which is checked first, and conversions.

An index outside an array ends the launch; so does a negative one, which the machine reports.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from simt.compiled.frame import NotCompiled
from simt.compiled.thread import device

__all__ = ["converted", "in_place", "load", "store", "whole"]


def _cast(context: Any, builder: Any, value: Any, have: Any, want: Any) -> Any:
    """A value in another type; a float as an integer by the rules of `simt.core.values`."""
    if not (isinstance(have, types.Float) and isinstance(want, types.Integer)):
        return context.cast(builder, value, have, want)
    bits = max(16, want.bitwidth)
    word = ir.IntType(bits)
    name = f"llvm.fpto{'si' if want.signed else 'ui'}.sat"
    kind = ir.FunctionType(word, [value.type])
    result = builder.call(builder.module.declare_intrinsic(name, [word, value.type], kind), [value])
    if 64 in (bits, have.bitwidth):
        nan = builder.fcmp_unordered("uno", value, value)
        result = builder.select(nan, word(1 << (bits - 1)), result)
    return result if bits == want.bitwidth else builder.trunc(result, ir.IntType(want.bitwidth))


def _conversion(value: Any, want: Any, *others: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _cast(context, builder, args[0], value, want)

    return want(value, *others), codegen


@intrinsic
def converted(typingctx: Any, value: Any, like: Any) -> Any:
    """A number in the type of another number or in a named type; anything else as it is."""
    target = like.instance_type if isinstance(like, types.NumberClass) else like
    return _conversion(value, _stored_type(value, target), like)


@intrinsic
def whole(typingctx: Any, value: Any) -> Any:
    """`int(value)`."""
    return _conversion(value, value if isinstance(value, types.Integer) else types.int64)


def _stored_type(value: Any, place: Any) -> Any:
    """The type in which a value is stored in a place: that of the place, if both are numbers."""
    numbers = types.Number, types.Boolean
    return place if isinstance(value, numbers) and isinstance(place, numbers) else value


def _parts(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """The types and values of an index, one for each dimension that it covers."""
    if isinstance(kind, types.BaseTuple):
        return [(k, builder.extract_value(value, n)) for n, k in enumerate(kind.types)]
    return [(kind, value)]


def _checked_type(kind: Any) -> Any:
    """The type of an index whose numbers have been checked.

    Raises:
        NotCompiled: it is no index of numbers and slices.
    """
    if isinstance(kind, types.BaseTuple):
        return types.Tuple.from_types([_checked_type(k) for k in kind.types])
    if isinstance(kind, types.Integer):
        return types.uint64
    if isinstance(kind, types.SliceType | types.EllipsisType | types.NoneType):
        return kind
    raise NotCompiled(f"an index of type {kind}")


def _checked_index(context: Any, builder: Any, array: Any, index: Any, args: Any) -> Any:
    """The index as unsigned numbers, checked to be within the array."""
    shape = cgutils.unpack_tuple(
        builder, context.make_array(array)(context, builder, args[0]).shape
    )
    parts = _parts(builder, index, args[1])
    kinds = [k for k, _ in parts]
    indexed = sum(not isinstance(k, types.EllipsisType | types.NoneType) for k in kinds)
    axis, values = 0, []
    for kind, value in parts:
        if isinstance(kind, types.EllipsisType):
            axis += array.ndim - indexed
        elif isinstance(kind, types.Integer):
            value = context.cast(builder, value, kind, types.int64 if kind.signed else types.uint64)
            outside = builder.icmp_unsigned(">=", value, shape[axis])
            with builder.if_then(outside, likely=False):
                context.call_conv.return_user_exc(builder, IndexError, ())
        axis += not isinstance(kind, types.EllipsisType | types.NoneType)
        values.append(value)
    if isinstance(index, types.BaseTuple):
        return context.make_tuple(builder, _checked_type(index), values)
    return values[0]


def _access(typingctx: Any, operation: Any, kinds: tuple[Any, ...]) -> Any:
    """An access to an array by Numba's own code, after its index has been checked."""
    array, index, *values = kinds
    if [k for k in values if isinstance(getattr(k, "dtype", None), types.Float)]:
        raise NotCompiled("several floats that are stored at once")
    index_type = _checked_type(index)
    function = typingctx.resolve_value_type(operation)
    stored = (_stored_type(v, array.dtype) for v in values)
    inner = function.get_call_type(typingctx, (array, index_type, *stored), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        operands = [args[0], _checked_index(context, builder, array, index, args), *args[2:]]
        have = (array, index_type, *values)
        cast = [
            _cast(context, builder, v, h, w)
            for v, h, w in zip(operands, have, inner.args, strict=True)
        ]
        return context.get_function(operation, inner)(builder, cast)

    return inner.return_type(*kinds), codegen


@intrinsic(prefer_literal=True)
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


@intrinsic
def store(typingctx: Any, thing: Any, index: Any, value: Any) -> Any:
    """`thing[index] = value`."""
    return _access(typingctx, operator.setitem, (thing, index, value))


@device
def in_place(array: Any) -> Any:
    """The array, if it lies at a multiple of the size of its elements."""
    if array.ctypes.data % array.itemsize:
        raise IndexError
    return array
