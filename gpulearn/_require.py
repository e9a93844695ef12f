"""Turns bad input and missing packages into one clear sentence."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import metadata
from typing import Any, ParamSpec, TypeVar

from gpulearn.errors import BadInput, MissingPackage

__all__ = ["choice", "install_command", "not_empty", "package", "positive", "shapes", "sizes"]

P = ParamSpec("P")
R = TypeVar("R")

# package -> the extra of pyproject.toml that brings it
EXTRA = {"torch": "torch", "matplotlib": "lab", "ipywidgets": "lab", "IPython": "lab"}


def install_command(extra: str) -> str:
    """The one command that adds an extra, from where the project is published."""
    urls = metadata("gpulearn").get_all("Project-URL") or ()
    found = dict(url.split(", ", 1) for url in urls)
    return f'pip install "gpulearn[{extra}] @ git+{found["Repository"]}"'


def package(name: str, purpose: str) -> Any:
    """Import an optional package, or say in one sentence what brings it.

    Raises:
        MissingPackage: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        extra = EXTRA[name.partition(".")[0]]
        raise MissingPackage(
            f"{purpose} needs {error.name}, which is not installed: "
            f"{install_command(extra)} brings it."
        ) from None


def choice(what: str, value: object, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`, else name the nearest.

    Raises:
        BadInput: `value` is none of them.
    """
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}."
    raise BadInput(f"There is no {what} {value!r}: {hint}")


def positive(**values: object) -> None:
    """Check that every named value is a whole number above zero.

    Raises:
        BadInput: one is not.
    """
    for name, value in values.items():
        is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not is_whole or value.__index__() <= 0:  # type: ignore[attr-defined]
            raise BadInput(f"{name} is {value!r}: give a whole number above zero.")


def not_empty(name: str, values: Sequence[object]) -> None:
    """Check that there is at least one value.

    Raises:
        BadInput: there is none.
    """
    if len(values) == 0:
        raise BadInput(f"{name} is empty: give at least one.")


def sizes(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check before each call that the named arguments are whole numbers above zero."""
    return _before_each_call(lambda given: positive(**{name: given[name] for name in names}))


def shapes(**expected: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check array arguments against shapes such as `a="m n", b="n p"` before each call.

    A letter stands for one size wherever it occurs.
    """

    def match_all(given: dict[str, Any]) -> None:
        seen: dict[str, tuple[str, int]] = {}
        for name, letters in expected.items():
            _match(name, given[name], letters.split(), seen)

    return _before_each_call(match_all)


def _before_each_call(
    inspect_arguments: Callable[[dict[str, Any]], None],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that checks: the function itself stays short enough to read as a solution."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            inspect_arguments(signature.bind(*args, **kwargs).arguments)
            return function(*args, **kwargs)

        return checked

    return decorate


def _match(name: str, array: Any, letters: list[str], seen: dict[str, tuple[str, int]]) -> None:
    shape = getattr(array, "shape", None)
    wanted = f"({', '.join(letters)})"
    if shape is None:
        kind = type(array).__name__
        raise BadInput(f"{name} is a {kind}: give an array of shape {wanted}.")
    if len(shape) != len(letters):
        raise BadInput(f"{name} has shape {tuple(shape)}: it must be {wanted}.")
    for letter, size in zip(letters, shape, strict=True):
        owner, known = seen.setdefault(letter, (name, size))
        if size != known:
            raise BadInput(
                f"{name} has shape {tuple(shape)}, but {letter} is {known} in {owner}: "
                f"{name} must be {wanted}."
            )
