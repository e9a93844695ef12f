"""The executor: carries out every statement for all threads of a chunk of blocks at once.

`translate` turns a kernel into calls of the methods here. A machine knows the shape of the
launch and the active mask; the memory it touches, what it counts and what it checks are in
`access`, `counters` and `hazards`.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from gpulearn.simt.core import limits
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.masks import EMPTY, Mask, split, union
from gpulearn.simt.core.memory import Record, View
from gpulearn.simt.core.values import Value, cast, truth
from gpulearn.simt.frontend.names import DeviceFunction, Intrinsic, callee
from gpulearn.simt.frontend.translate import UNDEFINED, LocalFunction
from gpulearn.simt.machine.control_flow import Loop, Repeat, iterate
from gpulearn.simt.machine.per_thread import Choice
from gpulearn.simt.machine.predication import Logic

__all__ = ["Frame", "Machine"]

STEP_LIMIT = 4_000_000  # iterations of all loops in one chunk; beyond, the clock decides
DEPTH_LIMIT = 64  # device functions inside device functions


class Frame:
    """One call of a kernel or device function: who entered, and what they return."""

    __slots__ = ("entered", "left", "result")

    def __init__(self, entered: Mask) -> None:
        self.entered = entered
        self.left: Mask = EMPTY
        self.result: Any = UNDEFINED


class Machine(Logic):
    """Executes one chunk of blocks; see `translate` for how it is driven."""

    # --- functions

    def enter(self) -> Frame:
        """Begins a function for the active threads."""
        frame = Frame(self.mask)
        self.frames.append(frame)
        if len(self.frames) > DEPTH_LIMIT:
            name = self.source.name
            message = f"calls nest deeper than {DEPTH_LIMIT}: {name} never stops calling itself"
            raise Stop(Finding("no-progress", self.here(), message))
        return frame

    def give_back(self, frame: Frame, value: Any) -> None:
        """`return value` for the active threads."""
        if value is UNDEFINED:  # `raise`: these threads end without an answer
            pass
        elif frame.result is UNDEFINED or self.mask is None:
            frame.result = value
        elif (value is None) is not (frame.result is None):
            who = self.who(self.mask if value is None else frame.left)
            message = f"this function returns None for {self.text(who[0])}, a value for others"
            raise Stop(Finding("not-a-kernel", self.here(), message, who))
        else:
            frame.result = self.merged(frame.result, value)
        frame.left = union(frame.left, self.mask)
        self.mask = EMPTY

    def exit(self, frame: Frame) -> Any:
        """Ends a function: all who entered go on, with what they returned."""
        self.frames.pop()
        self.mask = frame.entered
        if frame.result is None or frame.result is UNDEFINED:
            return None
        if frame.left is None or frame.left is self.mask or self.mask is EMPTY:
            return frame.result
        _, missing = split(self.mask, frame.left)
        if missing is not EMPTY:
            who = self.who(missing)
            message = f"this function came to its end without a return for {self.text(who[0])}"
            raise Stop(Finding("not-a-kernel", self.here(), message, who))
        return frame.result

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls a device function, or an intrinsic held in a variable."""
        found = callee(function)
        if isinstance(found, DeviceFunction):
            names = self.program.parameters(found)
            for name in names[len(args) :]:
                if name in kwargs:
                    args = (*args, kwargs.pop(name))
            defaults = found.function.__defaults__ or ()
            missing = len(names) - len(args)
            if 0 < missing <= len(defaults):
                args = (*args, *defaults[-missing:])
            if kwargs or len(args) != len(names):
                need = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
                message = f"{found.__name__}() takes {need}, {len(args)} given"
                raise Stop(Finding("not-a-kernel", self.here(), message))
            place = self.line
            result = self.program.translation(found)(self, *args)
            self.line = place
            return result
        if isinstance(found, Intrinsic):
            return found.run(self, *args, **kwargs)
        if isinstance(found, LocalFunction):
            return found.run(self, *args, **kwargs)
        if isinstance(found, type) and issubclass(found, tuple):
            return found(*args, **kwargs)
        message = f"{function!r} cannot be called in a kernel"
        raise Stop(Finding("not-a-kernel", self.here(), message))

    # --- branches and loops

    def loop(self, place: int, leaves: bool, waits: bool, hopeless: bool) -> Repeat:
        """A `while` loop."""
        return Repeat(self, place, leaves, waits, hopeless)

    def each(self, iterable: Any, place: int, leaves: bool) -> Loop:
        """A `for` loop."""
        return Loop(self, iterate(self, iterable), place, leaves)

    def step(self) -> None:
        """Counts an iteration, so that no launch goes on for ever."""
        self.steps += 1
        if self.steps > STEP_LIMIT and self.steps % 1024 == 0:
            if time.monotonic() - self.begun < limits.SECONDS:
                return
            message = limits.slow(f"still running after {self.steps:,} loop iterations")
            raise Stop(Finding("no-progress", self.here(), message, self.who(self.mask)))

    # --- conditions

    def check(self, condition: Value) -> None:
        """`assert`: stops the launch, as a GPU does in debug mode."""
        _, failed = split(self.mask, truth(condition))
        if failed is not EMPTY:
            threads = self.who(failed)
            message = f"the assertion does not hold for {self.text(threads[0])}"
            raise Stop(Finding("assertion", self.here(), message, threads))

    # --- variables

    def unpack(self, value: Any, count: int) -> Any:
        """The parts of a tuple that is assigned to several names."""
        if isinstance(value, View):
            value = tuple(self.load(value, i) for i in range(len_of(value)))
        if not isinstance(value, tuple) or len(value) != count:
            message = f"cannot unpack into {count} names"
            raise Stop(Finding("not-a-kernel", self.here(), message))
        return value

    def flop(self, value: Value) -> Value:
        """Counts one floating-point operation per active thread, if that is what it was."""
        if self.counters is not None:
            self.counters.flop(self, value)
        return value

    # --- attributes and methods

    def attribute(self, thing: Any, name: str) -> Any:
        """`thing.name` for arrays, records, tuples with names, and numbers."""
        if isinstance(thing, Choice):
            return thing.each(self, lambda view: self.attribute(view, name))
        if isinstance(thing, View):
            if thing.dtype.fields and name in thing.dtype.fields:
                return thing.field(name)
            if name in ("shape", "ndim", "size", "dtype", "strides"):
                return getattr(thing, name)
            if name == "T":
                return View(
                    thing.allocation, thing.dtype, thing.shape[::-1], thing.strides[::-1],
                    thing.offset, thing.name,
                )  # fmt: skip
            if name == "itemsize":
                return thing.dtype.itemsize
            if name == "nbytes":
                return thing.dtype.itemsize * math.prod(thing.shape)
        elif isinstance(thing, Record):
            if thing.view.dtype.fields and name in thing.view.dtype.fields:
                return self.load(thing.field(name), thing.index)
        elif isinstance(thing, np.ndarray | np.generic | int | float | complex):
            if name in ("real", "imag"):
                return getattr(thing, name)
        elif isinstance(thing, Intrinsic) and thing.attribute:
            return getattr(getattr(self, thing.name), name)
        elif hasattr(thing, name):
            return getattr(thing, name)
        message = f"`.{name}` is not supported here by the SIMT machine"
        raise Stop(Finding("unsupported", self.here(), message))

    def set_attribute(self, thing: Any, name: str, value: Value) -> None:
        """`record.name = value`."""
        if isinstance(thing, Record):
            self.store(thing.field(name), thing.index, value)
            return
        message = f"cannot assign to `.{name}`"
        raise Stop(Finding("not-a-kernel", self.here(), message))

    def method(self, thing: Any, name: str, *args: Any) -> Any:
        """`thing.name(...)` for the few objects that have methods in a kernel."""
        found = getattr(thing, f"kernel_{name}", None)
        if found is not None:
            return found(self, *args)
        if isinstance(thing, np.dtype) and name == "type" and len(args) == 1:
            return cast(args[0], thing)
        if isinstance(thing, View) and name == "item" and not args:
            return self.load(thing, (0,) * thing.ndim)
        if isinstance(thing, np.ndarray | np.generic | complex) and name == "conjugate":
            return np.conjugate(thing)
        message = f"the method .{name}() is not supported by the SIMT machine"
        raise Stop(Finding("unsupported", self.here(), message))


def len_of(view: View) -> int:
    """The length of the first dimension, which must be the same for all threads."""
    return int(view.shape[0])
