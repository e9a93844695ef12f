"""Atomic operations: each lane in turn, and each gets the old value.

Lanes that hit different places are carried out together; those that hit one place take
turns, either place by place (with NumPy's running operations) or turn by turn.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.chunk import Write
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.core.registry import intrinsic
from simt.core.values import Value, cast
from simt.machine.indexing import BadIndex, locate
from simt.machine.lockstep import Lockstep
from simt.machine.machine import Machine
from simt.machine.per_thread import Choice

Lanes = np.ndarray[Any, Any]
Update = Callable[[Lanes, Lanes], Lanes]


def _in_turns(flat: Lanes, slots: Lanes, values: tuple[Lanes, ...], update: Any) -> Lanes:
    """The old value of each lane, with lanes of one slot in lane order."""
    old_values = np.empty(len(slots), flat.dtype)
    if not len(slots):
        return old_values
    order = np.argsort(slots, kind="stable")
    sorted_slots = slots[order]
    start = np.flatnonzero(np.concatenate([[True], sorted_slots[1:] != sorted_slots[:-1]]))
    length = np.diff(np.concatenate([start, [len(slots)]]))
    ufunc = update if isinstance(update, np.ufunc) else None
    if ufunc is not None and len(start) < length.max():
        for first, count in zip(start.tolist(), length.tolist(), strict=True):
            lanes = order[first : first + count]
            slot = slots[lanes[0]]
            steps = np.concatenate([flat[slot : slot + 1], values[0][lanes]])
            running = ufunc.accumulate(steps, dtype=flat.dtype)
            old_values[lanes] = running[:-1]
            flat[slot] = running[-1]
        return old_values
    turn = 0
    while len(start):
        lanes = order[start + turn]
        places = slots[lanes]
        old = flat[places]
        old_values[lanes] = old
        flat[places] = update(old, *(v[lanes] for v in values))
        turn += 1
        keep = length > turn
        start, length = start[keep], length[keep]
    return old_values


def _atomic(
    m: Machine, array: Any, index: Any, values: tuple[Value, ...], update: Any, used: bool,
    steady: bool = False,
) -> Value:  # fmt: skip
    if isinstance(array, Choice):
        return array.each(m, lambda view: _atomic(m, view, index, values, update, used, steady))
    if not isinstance(array, View):
        raise m.stop("not-a-kernel", "an atomic operation needs an array")
    try:
        located = locate(m, array, index)
    except BadIndex as stop:
        zero = cast(0, array.dtype) if used else None
        return m.skip(stop, lambda: _atomic(m, array, index, values, update, used), zero)
    if isinstance(located, View) or array.dtype.kind == "V":
        message = f"an atomic operation needs an index for each dimension of {array.name}"
        raise m.stop("not-a-kernel", message)
    place, slot = located
    if array.space == "const":
        message = f"{array.name} is constant memory and cannot be written"
        raise m.stop("not-a-kernel", message)
    if m.mask is EMPTY:
        return 0
    return update_slots(m, array, place, slot, values, update, used, steady)


def update_slots(
    m: Lockstep, array: View, place: tuple[Value, ...], slot: Value, values: tuple[Value, ...],
    update: Any, used: bool = True, steady: bool = False, block_only: bool = False,
) -> Value:  # fmt: skip
    """An atomic at one slot for each active thread: what each has found, if that is `used`.

    `update` makes of what is there, and of the values, what shall be there; with `steady` a NaN
    changes nothing.
    """
    for callback in m.events.access:
        callback(m, array, slot, place, "atomic")
    swaps = update is swapped
    write = Write(m, array, slot, None, used=used, swaps=swaps, block_only=block_only)
    for callback in m.events.write:
        callback(m, write, place)
    lane, slots = m.active_slots(array, slot, m.mask)
    operands = tuple(
        np.ascontiguousarray(
            np.broadcast_to(m.active_values(cast(m.rely(v), array.dtype), lane), slots.shape)
        )
        for v in values
    )
    if m.order is not None:
        turn = np.argsort(m.order[lane])
        lane, slots = lane[turn], slots[turn]
        operands = tuple(v[turn] for v in operands)
    flat = array.flat
    if not array.aligned:
        message = (
            f"an atomic needs elements at multiples of their size, and those of {array.name} are "
            "not: make the records with np.dtype(..., align=True)"
        )
        raise m.stop("unsupported", message)
    if steady and array.dtype.kind == "f":
        # a NaN that is there stays, and one that comes changes nothing
        old = flat[slots]
        operands = (np.where(np.isnan(old) | np.isnan(operands[0]), old, operands[0]),)
    if update in _SIGNED_ZEROS and (_negative_zeros(operands[0]) or _negative_zeros(flat[slots])):
        update = _SIGNED_ZEROS[update]
    if not used and isinstance(update, np.ufunc):  # the order cannot matter
        update.at(flat, slots, operands[0])
        m.written += 1
        return None
    before = flat[slots]
    old_values = _in_turns(flat, slots, operands, update)
    if (flat[slots] != before).any():
        m.written += 1
    result = np.zeros(m.blocks * m.threads, array.dtype)
    result[lane] = old_values
    return result.reshape(m.blocks, m.threads)


def _negative_zeros(values: Lanes) -> bool:
    return values.dtype.kind == "f" and bool(((values == 0) & np.signbit(values)).any())


def _strictly_better(better: np.ufunc) -> Update:
    """An update by strictly better values; NumPy's own functions take any of two zeros."""
    return lambda old, value: np.where(better(value, old) | np.isnan(old), value, old)


_SIGNED_ZEROS = {np.fmax: _strictly_better(np.greater), np.fmin: _strictly_better(np.less)}


def _register(name: str, update: Any, *, steady: bool = False) -> None:
    @intrinsic(f"atomic.{name}")
    def operate(m: Machine, ary: Any, idx: Any, val: Value, used: bool = True) -> Value:
        return _atomic(m, ary, idx, (val,), update, used, steady)

    operate.__doc__ = f"`cuda.atomic.{name}(array, index, value)`: what was there before."


def exchanged(old: Lanes, value: Lanes) -> Lanes:
    """`exch`: what is to be there."""
    return value


def increased(old: Lanes, limit: Lanes) -> Lanes:
    """`inc`: one more, and 0 after the limit."""
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def decreased(old: Lanes, limit: Lanes) -> Lanes:
    """`dec`: one less, and the limit after 0 or from above it."""
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


for _name, _update in {
    "add": np.add, "sub": np.subtract,
    "nanmax": np.fmax, "nanmin": np.fmin, "and_": np.bitwise_and, "or_": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": exchanged, "inc": increased, "dec": decreased,
}.items():  # fmt: skip
    _register(_name, _update)
_register("max", np.fmax, steady=True)
_register("min", np.fmin, steady=True)


def swapped(old: Lanes, expected: Lanes, value: Lanes) -> Lanes:
    """`cas`: the value where what is expected was found."""
    return np.where(old == expected, value, old)


@intrinsic("atomic.cas")
def cas(m: Machine, ary: Any, idx: Any, old: Value, val: Value, used: bool = True) -> Value:
    """`cuda.atomic.cas`: writes `val` where `old` is found; returns what was found."""
    return _atomic(m, ary, idx, (old, val), swapped, used)


@intrinsic("atomic.compare_and_swap")
def compare_and_swap(m: Machine, ary: Any, old: Value, val: Value, used: bool = True) -> Value:
    """`cuda.atomic.compare_and_swap`: `cas` on the first element."""
    return _atomic(m, ary, 0, (old, val), swapped, used)
