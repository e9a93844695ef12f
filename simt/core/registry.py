"""The registry of what a kernel can call: intrinsics, device functions, namespaces.

A name in a kernel may stand for `numba.cuda`'s own object or for this package's: both lead
to the same `Intrinsic` here. Modules that implement intrinsics register them.
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from simt.core.source import KernelSource

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """Something that the machine itself carries out: `run(machine, *arguments)`.

    `attribute` marks values such as `threadIdx`; `site` ones that must know from which
    place in the kernel they are called; `flop` those that count as floating-point work;
    `literals` those that are told which arguments the kernel's text says, as `Literal`.
    """

    name: str
    run: Callable[..., Any]
    attribute: bool = False
    site: bool = False
    flop: bool = False
    literals: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Intrinsics exist inside kernels only."""
        raise RuntimeError(f"cuda.{self.name} can only be used inside a kernel")

    def __getattr__(self, name: str) -> Any:
        if self.attribute and name in ("x", "y", "z"):
            raise RuntimeError(f"cuda.{self.name} can only be used inside a kernel")
        raise AttributeError(name)


@dataclass(frozen=True)
class Literal:
    """A value that the text of a kernel says, by which Numba can choose what a call does."""

    value: int | str


class Namespace:
    """A named group of intrinsics, such as `cuda.atomic`."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<cuda.{self.__name__}>"


class DeviceFunction:
    """A Python function that kernels may call, and the dispatcher that it was made into.

    `source` is that of its first compilation, with its names frozen.
    """

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.function: Callable[..., Any] = python_function(dispatcher) or dispatcher
        self.signature = inspect.signature(self.function)
        kinds = {p.kind for p in self.signature.parameters.values()}
        plain = kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}
        self.plain = len(self.signature.parameters) if plain else -1  # arguments of a usual call
        self.__name__ = self.function.__name__
        self.source: KernelSource | None = None


class DeclaredFunction:
    """What `declare_device` gives: a function whose code no Python holds."""

    def __init__(self, name: str, signature: Any) -> None:
        self.__name__ = name
        self.signature = signature


class LocalFunction:
    """A function that a kernel defines for itself."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run


INTRINSICS: dict[str, Intrinsic] = {}  # by their paths below `cuda`
_FUNCTIONS: dict[int, tuple[Any, Intrinsic]] = {}
METHODS: dict[str, Callable[..., Any]] = {}  # of arrays
_NUMBA: dict[int, tuple[Any, Intrinsic | Namespace]] = {}
_DEVICE: dict[int, DeviceFunction] = {}  # by their dispatchers


def intrinsic(
    path: str, *aliases: str, attribute: bool = False, site: bool = False, flop: bool = False
) -> Callable[[F], F]:
    """Registers the implementation of `cuda.<path>`, which may have other names too."""

    def register(run: F) -> F:
        registered = Intrinsic(path, run, attribute, site, flop)
        INTRINSICS.update(dict.fromkeys((path, *aliases), registered))
        return run

    return register


def function(*objects: Any, flop: bool = False) -> Callable[[F], F]:
    """Registers the implementation of Python, math or NumPy functions."""

    def register(run: F) -> F:
        for thing in objects:
            name = getattr(thing, "__name__", str(thing))
            _FUNCTIONS[id(thing)] = (thing, Intrinsic(name, run, flop=flop))
        return run

    return register


def method(name: str) -> Callable[[F], F]:
    """Registers the implementation of an array's method, `run(machine, array, *arguments)`."""

    def register(run: F) -> F:
        METHODS[name] = run
        return run

    return register


def _numba_objects() -> dict[int, tuple[Any, Intrinsic | Namespace]]:
    """numba.cuda's own objects, once somebody has imported it."""
    if not _NUMBA and "numba.cuda" in sys.modules:
        module = sys.modules["numba.cuda"]
        for path, ours in INTRINSICS.items():
            thing: Any = module
            for part in path.split("."):
                thing = getattr(thing, part, None)
            if thing is not None:
                _NUMBA[id(thing)] = (thing, ours)
    return _NUMBA


def python_function(thing: Any) -> Callable[..., Any] | None:
    """The Python function inside a dispatcher, ours or Numba's; None for anything else."""
    inner = getattr(thing, "py_func", None)
    return inner if isinstance(inner, types.FunctionType) else None


def callee(thing: Any) -> Any:
    """What the machine uses for an object: an intrinsic, a device function, or the object."""
    if isinstance(thing, Intrinsic | Namespace | DeviceFunction):
        return thing
    if isinstance(thing, enum.IntEnum):
        return int(thing)
    entry = _FUNCTIONS.get(id(thing)) or _numba_objects().get(id(thing))
    if entry is not None:
        return entry[1]
    for convert in _CONVERTERS:
        converted = convert(thing)
        if converted is not None:
            return converted
    if python_function(thing) is not None:
        return _DEVICE.setdefault(id(thing), DeviceFunction(thing))
    return thing


# Families that are recognized rather than listed: ufuncs, types, arrays of other libraries.
_CONVERTERS: list[Callable[[Any], Any]] = []


def converter(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Registers a function that recognizes objects."""
    _CONVERTERS.append(make)
    return make


# What a program gave to Numba's types itself, asked for where the machine has nothing of that name.
_MEMBERS: list[Callable[[Any, str], Intrinsic | None]] = []


def members(find: Callable[[Any, str], Intrinsic | None]) -> Callable[..., Any]:
    """Registers a lookup for attributes and methods that the machine itself does not have."""
    _MEMBERS.append(find)
    return find


def member(thing: Any, name: str) -> Intrinsic | None:
    """What `thing.name` is that a program added; it takes the thing as its first argument."""
    return next((attribute for find in _MEMBERS if (attribute := find(thing, name))), None)


def can_call(thing: Any) -> bool:
    """Whether a kernel may call what `callee` gave."""
    if isinstance(thing, Intrinsic):
        return not thing.attribute
    return isinstance(thing, DeviceFunction) or (
        isinstance(thing, type) and issubclass(thing, tuple) and hasattr(thing, "_fields")
    )


def is_namespace(thing: Any) -> bool:
    """Whether attributes of an object are looked up before the kernel runs."""
    return isinstance(thing, types.ModuleType | Namespace | type)
