"""Turns bad input and missing packages into one clear sentence.

Each function raises `BadInput` where a value is not what it asks for, unless it says otherwise.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import itertools
import math
import numbers
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gpulearn.errors import BadInput, MissingPackage
from simt.wording import install_command as install_command
from simt.wording import shorten as shorten
from simt.wording import shown as shown

if TYPE_CHECKING:
    import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# optional package -> what the course does with it, and the extra of pyproject.toml that brings it
OPTIONAL = {
    "torch": ("timing, training and ranks", "torch"),
    "jupyterlab": ("opening the notebooks", "lab"),
    "matplotlib": ("figures", "lab"),
    "ipywidgets": ("interactive figures", "lab"),
    "cloudpickle": ("starting ranks", "torch"),
    "tqdm": ("progress bars", "lab"),
    "tensorboard": ("TensorBoard's logs", "lab"),
}


def package(name: str, purpose: str) -> Any:
    """Import an optional package, or raise `MissingPackage`, which says what brings it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise missing(error.name, purpose) from None


def missing(name: str, purpose: str) -> MissingPackage:
    """The error that says in one sentence what brings an optional package."""
    _, extra = OPTIONAL[name]
    return MissingPackage(
        f"{purpose} needs {name}, which is not installed: {install_command(extra)} brings it."
    )


