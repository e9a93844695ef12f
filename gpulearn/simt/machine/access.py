"""Every read and write that a kernel makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.memory import Record, View, full_slots, gather, scatter
from gpulearn.simt.core.values import Value, cast
from gpulearn.simt.machine.own_arrays import OwnArrays
from gpulearn.simt.machine.per_thread import Choice

__all__ = ["Access"]


class Access(OwnArrays):
    """Reads and writes of arrays, records and tuples by the active threads."""

    # --- where am I, and who

    # --- indexing

    # --- reading and writing

    def load(self, thing: Any, index: Any) -> Any:
        """`thing[index]` for arrays, records and tuples."""
        if type(thing) is not View:
            return self._item(thing, index)
        if type(index) is str:
            return thing.field(index)
        found = self.locate(thing, index)
        if type(found) is View:
            return found
        place, slot = found  # type: ignore[misc]
        if thing.dtype.kind == "V":
            return Record(thing, place)
        if self.counters is not None:
            self.counters.access(self, thing, slot, "load")
        value = gather(thing, slot, self.lane_base(thing))
        if self.hazards is not None:
            if thing.space in ("shared", "local"):
                self.check_written(thing, slot, place)
            if thing.space != "local":
                value = self.hazards.read(self, thing, slot, place, value)
        return value

    def _item(self, thing: Any, index: Any) -> Any:
        if isinstance(thing, Record):
            return self.load(thing.field(index), thing.index)
        if isinstance(thing, Choice):
            return thing.each(self, lambda view: self.load(view, index))
        if isinstance(thing, tuple):
            if isinstance(index, slice) or type(index) is int:
                try:
                    return thing[index]
                except IndexError:
                    message = f"index {index} is out of bounds for a tuple of {len(thing)}"
                    raise Stop(Finding("out-of-bounds", self.here(), message)) from None
            index = self.whole_number("a tuple", index)
            if type(index) is int:
                return self._item(thing, index)
            mask = True if self.mask is None else self.mask
            wrapped = np.where(index < 0, index + len(thing), index)
            beyond = ((wrapped < 0) | (wrapped >= len(thing))) & mask
            if np.any(beyond):
                message = f"an index is out of bounds for a tuple of {len(thing)}"
                raise Stop(Finding("out-of-bounds", self.here(), message))
            return np.choose(np.clip(wrapped, 0, len(thing) - 1), thing)
        message = f"{type(thing).__name__} cannot be indexed in a kernel"
        if isinstance(thing, list):
            message = "a list cannot be used in a kernel: hand it over as an array, or as a tuple"
        raise Stop(Finding("not-a-kernel", self.here(), message))

    def store(self, view: Any, index: Any, value: Any) -> None:
        """`view[index] = value` by the active threads."""
        if type(view) is not View:
            if isinstance(view, Record):
                return self.store(view.field(index), view.index, value)
            if isinstance(view, Choice):
                view.each(self, lambda one: self.store(one, index, value))
                return None
            message = f"{type(view).__name__} does not take item assignment"
            raise Stop(Finding("not-a-kernel", self.here(), message))
        found = self.locate(view, index)
        if type(found) is View:
            return self._fill(found, value)
        place, slot = found  # type: ignore[misc]
        if view.space == "const" or view.allocation.space == "const":
            message = f"{view.name} is constant memory and cannot be written"
            raise Stop(Finding("not-a-kernel", self.here(), message, array=view.name))
        if view.dtype.kind == "V":
            return self._store_record(view, place, value)
        if value is None:
            message = f"None cannot be stored in {view.name}: a function ended without a return"
            raise Stop(Finding("not-a-kernel", self.here(), message, array=view.name))
        value = cast(value, view.dtype)
        if not self.watching or self._changes(view, slot, value):
            self.written += 1
        if self.counters is not None:
            self.counters.access(self, view, slot, "store")
        if self.hazards is None:
            self._store_plain(view, slot, value)
            return None
        lane, slots = self.active_slots(view, slot, self.mask)
        value = self.active_values(value, lane)
        if self.order is not None:
            turn = np.argsort(self.order[lane])
            lane, slots = lane[turn], slots[turn]
            value = value[turn] if isinstance(value, np.ndarray) else value
        if view.space != "global":
            self.mark_written(view, slots)
        if view.space == "local":
            scatter(view, slots, value)
        else:
            self.hazards.write(self, view, lane, slots, value, place)
        return None

    def _changes(self, view: View, slot: Value, value: Value) -> bool:
        """Whether a store would change what is there."""
        lane, slots = self.active_slots(view, slot, self.mask)
        if not view.aligned:
            return True
        return bool((view.flat[slots] != self.active_values(value, lane)).any())

    def _store_plain(self, view: View, slot: Value, value: Value) -> None:
        slots = full_slots(view, slot, self.lane_base(view))
        if view.space == "const":
            return
        if self.mask is None:
            if isinstance(slots, np.ndarray) and isinstance(value, np.ndarray):
                if value.size > slots.size:
                    slots = np.broadcast_to(slots, np.broadcast_shapes(slots.shape, value.shape))
            elif isinstance(value, np.ndarray):
                value = value.ravel()[-1]  # all write one place, the last one wins
            scatter(view, slots, value)
            return
        shape = np.broadcast_shapes(np.shape(slots), np.shape(value), np.shape(self.mask))
        mask = np.broadcast_to(self.mask, shape)
        if isinstance(value, np.ndarray):
            value = np.broadcast_to(value, shape)[mask]
        scatter(view, np.broadcast_to(slots, shape)[mask], value)

    def _fill(self, view: View, value: Any) -> None:
        """`a[...] = number` or `a[...] = b`, one element after the other."""
        for place in np.ndindex(*(int(n) for n in view.shape)):
            item = value
            if isinstance(value, View):
                item = self.load(value, place[-value.ndim :])
            self.store(view, place, item)

    def _store_record(self, view: View, place: tuple[Value, ...], value: Any) -> None:
        if not isinstance(value, Record):
            message = f"an element of {view.name} takes a record"
            raise Stop(Finding("not-a-kernel", self.here(), message))
        for name in view.dtype.names or ():
            self.store(view.field(name), place, self.load(value.field(name), value.index))

    # --- memory of the kernel's own
