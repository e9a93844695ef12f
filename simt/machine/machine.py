"""The executor: carries out each statement for all threads of a chunk of blocks at once.

`translate` turns a kernel into calls of the methods here. What decides is the active mask:
a condition narrows it, an assignment changes a variable for the threads in it, a load or
store touches memory for them alone.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY, COMPARE
from simt.core.chunk import Write
from simt.core.findings import Finding, Stop
from simt.core.masks import EMPTY, DivergentExits, Mask, split, union
from simt.core.memory import Record, View, gather, no_strings
from simt.core.program import MachineProgram
from simt.core.registry import (
    INTRINSICS,
    METHODS,
    DeviceFunction,
    Intrinsic,
    LocalFunction,
    callee,
    member,
)
from simt.core.values import (
    BOOL,
    UNDEFINED,
    Range,
    Value,
    cast,
    dtype_of,
    normal,
    settle,
    truth,
    where,
)
from simt.machine.indexing import BadIndex, locate, whole_number
from simt.machine.lockstep import Lockstep
from simt.machine.per_thread import Choice, DivergentValue, several
from simt.machine.views import elements, in_place, reshaped

DEPTH_LIMIT = 64  # device functions inside device functions
Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]


class Frame(DivergentExits):
    """One call of a kernel or device function: the threads that entered it, and its result."""

    __slots__ = ("arguments", "entered", "result")

    def __init__(self, entered: Mask, arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self.entered = entered
        self.arguments = arguments
        self.result: Any = UNDEFINED

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of the arguments: for others a GPU has another function."""
        return tuple(map(_kind, self.arguments))


def _where_each(mask: Mask, new: tuple[Value, ...], old: tuple[Value, ...]) -> tuple[Value, ...]:
    """`where` for each pair of numbers; one that all threads share stays what it is."""
    pairs = zip(new, old, strict=True)
    return tuple(n if type(n) is type(o) is int and n == o else where(mask, n, o) for n, o in pairs)


