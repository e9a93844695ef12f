"""What travels between the launcher and a rank, and how it is packed and loaded.

It is plain data that needs no notebook to load; the notebook's own classes stay as they are.
"""

from __future__ import annotations

import functools
import inspect
import io
import pickle
import time
import traceback
import types
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from cloudpickle import cloudpickle

from gpulearn.errors import BadInput, RankError
from gpulearn.require import shown

RANK = str(Path(__file__).with_name("rank.py"))
R = TypeVar("R")
MAX_CAUSES = 5
STUCK = "stuck"  # the kind of failure of a rank that had to be ended


@dataclass(frozen=True)
class Job:
    """What a rank is to do, and in which group."""

    payload: bytes  # the function and its arguments, by `cloudpickle`
    rank: int
    size: int
    backend: str
    rendezvous: str  # a file that does not exist yet, where the ranks find one another
    timeout: float  # seconds that a rank waits for the others in a collective
    threads: int  # of torch
    debug: bool  # whether torch compares the collectives of all ranks before each
    environment: Mapping[str, str]  # the launcher's
    watch: str = ""  # the folder for what a watch of the rank writes down, if there is one

    def report(self, what: str) -> Path:
        """The file for the rank's "answer", or where it is ("stack"), or what it has called."""
        return Path(f"{self.rendezvous} {what} {self.rank}")


@dataclass(frozen=True)
class TraceFrame:
    """One line of a stack: where, and in which function."""

    file: str
    line: int
    function: str


class Call(NamedTuple):
    """One rank's part in a collective; `numbers` says how many of which dtype, if all must."""

    name: str
    numbers: str
    frames: tuple[TraceFrame, ...]

    def __str__(self) -> str:
        return f"{self.name} with {self.numbers}" if self.numbers else self.name


Calls = Mapping[tuple[str, int], Call]  # by group, and by the place in the group's order


@dataclass(frozen=True)
class Result:
    """A rank came to its end: what its function returned by `cloudpickle`, and its collectives."""

    payload: bytes
    calls: Calls = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A rank failed."""

    kind: str  # the exception's class name
    message: str
    frames: tuple[TraceFrame, ...] = ()  # outermost first, without the launcher's own
    calls: Calls = field(default_factory=dict)
    causes: tuple[
        str, ...
    ] = ()  # "KeyError: 'a'" and so on, what it was raised from, nearest first
    traceback: str = ""  # what Python says of it, in full
    about: str = ""  # in a word, where it is a mistake in the use of ranks
    moment: float = field(default_factory=time.monotonic)  # by the clock of all processes


class RankResults(list[R]):
    """What each rank returned, in order of rank."""

    def __init__(
        self, results: Iterable[R], restarts: int = 0, findings: Sequence[Any] = ()
    ) -> None:
        super().__init__(results)
        self.restarts = restarts  # how often all ranks were started again
        self.findings = findings  # what a watch found, errors first


def without_launcher(frames: Sequence[TraceFrame]) -> tuple[TraceFrame, ...]:
    """A stack, outermost first, from the first frame that is not the launcher's."""
    own = [n for n, frame in enumerate(frames) if frame.file == RANK]
    return tuple(frames[own[-1] + 1 :] if own else frames)


def failure(error: BaseException, calls: Calls | None = None) -> Failure:
    """What a rank has to say of an exception."""
    stack = traceback.extract_tb(error.__traceback__)
    frames = without_launcher([TraceFrame(f.filename, f.lineno or 0, f.name) for f in stack])
    try:
        message, full = str(error).strip(), "".join(traceback.format_exception(error))
    except Exception:  # an exception of the reader's own that cannot be printed
        message = full = ""
    message, full = (t.encode(errors="backslashreplace").decode() for t in (message, full))
    causes: list[str] = []
    cause = error.__cause__
    while cause is not None and len(causes) < MAX_CAUSES:
        causes.append(traceback.format_exception_only(cause)[-1].strip())
        cause = cause.__cause__
    about = getattr(error, "about", "")
    about = about if isinstance(about, str) else ""
    return Failure(type(error).__name__, message, frames, calls or {}, tuple(causes), full, about)


def packed(value: Any) -> bytes:
    """A value as bytes that another process can load: notebooks' functions and classes too."""
    memory = io.BytesIO()
    _Pickler(memory).dump(value)
    return memory.getvalue()


def _code(code: types.CodeType) -> tuple[Callable[..., types.CodeType], tuple[Any, ...]]:
    make, parts, *_ = cloudpickle._code_reduce(code)
    return _code_of, (code.co_filename, make, parts)


