"""Conditions, branches and assignment under a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.masks import EMPTY, Mask, split, union
from gpulearn.simt.core.memory import Record, View
from gpulearn.simt.core.values import BOOL, Value, cast, dtype_of, normal, settle, truth, where
from gpulearn.simt.frontend.expressions import UNDEFINED
from gpulearn.simt.frontend.names import DeviceFunction, Intrinsic
from gpulearn.simt.machine.access import Access
from gpulearn.simt.machine.control_flow import Range
from gpulearn.simt.machine.per_thread import Choice, choose_view

__all__ = ["Logic"]


def _zero(kind: Any) -> Any:
    """The 0 of a dtype, or a tuple of them; None if the type is not known."""
    if isinstance(kind, tuple):
        return tuple(_zero(k) for k in kind)
    return None if kind is None else cast(0, kind)


def _zero_like(value: Any) -> Any:
    """The 0 that stands beside a value; None if it is no number."""
    if isinstance(value, tuple):
        items = [_zero_like(v) for v in value]
        return None if any(i is None for i in items) else tuple(items)
    number = isinstance(value, np.ndarray | np.generic | bool | int | float | complex)
    return cast(0, dtype_of(value)) if number else None


class Logic(Access):
    """What each thread decides for itself: which side of a branch, which value to keep."""

    def _under(self, mask: Mask, compute: Callable[[], Value]) -> Value:
        before, self.mask = self.mask, mask
        try:
            return compute()
        finally:
            self.mask = before

    def choose(
        self,
        condition: Value,
        yes: Callable[[], Any],
        no: Callable[[], Any],
        kinds: tuple[Any, Any] = (None, None),
    ) -> Any:
        """`yes if condition else no`, each evaluated by those who need it.

        `kinds` are the types of numbers that are written out: the result has the common type
        of both values even if all threads take one.
        """
        taken, other = split(self.mask, truth(condition))
        if self.counters is not None:
            self.counters.diverged(self, taken, other)
        if other is EMPTY:
            return settle(yes(), kinds[1], join=True)
        if taken is EMPTY:
            return settle(no(), kinds[0], join=True)
        first = self._under(taken, yes)
        return self.merged(self._under(other, no), first, taken)

    def both(self, a: Value, b: Value) -> Value:
        """`a and b` where evaluating b does no harm."""
        if type(a) is bool:
            return b if a else a
        if getattr(a, "dtype", None) is BOOL and dtype_of(b) is BOOL:
            return np.logical_and(a, b)
        return where(truth(a), b, a) if isinstance(a, np.ndarray) else (b if a else a)

    def either(self, a: Value, b: Value) -> Value:
        """`a or b` where evaluating b does no harm."""
        if type(a) is bool:
            return a if a else b
        if getattr(a, "dtype", None) is BOOL and dtype_of(b) is BOOL:
            return np.logical_or(a, b)
        return where(truth(a), a, b) if isinstance(a, np.ndarray) else (a if a else b)

    def both_lazily(self, a: Value, compute: Callable[[], Value]) -> Value:
        """`a and b`: only the threads with a true `a` compute b."""
        needed, other = split(self.mask, truth(a))
        if needed is EMPTY:
            return a
        b = self._under(needed, compute)
        return b if other is EMPTY else self.both(a, b)

    def either_lazily(self, a: Value, compute: Callable[[], Value]) -> Value:
        """`a or b`: only the threads with a false `a` compute b."""
        other, needed = split(self.mask, truth(a))
        if needed is EMPTY:
            return a
        b = self._under(needed, compute)
        return b if other is EMPTY else self.either(a, b)

    def contains(self, items: Any, value: Value) -> Value:
        """`value in items` for a tuple."""
        if not isinstance(items, tuple):
            raise Stop(Finding("unsupported", self.here(), "`in` works on tuples only"))
        found: Value = False
        for item in items:
            found = np.logical_or(found, np.equal(item, value))
        return normal(found)

    def branch(self, condition: Value) -> tuple[Mask, Mask]:
        """Narrows the mask to the threads that take the branch.

        Returns the mask before, and the mask of the threads that do not take it.
        """
        before = self.mask
        self.mask, other = split(before, truth(condition))
        if self.counters is not None:
            self.counters.diverged(self, self.mask, other)
        return before, other

    def rejoin(self, before: Mask, a: Mask, b: Mask) -> Mask:
        """The threads that come out of either branch."""
        return self.whole(union(a, b), before)

    def whole(self, mask: Mask, before: Mask) -> Mask:
        """The mask itself, or `before` if it is made of the same threads."""
        if mask is before or mask is EMPTY or mask is None:
            return mask
        if before is None:
            return None if mask.all() else mask
        same = bool((mask == before).all())
        return before if same else mask

    def put(self, old: Any, new: Any) -> Any:
        """What a variable holds after the active threads assigned to it."""
        if self.mask is None or old is UNDEFINED or new is old:
            return new
        return self.merged(old, new)

    def assigned(self, value: Any, known: Mask, name: str, kind: Any) -> Any:
        """A variable's value where some path leads to the read without an assignment.

        `known` are the threads that have set it. For the others it is a finding and, as
        Numba has it, the number 0.
        """
        if known is None or known is self.mask:
            return value
        _, missing = (EMPTY, self.mask) if known is EMPTY else split(self.mask, known)
        if missing is EMPTY:
            return value
        zero = _zero(kind) if value is UNDEFINED else _zero_like(value)
        who, count = self.who(missing), len(self.lanes(missing))
        message = (
            f"{self.text(who[0])} reads {name}, to which nothing was assigned on the path that "
            f"this thread took: {'it is not set' if zero is None else 'on a GPU it is 0'}"
        )
        finding = Finding("uninitialised-read", self.here(), message, who, name, count=count)
        finding.function = self.elsewhere()
        if zero is None:
            raise Stop(finding)
        key = ("uninitialised-read", name, self.line)
        if self.hazards is not None and not self.findings.again(key, count):
            self.findings.add(key, finding)
        return zero if value is UNDEFINED else self.merged(zero, value, known)

    def merged(self, old: Any, new: Any, mask: Mask = None) -> Any:
        """`new` for the threads in the mask, `old` for the others."""
        mask = self.mask if mask is None else mask
        if old is new or mask is None:
            return new
        if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
            items = [self.merged(o, n, mask) for o, n in zip(old, new, strict=True)]
            return type(new)(*items) if hasattr(new, "_fields") else tuple(items)
        if isinstance(new, View | Choice) and isinstance(old, View | Choice):
            return self._merged_views(old, new, mask)
        if isinstance(new, Record) and isinstance(old, Record) and new.view is old.view:
            index = [where(mask, n, o) for n, o in zip(new.index, old.index, strict=True)]
            return Record(new.view, tuple(index))
        if old is UNDEFINED or old is None or new is None:
            return new
        if type(old) is type(new) and isinstance(old, Range | str | Intrinsic | DeviceFunction):
            return new
        try:
            return where(mask, new, old)
        except TypeError:
            return new

    def _merged_views(self, old: View | Choice, new: View | Choice, mask: Mask) -> View | Choice:
        if isinstance(old, Choice) or isinstance(new, Choice) or not old.alike(new):
            return choose_view(old, new, mask)
        shape = tuple(
            n if type(n) is int and n == o else where(mask, n, o)
            for n, o in zip(new.shape, old.shape, strict=True)
        )
        offset = where(mask, new.offset, old.offset)
        return View(new.allocation, new.dtype, shape, new.strides, offset, new.name)