class Machine(Lockstep):
    """Executes one chunk of blocks; see `translate` for how it is driven."""

    def __init__(self, program: MachineProgram, *where: Any, **options: Any) -> None:
        super().__init__(program, *where, **options)
        self.frames: list[Frame] = []
        self.arguments: tuple[Any, ...] = ()  # of the function that is entered next

    # --- functions

    def enter(self) -> Frame:
        """Begins a function for the active threads."""
        frame = Frame(self.mask, self.arguments)
        self.frames.append(frame)
        if len(self.frames) > DEPTH_LIMIT:
            name = self.source.name
            message = f"calls nest deeper than {DEPTH_LIMIT}: {name} never stops calling itself"
            raise self.stop("no-progress", message)
        return frame

    def give_back(self, frame: Frame, value: Any) -> None:
        """`return value` for the active threads."""
        if value is UNDEFINED:  # `raise`: these threads end without an answer
            pass
        elif frame.result is UNDEFINED or self.mask is None:
            frame.result = value
        else:
            frame.result = self.merged(frame.result, value)
        frame.exits[self.line] = union(frame.exits.get(self.line, EMPTY), self.mask)
        self.mask = EMPTY

    def exit(self, frame: Frame) -> Any:
        """Ends a function: all threads that entered it go on, with their results."""
        self.frames.pop()
        self.mask = frame.entered
        if frame.result is None or frame.result is UNDEFINED:
            return None
        returned = frame.left
        if returned is None or returned is self.mask or self.mask is EMPTY:
            return frame.result
        _, missing = split(self.mask, returned)
        return frame.result if missing is EMPTY else several(frame.result, None, missing)

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls a device function, or an intrinsic held in a variable."""
        target = callee(self.own(function, "this function"))
        if isinstance(target, DeviceFunction):
            if kwargs or len(args) != target.plain:
                args = self._bind_arguments(target, args, kwargs)
            place = self.line
            run, self.arguments = self.program.prepared(target, args)
            result = run(self, *self.arguments)
            self.line = place
            return result
        if isinstance(target, Intrinsic):
            return target.run(self, *args, **kwargs)
        if isinstance(target, LocalFunction):
            return target.run(self, *args, **{f"v_{name}": v for name, v in kwargs.items()})
        if isinstance(target, type) and issubclass(target, tuple):
            return target(*args, **kwargs)
        message = f"{function!r} cannot be called in a kernel"
        raise self.stop("not-a-kernel", message)

    def _bind_arguments(self, function: DeviceFunction, args: Any, kwargs: dict[str, Any]) -> Any:
        """The arguments of a call in the order of the parameters, with defaults."""
        try:
            bound = function.signature.bind(*args, **kwargs)
        except TypeError:
            names = list(function.signature.parameters)
            need = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
            message = f"{function.__name__}() takes {need}, {len(args) + len(kwargs)} given"
            raise self.stop("not-a-kernel", message) from None
        bound.apply_defaults()
        return bound.arguments.values()

    # --- conditions

    def _compute_under(self, mask: Mask, compute: Callable[[], Value]) -> Value:
        before, self.mask = self.mask, mask
        try:
            return compute()
        finally:
            self.mask = before

    def choose(
        self, condition: Value, yes: Callable[[], Any], no: Callable[[], Any],
        kinds: tuple[Any, Any] = (None, None),
    ) -> Any:  # fmt: skip
        """`yes if condition else no`, each evaluated by those who need it.

        `kinds` are the types of numbers that are written out: the result has the common type
        of both values even if all threads take one.
        """
        taken, other = split(self.mask, self.rely(truth(condition)))
        for callback in self.events.branch:
            callback(self, taken, other)
        if other is EMPTY:
            return settle(yes(), kinds[1], join=True)
        if taken is EMPTY:
            return settle(no(), kinds[0], join=True)
        first = self._compute_under(taken, yes)
        return self.merged(self._compute_under(other, no), first, taken)

    def connected(self, a: Value, b: Value, decides: bool) -> Value:
        """`a and b`, which a false `a` decides, or `a or b` (True): evaluating b does no harm."""
        if type(a) is bool:
            return a if a is decides else b
        if getattr(a, "dtype", None) is BOOL and dtype_of(b) is BOOL:
            return np.logical_or(a, b) if decides else np.logical_and(a, b)
        if isinstance(a, np.ndarray):
            return where(truth(a) == decides, a, b)
        return a if bool(a) is decides else b

    def connected_lazily(self, a: Value, compute: Callable[[], Value], decides: bool) -> Value:
        """The same: only the threads for which `a` does not decide compute b."""
        true, false = split(self.mask, truth(a))
        needed, other = (false, true) if decides else (true, false)
        if needed is EMPTY:
            return a
        b = self._compute_under(needed, compute)
        return b if other is EMPTY else self.connected(a, b, decides)

    def same(self, a: Any, b: Any) -> Value:
        """`a is b`: for members of an enum, which are numbers here, that they are equal."""
        if type(a) is DivergentValue:
            return a.are(lambda thing: self.same(thing, b))
        if isinstance(a, tuple) and isinstance(b, tuple):
            return COMPARE["Eq"](a, b)
        if not all(isinstance(v, np.ndarray | np.generic | bool | int | float) for v in (a, b)):
            return a is b
        return dtype_of(a) == dtype_of(b) and COMPARE["Eq"](a, b)

    def branch(self, condition: Value) -> tuple[Mask, Mask]:
        """Narrows the mask to the threads that take the branch.

        Returns the mask before, and the mask of the threads that do not take it.
        """
        before = self.mask
        self.mask, other = split(before, self.rely(truth(condition)))
        for callback in self.events.branch:
            callback(self, self.mask, other)
        return before, other

    def whole(self, mask: Mask, before: Mask) -> Mask:
        """The mask itself, or `before` if it is made of the same threads."""
        if mask is before or mask is EMPTY or mask is None:
            return mask
        if before is None:
            return None if mask.all() else mask
        same = bool((mask == before).all())
        return before if same else mask

    # --- exceptions

    def fail(self, frame: Frame, kind: type[Exception], args: tuple[Any, ...]) -> None:
        """`raise kind(*args)` by the active threads: without `debug` they end in silence.

        In a function that is called they end in the midst of the statement that calls it, which
        is not carried out here.
        """
        if self.program.debug:
            raise self._raised(kind, self.mask, *args)
        finding = self._exception(kind, self.mask, *args)
        if len(self.frames) > 1:
            raise self._silent_end(finding, "return a value")
        finding.message += "; on a GPU it just ends, only @cuda.jit(debug=True) tells the host"
        self.note(("exception", self.line), finding)
        self.give_back(frame, UNDEFINED)

    def _silent_end(self, finding: Finding, instead: str) -> Stop:
        """The error for threads that a GPU ends in the midst of a statement."""
        finding.message += (
            "; on a GPU it ends here and nobody is told, which the SIMT machine does not carry "
            f"out within a statement: ask for @cuda.jit(debug=True), or {instead}"
        )
        return Stop(finding)

    def quotient(self, a: Value, b: Value) -> Value:
        """`a / b`: that of complex numbers is a function of Numba's, which raises for a zero."""
        if self.program.debug:
            result = BINARY["Div"](a, b)
            if dtype_of(result) != np.float32 or not self.program.fastmath:
                self.divisor(b)
            return result
        if "c" in (dtype_of(a).kind, dtype_of(b).kind):
            zero, _ = split(self.mask, np.equal(b, 0))
            if zero is not EMPTY:
                finding = self._exception(ZeroDivisionError, zero, "complex division by zero")
                raise self._silent_end(finding, "test the divisor before")
        return BINARY["Div"](a, b)

    def divisor(self, value: Value) -> Value:
        """The right side of a division, checked for zero with `debug`."""
        zero, _ = split(self.mask, np.equal(value, 0))
        if zero is not EMPTY:
            raise self._raised(ZeroDivisionError, zero, "division by zero")
        return value

    def _exception(self, kind: type[Exception], mask: Mask, *args: Any) -> Finding:
        threads = self.who(mask)
        detail = "".join(f": {a}" for a in args[:1])
        message = f"{self.text(threads[0])} raises {kind.__name__}{detail}"
        return Finding("exception", self.here(), message, threads)

    def _raised(self, kind: type[Exception], mask: Mask, *args: Any) -> Stop:
        finding = self._exception(kind, mask, *args)
        finding.error = kind(str(finding), *args[1:])
        return Stop(finding)

    # --- variables

    def put(self, old: Any, new: Any) -> Any:
        """The value of a variable after the active threads assigned to it."""
        if self.mask is None or old is UNDEFINED or new is old:
            return new
        return self.merged(old, new)

    def assigned(self, value: Any, initialized: Mask, name: str, kind: Any) -> Any:
        """A variable's value where some path leads to the read without an assignment.

        `initialized` are the threads that have set it. For the others it is a finding and the
        number 0, as Numba's own code has it where several lines assign to the variable. Where
        only one does, the compiler may take the value of that one for all threads.
        """
        if initialized is None or initialized is self.mask:
            return value
        _, missing = (EMPTY, self.mask) if initialized is EMPTY else split(self.mask, initialized)
        if missing is EMPTY:
            return value
        zero = _zero(kind) if value is UNDEFINED else _zero_like(value)
        who, count = self.who(missing), len(self.lanes(missing))
        message = (
            f"{self.text(who[0])} reads {name}, to which nothing was assigned on the path that "
            "this thread took: "
            f"{'it is not set' if zero is None else 'it is 0 here and may be anything on a GPU'}"
        )
        finding = Finding("uninitialized-read", self.here(), message, who, name, count=count)
        if zero is None:
            raise Stop(finding)
        for callback in self.events.unset:
            callback(self, name, finding)
        return zero if value is UNDEFINED else self.merged(zero, value, initialized)

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
            return Record(new.view, _where_each(mask, new.index, old.index))
        if isinstance(new, Range) and isinstance(old, Range):
            return Range(*_where_each(mask, new.bounds, old.bounds))
        if old is UNDEFINED:
            return new
        try:
            return where(mask, new, old)
        except TypeError:  # one is no number
            return several(old, new, mask)

    def own(self, value: Any, name: str) -> Any:
        """A variable's value for the active threads, where it may diverge and be no number."""
        return value.of(self, name) if type(value) is DivergentValue else value

    def _merged_views(self, old: View | Choice, new: View | Choice, mask: Mask) -> View | Choice:
        if isinstance(old, Choice) or isinstance(new, Choice) or not old.alike(new):
            return several(old, new, mask, Choice)  # type: ignore[no-any-return]
        shape = _where_each(mask, new.shape, old.shape)
        offset = where(mask, new.offset, old.offset)
        return View(new.allocation, new.dtype, shape, new.strides, offset, new.name)

    def unpack(self, value: Any, count: int) -> Any:
        """The parts of a tuple that is assigned to several names."""
        if isinstance(value, View):
            value = tuple(self.load(value, i) for i in range(int(value.shape[0])))
        if not isinstance(value, tuple) or len(value) != count:
            message = f"cannot unpack into {count} names"
            raise self.stop("not-a-kernel", message)
        return value

    def flop(self, value: Value) -> Value:
        """Notifies observers of a floating-point operation, if it was one."""
        for callback in self.events.operation:
            callback(self, value)
        return value

    # --- reading and writing

    def skip(self, stop: BadIndex, access: Callable[[], Any], otherwise: Any) -> Any:
        """An access by the threads whose index is in bounds; the others get the default."""
        if not stop.element:
            raise stop
        self.pass_over(stop.finding)
        rest, _ = split(self.mask, np.logical_not(stop.mask))
        if rest is EMPTY:
            return otherwise
        value = self._compute_under(rest, access)
        return value if otherwise is None else self.merged(otherwise, value, rest)

    def load(self, thing: Any, index: Any) -> Any:
        """`thing[index]` for arrays, records and tuples."""
        if type(thing) is not View:
            return self._item(thing, index)
        if type(index) is str:
            return thing.field(index)
        try:
            located = locate(self, thing, index)
        except BadIndex as stop:
            return self.skip(stop, lambda: self.load(thing, index), cast(0, thing.dtype))
        if type(located) is View:
            return located
        place, slot = located  # type: ignore[misc]
        if thing.dtype.kind in "VSU":
            self._check_no_string(thing)
            return Record(thing, place)
        for callback in self.events.access:
            callback(self, thing, slot, place, "load")
        value = gather(thing, slot, self.lane_base(thing))
        older = self.events.older
        return value if older is None else older(self, thing, slot, place, value)

    def _check_no_string(self, view: View) -> None:
        if view.dtype.kind != "V":
            raise self.stop("unsupported", no_strings(view.name, view.dtype), array=view.name)

    def _item(self, thing: Any, index: Any) -> Any:
        if isinstance(thing, Record):
            item = self.load(thing.field(index), thing.index)
            return in_place(self, item) if type(item) is View else item
        if isinstance(thing, Choice):
            return thing.each(self, lambda view: self.load(view, index))
        if isinstance(thing, tuple | str):
            if isinstance(index, slice) or type(index) is int:
                try:
                    return thing[index]
                except IndexError:
                    raise self._past_tuple(f"index {index}", thing) from None
            index = whole_number(self, "a tuple", index)
            if type(index) is int:
                return self._item(thing, index)
            mask = True if self.mask is None else self.mask
            wrapped = np.where(index < 0, index + len(thing), index)
            beyond = ((wrapped < 0) | (wrapped >= len(thing))) & mask
            if np.any(beyond):
                raise self._past_tuple("an index", thing)
            item = thing[0]
            for n, other in enumerate(thing[1:], 1):
                item = self.merged(item, other, np.equal(wrapped, n))
            return item
        message = f"{type(thing).__name__} cannot be indexed in a kernel"
        if isinstance(thing, list):
            message = "a list cannot be used in a kernel: hand it over as an array, or as a tuple"
        raise self.stop("not-a-kernel", message)

    def _past_tuple(self, index: str, thing: Any) -> Stop:
        what = f"a tuple of {len(thing)}" if isinstance(thing, tuple) else repr(thing)
        message = f"{index} is out of bounds for {what}"
        stop = self.stop("out-of-bounds", message)
        if self.program.debug:
            stop.finding.error = IndexError(f"tuple index out of range: {message}")
        return stop

    def store(self, view: Any, index: Any, value: Any) -> None:
        """`view[index] = value` by the active threads."""
        if type(view) is not View:
            if isinstance(view, Record):
                return self.store(view.field(index), view.index, value)
            if isinstance(view, Choice):
                view.each(self, lambda chosen: self.store(chosen, index, value))
                return None
            message = f"{type(view).__name__} does not take item assignment"
            raise self.stop("not-a-kernel", message)
        try:
            located = locate(self, view, index)
        except BadIndex as stop:
            self.skip(stop, lambda: self.store(view, index, value), None)
            return None
        if type(located) is View:
            return self._fill(located, value)
        place, slot = located  # type: ignore[misc]
        if view.space == "const" or view.allocation.space == "const":
            message = f"{view.name} is constant memory and cannot be written"
            raise self.stop("not-a-kernel", message, array=view.name)
        if view.dtype.kind in "VSU":
            self._check_no_string(view)
            return self._store_record(view, place, value)
        if value is None:
            message = f"None cannot be stored in {view.name}: a function ended without a return"
            raise self.stop("not-a-kernel", message, array=view.name)
        value = self.rely(cast(value, view.dtype))
        if not self.watching or self._changes(view, slot, value):
            self.written += 1
        for callback in self.events.access:
            callback(self, view, slot, place, "store")
        if view.space == "const":
            return None
        write = Write(self, view, slot, value)
        for callback in self.events.write:
            callback(self, write, place)
        write.carry_out()
        return None

    def _changes(self, view: View, slot: Value, value: Value) -> bool:
        """Whether a store would change what is there."""
        lane, slots = self.active_slots(view, slot, self.mask)
        if not view.aligned:
            return True
        return bool((view.flat[slots] != self.active_values(value, lane)).any())

    def _fill(self, view: View, value: Any) -> None:
        """`a[...] = number` or `a[...] = b`, one element after the other."""
        if isinstance(value, tuple):
            self._fits(view, (len(value),))
        elif isinstance(value, View):
            self._fits(view, value.shape)
        places = elements(self, view)
        if isinstance(value, View) and value.allocation is view.allocation:  # all, then all
            values = {place: self._broadcast(value, place) for place in elements(self, view)}
            for place in places:
                self.store(view, place, values[place])
            return
        for place in places:
            self.store(view, place, self._broadcast(value, place))

    def _fits(self, view: View, shape: tuple[Value, ...]) -> None:
        """Stops an assignment to a part whose shape does not fit."""
        extents = view.shape[-len(shape) :] if shape else ()
        for n, limit in zip(shape, extents, strict=False):
            wrong = np.logical_and(np.not_equal(n, limit), np.not_equal(n, 1))
            _, bad = split(self.mask, np.logical_not(wrong))
            if bad is not EMPTY and self.mask is not EMPTY:
                lane = int(self.lanes(bad)[0])
                have, need = (self.lane_index(s, lane) for s in (shape, view.shape))
                message = f"a part of {view.name} of shape {need} is given values of shape {have}"
                raise self.stop("not-a-kernel", message, array=view.name)

    def _broadcast(self, value: Any, place: tuple[int, ...]) -> Any:
        """The value for one place of a part to which `value` is assigned."""
        if isinstance(value, tuple):
            return value[place[-1] if len(value) > 1 else 0]
        if not isinstance(value, View):
            return value
        own = zip(value.shape, place[len(place) - value.ndim :], strict=True)
        return self.load(value, tuple(0 if type(n) is int and n == 1 else i for n, i in own))

    def _store_record(self, view: View, place: tuple[Value, ...], value: Any) -> None:
        if not isinstance(value, Record):
            message = f"an element of {view.name} takes a record"
            raise self.stop("not-a-kernel", message)
        before, self.copying = self.copying, True
        for name in view.dtype.names or ():
            self.store(view.field(name), place, self.load(value.field(name), value.index))
        self.copying = before

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
                return thing.transposed()
            if name == "flat":
                return reshaped(self, thing, (-1,))
            if name == "real" or (name == "imag" and thing.dtype.kind == "c"):
                return thing.part(name)
            if name == "itemsize":
                return thing.dtype.itemsize
            if name == "nbytes":
                return thing.dtype.itemsize * math.prod(thing.shape)
        elif isinstance(thing, Record):
            if thing.view.dtype.fields and name in thing.view.dtype.fields:
                return self._item(thing, name)
        elif isinstance(thing, np.ndarray | np.generic | int | float | complex):
            if name in ("real", "imag"):
                return getattr(thing, name)
            if name == "value":  # of an enum's member
                return thing
        elif isinstance(thing, Intrinsic) and thing.attribute:
            return getattr(getattr(self, thing.name), name)
        elif hasattr(thing, name):
            return getattr(thing, name)
        extension = member(thing, name)
        if extension is not None:
            return extension.run(self, thing)
        message = f"`.{name}` is not supported here by the SIMT machine"
        raise self.stop("unsupported", message)

    def set_attribute(self, thing: Any, name: str, value: Value) -> None:
        """`record.name = value`."""
        if isinstance(thing, Record):
            self.store(thing.field(name), thing.index, value)
            return
        message = f"cannot assign to `.{name}`"
        raise self.stop("not-a-kernel", message)

    def method(self, thing: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """`thing.name(...)` for the few objects that have methods in a kernel."""
        if isinstance(thing, Choice):
            return thing.each(self, lambda view: self.method(view, name, *args, **kwargs))
        if isinstance(thing, View) and name in METHODS:
            return METHODS[name](self, thing, *args, **kwargs)
        function = getattr(thing, f"kernel_{name}", None)
        if function is not None:
            return function(self, *args, **kwargs)
        extension = member(thing, name)
        if extension is not None:
            return extension.run(self, thing, *args, **kwargs)
        if isinstance(thing, np.dtype) and name == "type" and len(args) == 1:
            return cast(args[0], thing)
        if isinstance(thing, np.ndarray | np.generic | int | float | complex) and not args:
            if name == "item":
                return thing
            if name == "conjugate":
                return normal(np.conjugate(thing)) if dtype_of(thing).kind == "c" else thing
            if name == "bit_count":
                return self.call(INTRINSICS["popc"], thing)
        message = f"the method .{name}() is not supported by the SIMT machine"
        raise self.stop("unsupported", message)


def _kind(value: Any) -> Any:
    """The type of an argument."""
    if isinstance(value, tuple):
        return tuple(map(_kind, value))
    if isinstance(value, View):
        return value.dtype, value.ndim
    number = isinstance(value, np.ndarray | np.generic | bool | int | float | complex)
    return dtype_of(value) if number else type(value)


def _zero(kind: Any) -> Any:
    """The 0 of a dtype, or a tuple of them; None if the type is not known."""
    if isinstance(kind, tuple):
        return tuple(_zero(k) for k in kind)
    return cast(0, kind) if isinstance(kind, np.dtype) else None


def _zero_like(value: Any) -> Any:
    """The 0 that stands beside a value; None if it is no number."""
    if isinstance(value, tuple):
        items = [_zero_like(v) for v in value]
        return None if any(i is None for i in items) else tuple(items)
    number = isinstance(value, np.ndarray | np.generic | bool | int | float | complex)
    return cast(0, dtype_of(value)) if number else None
