"""Arrays that a kernel makes for itself, and whether anybody has written them yet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.limits import MAX_LOCAL
from gpulearn.simt.core.memory import Allocation, View, poison
from gpulearn.simt.core.values import Value
from gpulearn.simt.machine.indexing import Indexing

__all__ = ["OwnArrays", "TooLarge"]

# bytes of a chunk; shared memory has shadows several times its size
BUDGET = {"shared": 16 << 20, "local": 256 << 20}

Lanes = np.ndarray[Any, Any]


class TooLarge(Exception):  # noqa: N818 - asks for another attempt
    """The chunk's own arrays would take too much memory: `blocks` of them would do."""

    def __init__(self, blocks: int) -> None:
        super().__init__(blocks)
        self.blocks = blocks


class OwnArrays(Indexing):
    """Shared, local and constant memory of a chunk."""

    def constant_array(self, data: Lanes, name: str) -> View:
        """A NumPy array among the kernel's globals, or `const.array_like`."""
        key = ("const", id(data))
        if key not in self.arrays:
            copy = np.ascontiguousarray(data)
            allocation = Allocation("const", copy.reshape(-1).view(np.uint8))
            allocation.readonly = True
            self.arrays[key] = View(allocation, copy.dtype, copy.shape, copy.strides, 0, name)
        return self.arrays[key]

    def private_array(
        self, space: str, site: object, shape: Any, dtype: np.dtype[Any], name: str
    ) -> View:
        """`shared.array` or `local.array`, made when the place is first reached."""
        key = (space, site)
        if key in self.arrays:
            return self.arrays[key]
        shape = shape if isinstance(shape, tuple) else (shape,)
        shape = tuple(int(n) for n in shape)
        count = math.prod(shape) * dtype.itemsize
        dynamic = space == "shared" and count == 0
        if dynamic:
            view = self._dynamic(dtype, name)
        else:
            size = -(-count // 16) * 16
            many = self.blocks if space == "shared" else self.blocks * self.threads
            self._affordable(space, size, size * many)
            data = np.empty(size * many, np.uint8)
            poison(data[: len(data) // dtype.itemsize * dtype.itemsize].view(_plain(dtype)))
            allocation = Allocation(space, data, size)
            strides = tuple(dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))
            if space == "shared":
                allocation.offset = self.static_bytes
                self.static_bytes += size
                self.program.check_shared(self, self.static_bytes)
            view = View(allocation, dtype, shape, strides, 0, name)
        self.arrays[key] = view
        return view

    def _affordable(self, space: str, size: int, total: int) -> None:
        """Keeps the memory of a chunk bounded, and that of a thread within the hardware's."""
        if space == "local" and size > MAX_LOCAL:
            message = f"a thread wants {size:,} bytes of local memory; there are {MAX_LOCAL:,}"
            raise Stop(Finding("launch-limit", self.here(), message))
        excess = -(-total // BUDGET[space])
        if excess > 1 and self.blocks > 1 and not self.program.cooperative:
            raise TooLarge(max(1, self.blocks // excess))

    def _dynamic(self, dtype: np.dtype[Any], name: str) -> View:
        """All dynamic shared arrays begin at the same byte."""
        if "dynamic" not in self.arrays:
            size = max(-(-self.dynamic // 16) * 16, 16)
            data = np.empty(size * self.blocks, np.uint8)
            poison(data.view(np.float32))
            allocation = Allocation("shared", data, size)
            allocation.offset = self.static_bytes
            self.arrays["dynamic"] = View(allocation, np.dtype(np.uint8), (size,), (1,), 0, name)
        allocation = self.arrays["dynamic"].allocation
        shape = (self.dynamic // dtype.itemsize,)
        return View(allocation, dtype, shape, (dtype.itemsize,), 0, name)

    def mark_written(self, view: View, slots: Lanes) -> None:
        """Notes a write to a shared or local array."""
        known = self.known(view)
        if not known.complete:
            known.mark(view, slots)

    def known(self, view: View) -> Initialised:
        """Which bytes of an allocation have been written."""
        found = self.initialised.get(view.allocation.number)
        if found is None:
            found = self.initialised[view.allocation.number] = Initialised(view)
        return found

    def check_written(self, view: View, slot: Value, place: tuple[Value, ...]) -> None:
        """Reports a read of what nobody has written."""
        known = self.known(view)
        if known.full():
            return
        lane, slots = self.active_slots(view, slot, self.mask)
        missing = np.flatnonzero(~known.at(view, slots))
        if not len(missing):
            return
        first = int(lane[missing[0]])
        key = ("uninitialised-read", view.name, self.line)
        if self.findings.again(key, len(missing)):
            return
        where, element = self._describe(view, place, first)
        who = self.thread_name(first)
        message = (
            f"{self.text(who)} reads {element} in {view.space} memory, "
            "which nobody has written: it holds whatever was there before"
        )
        finding = Finding(
            "uninitialised-read", self.here(), message, [who], view.name, where,
            count=len(missing),
        )  # fmt: skip
        finding.function = self.elsewhere()
        self.findings.add(key, finding)


class Initialised:
    """Which elements of a shared or local allocation have been written."""

    def __init__(self, view: View) -> None:
        dynamic = view.space == "shared" and view.dtype.itemsize != 0 and not view.aligned
        self.grain = 1 if dynamic or view.name == "" else view.dtype.itemsize
        self.done = np.zeros(len(view.allocation.data) // self.grain, bool)
        self.complete = False
        self.fresh = False

    def _elements(self, view: View, slots: Lanes) -> tuple[Lanes, int]:
        size = view.dtype.itemsize
        if view.aligned and size == self.grain:
            return slots, 1
        if size % self.grain:
            self.done = np.repeat(self.done, self.grain)
            self.grain = 1
        start = slots * size if view.aligned else slots
        parts = size // self.grain
        return ((start // self.grain)[:, None] + np.arange(parts)).ravel(), parts

    def mark(self, view: View, slots: Lanes) -> None:
        """Notes writes to these slots."""
        self.done[self._elements(view, slots)[0]] = True
        self.fresh = True

    def full(self) -> bool:
        """Whether every element has been written."""
        if self.fresh:
            self.fresh = False
            self.complete = bool(self.done.all())
        return self.complete

    def at(self, view: View, slots: Lanes) -> Lanes:
        """For each slot, whether it has been written."""
        elements, parts = self._elements(view, slots)
        known: Lanes = self.done[elements]
        if parts == 1:
            return known
        every: Any = known.reshape(-1, parts).all(axis=1)
        return every  # type: ignore[no-any-return]


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind != "V" else np.dtype(np.uint8)