def _code_of(file: str, make: Callable[..., types.CodeType], parts: tuple[Any, ...]) -> Any:
    return make(*parts).replace(co_filename=file)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Lets code keep the name of its file, without which nobody can say in which line a rank is.

    `cloudpickle` from 3.1.3 on gives all code that travels one name, "<dynamic-code>".
    """

    dispatch_table: ClassVar[ChainMap[Any, Any]] = ChainMap(
        {types.CodeType: _code}, cloudpickle.Pickler.dispatch_table
    )


def traveling_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """A function and its arguments as bytes."""
    if not callable(fn):
        raise BadInput(f"fn is {shown(fn)}: give the function itself, without brackets.")
    try:
        return packed((fn, args))
    except Exception:
        for name, value in (("fn", fn), *((f"argument {n}", a) for n, a in enumerate(args, 1))):
            if (error := _refusal(value)) is not None:
                where, part = _culprit(name, value, set())
                inside = "" if part is value else f": {where} is {shown(part)}"
                raise BadInput(
                    f"{name}, {shown(value)}, cannot travel to another process ({error}){inside}: "
                    f"make it inside the function, or pass what it is made from."
                ) from None
        raise


def _refusal(value: Any) -> Exception | None:
    """Why a value cannot become bytes, or None if it can."""
    try:
        packed(value)
    except Exception as error:
        return error
    return None


def _culprit(name: str, value: Any, seen: set[int]) -> tuple[str, Any]:
    """The innermost part of a value that keeps it from becoming bytes, and where it is."""
    seen.add(id(value))
    for where, part in _parts(name, value):
        if id(part) not in seen and _refusal(part) is not None:
            return _culprit(where, part, seen)
    return name, value


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{name}[{shown(key)}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{name}[{n}]", part) for n, part in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from ((f"an entry of {name}", part) for part in value)
    elif isinstance(value, functools.partial):
        yield from ((name, part) for part in (value.func, value.args, value.keywords))
    elif isinstance(value, types.MethodType):
        yield from ((f"the object of {name}", value.__self__), (name, value.__func__))
    elif isinstance(value, types.FunctionType):
        used = inspect.getclosurevars(value)
        around = {**used.globals, **used.nonlocals}
        yield from ((f"{part}, which {name} uses,", around[part]) for part in around)
        yield from ((f"a default of {name}", part) for part in value.__defaults__ or ())
    elif not isinstance(value, type | types.ModuleType):
        yield from ((f"{name}.{k}", part) for k, part in getattr(value, "__dict__", {}).items())


MAKERS = ("_make_skeleton_class", "_make_skeleton_enum")


class _Unpickler(pickle.Unpickler):
    """Knows a class of the notebook by the number that `cloudpickle` gave it.

    `cloudpickle` would write the attributes of the class that traveled over those of the one
    that is here: counters, and methods, which then see another's global names.
    """

    def __init__(self, payload: bytes, copies: bool) -> None:
        super().__init__(io.BytesIO(payload))
        self._copies = copies
        self._known: set[type] = set()

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the payload stands for."""
        target = super().find_class(module, name)
        if module == cloudpickle.__name__ and name in MAKERS:
            return functools.partial(self._make, target)
        if module == cloudpickle.__name__ and name == "_class_setstate":
            return functools.partial(self._fill, target)
        return target

    def _make(self, make: Callable[..., type], *described: Any) -> type:
        *what, number, extra = described
        if self._copies:
            copy = make(*what, None, extra)
            # on its way back it is the notebook's again
            cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS[copy] = number
            return copy
        known = number in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
        original = make(*described)
        if known:
            self._known.add(original)
        return original

    def _fill(self, fill: Callable[[type, Any], type], kind: type, state: Any) -> type:
        return kind if kind in self._known else fill(kind, state)


def own_copy(payload: bytes) -> Any:
    """Load for a simulated rank: with copies of the notebook's classes, which are its own."""
    return _Unpickler(payload, copies=True).load()


def results_of(payloads: Sequence[bytes]) -> list[Any]:
    """Load what ranks returned; an object of a class of the notebook is one of that class."""
    results = []
    for rank, payload in enumerate(payloads):
        try:
            results.append(_Unpickler(payload, copies=False).load())
        except Exception as error:
            raise RankError(
                f"what rank {rank} returned cannot be loaded here ({type(error).__name__}: "
                f"{error}): return numbers, arrays, tensors or lists of them"
            ) from None
    return results