def choice(what: str, value: object, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`, else name the nearest."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    lowered = {name.lower(): name for name in names}
    near = difflib.get_close_matches(str(value).lower(), lowered, n=1)
    hint = f"did you mean {lowered[near[0]]!r}?" if near else f"choose from {', '.join(names)}."
    raise BadInput(f"There is no {what} {shown(value)}: {hint}")


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> listed(["MASTER_ADDR", "RANK", "WORLD_SIZE"]), listed(["RANK"])
    ('MASTER_ADDR, RANK and WORLD_SIZE', 'RANK')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def counted(number: int, word: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "pass", "passes"), counted(4000, "sector")
    ('1 pass', '4,000 sectors')
    """
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def same_length(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check before each call that the named arguments are lists of one length."""

    def check(args: dict[str, Any]) -> None:
        lengths = {}
        for name in names:
            if not hasattr(args[name], "__len__") or isinstance(args[name], str):
                raise BadInput(f"{name} is {shown(args[name])}: give a list of numbers.")
            lengths[name] = len(args[name])
        if len(set(lengths.values())) > 1:
            both = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise BadInput(f"{both} entries: they must be as many.")

    return together(check)


def whole(name: str, value: object) -> int:
    """Return a whole number above zero as Python's own integer, which does not overflow."""
    return _integer(name, value, 1, "above zero")


def from_zero(name: str, value: object) -> int:
    """Return a whole number from 0, such as a rank or a step counted from 0, as `whole` does."""
    return _integer(name, value, 0, "from 0")


def _integer(name: str, value: object, least: int, expected: str) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least:
        raise BadInput(f"{name} is {shown(value)}: give a whole number {expected}.")
    return number


def above_zero(name: str, value: object) -> None:
    """Check that a value is a number above zero, and finite."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]
        raise BadInput(f"{name} is {shown(value)}: give a number above zero.")


def real_array(name: str, value: Any) -> np.ndarray[Any, Any]:
    """A value as an array of floats; float32 and the like stay what they are."""
    import numpy as np  # not above: `import gpulearn` stays without it

    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise BadInput(f"{name} is {shown(value)}: its rows differ in length.") from None
    if array.dtype.kind in "iub":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise BadInput(f"{name} is {shown(value)}: give real numbers.")
    return array


def several(name: str, values: Any, such_as: str = "") -> tuple[Any, ...]:
    """Return a list, or whatever can be gone through, as a tuple; text is one value.

    The sentence gives the example `such_as`, or a list of the single value.
    """
    if not isinstance(values, Iterable) or isinstance(values, str):
        example = such_as or f"[{shown(values)}]"
        raise BadInput(f"{name} is {shown(values)}: give a list, such as {example}.")
    return tuple(values)


def named(name: str, values: Any, expected: str, most: float = math.inf) -> Mapping[str, Any]:
    """Return a mapping of one to `most` entries, such as {"label": numbers}.

    `expected` says what to give, for the sentence.
    """
    if not isinstance(values, Mapping) or not 0 < len(values) <= most:
        raise BadInput(f"{name} is {shown(values)}: give {expected}.")
    return values


def each(values: Mapping[str, Any], kind: type | str, expected: str, start: str = "{} is") -> None:
    """Check that all values of a mapping are of one kind: of a class, or with an attribute.

    `expected` says what to give, for the sentence; in `start`, {} stands for the value's name.
    """
    for name, value in values.items():
        if not (hasattr(value, kind) if isinstance(kind, str) else isinstance(value, kind)):
            raise BadInput(f"{start.format(name)} {shown(value)}: give {expected}.")


def all_of(kind: type, values: Iterable[Any], word: str, expected: str) -> None:
    """Check that all values are of one class, which a sentence calls by `word`."""
    for value in values:
        if not isinstance(value, kind):
            raise BadInput(f"{shown(value)} is no {word}: give {expected}.")


def ascending(name: str, values: object) -> tuple[int, ...]:
    """Return ascending whole numbers above zero as a tuple."""
    values = several(name, values, "[64, 128]")
    sizes = tuple(whole(f"an entry of {name}", value) for value in values)
    if not sizes or any(a >= b for a, b in itertools.pairwise(sizes)):
        raise BadInput(f"{name} is {shown(list(sizes))}: give at least one, ascending.")
    return sizes


def sizes(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check before each call that the named arguments are whole numbers above zero."""
    return together(lambda args: args.update({n: whole(n, args[n]) for n in names}))


def positive(
    *names: str, or_zero: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check before each call that the named arguments are numbers above zero, or may be zero."""

    def check(args: dict[str, Any]) -> None:
        for name in (*names, *or_zero):
            if name in names or args[name] != 0:
                above_zero(name, args[name])

    return together(check)


def checked(**judges: Callable[[object], object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a judge of its own look at each named argument before each call."""

    def check(args: dict[str, Any]) -> None:
        for name, judge in judges.items():
            judge(args[name])

    return together(check)


def same_shape(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check before each call that the named arguments are arrays of numbers of one shape."""

    def check(args: dict[str, Any]) -> None:
        for name in names:
            if not _is_numeric(args[name]):
                raise BadInput(f"{name} is {shown(args[name])}: give an array of numbers.")
        if len({args[name].shape for name in names}) > 1:
            both = ", ".join(f"{name} has shape {args[name].shape}" for name in names)
            raise BadInput(f"{both}: they must be the same.")

    return together(check)


def shapes(**expected: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check array arguments against shapes such as `a="m n", b="n p"` before each call.

    A letter stands for one size wherever it occurs.
    """

    def check(args: dict[str, Any]) -> None:
        sizes_of: dict[str, tuple[str, int]] = {}
        for name, letters in expected.items():
            array, form = args[name], f"({', '.join(letters.split())})"
            shape = getattr(array, "shape", None)
            if shape is None or not _is_numeric(array, unknown="f"):
                raise BadInput(
                    f"{name} is {shown(array)}: give an array of numbers of shape {form}."
                )
            if len(shape) != len(letters.split()):
                raise BadInput(f"{name} has shape {tuple(shape)}: it must be {form}.")
            for letter, size in zip(letters.split(), shape, strict=True):
                owner, known = sizes_of.setdefault(letter, (name, size))
                if size != known:
                    raise BadInput(
                        f"{name} has shape {tuple(shape)}, but {letter} is {known} in {owner}: "
                        f"{name} must be {form}."
                    )

    return together(check)


def together(
    judge: Callable[[dict[str, Any]], None],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a judge look at all arguments by name before each call; it may convert them.

    The function itself stays a plain solution.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            judge(bound.arguments)
            return function(*bound.args, **bound.kwargs)

        return checked

    return decorate


def _is_numeric(array: Any, unknown: str = "?") -> bool:
    """Whether an array holds numbers; `unknown` is the kind of what has no NumPy dtype."""
    return getattr(getattr(array, "dtype", None), "kind", unknown) in "iufbcO"
