"""Array accesses of compiled code, each index of which is checked first.

An index outside an array ends the launch; so does a negative one, of which the machine tells.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from gpulearn.simt.compiled.frame import NotCompiled

__all__ = ["load", "store"]


def _parts(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """The types and values of an index, one for each dimension that it is about."""
    if isinstance(kind, types.BaseTuple):
        return [(k, builder.extract_value(value, n)) for n, k in enumerate(kind.types)]
    return [(kind, value)]


def _checkable(kind: Any) -> Any:
    """The type of an index whose numbers have been checked.

    Raises:
        NotCompiled: it is no index of numbers and slices.
    """
    if isinstance(kind, types.BaseTuple):
        return types.Tuple.from_types([_checkable(k) for k in kind.types])
    if isinstance(kind, types.Integer):
        return types.uint64
    if isinstance(kind, types.SliceType | types.EllipsisType | types.NoneType):
        return kind
    raise NotCompiled(f"an index of type {kind}")


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
