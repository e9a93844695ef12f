"""What functions of a notebook returned in TensorFlow and JAX, for where these are not installed.

A recording belongs to a function as it stands and to its arguments: who changes either is not
shown what another one returned. A tool of the checkout makes all of them anew.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import inspect
import json
import os
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpulearn.errors import MissingPackage
from gpulearn_lessons.frameworks import availability

__all__ = ["FILE", "NOTE", "Recorded", "find", "fingerprint", "note"]

FILE = Path(__file__).with_name("recorded.json")
NOTE = "GPULEARN_FRAMEWORKS_NOTE"  # the file to which what runs is written, if any
NEAR = 1e-3  # by which sums of arrays may differ on another computer


class Recorded(NamedTuple):
    """One call that was carried out where its framework was installed."""

    result: Any
    printed: str
    version: str
    date: str


def fingerprint(fn: Callable[..., Any]) -> str:
    """What a function does: its syntax and that of its neighbours which it names; no comments.

    >>> fingerprint(lambda: 1) == fingerprint(lambda: 1)
    True
    """
    texts = [ast.dump(ast.parse(_source(one))) for one in _with_neighbours(fn)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _source(fn: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return repr(getattr(fn, "__name__", ""))


def _with_neighbours(fn: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function, and those of its own module that it uses, in the order of their names."""
    seen: dict[str, Any] = {}
    waiting: list[Any] = [fn]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, types.FunctionType) or one.__name__ in seen:
            continue
        seen[one.__name__] = one
        if one.__module__ == fn.__module__:
            codes = [one.__code__]
            while codes:
                code = codes.pop()
                codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
                found = (one.__globals__.get(name) for name in code.co_names)
                waiting += [f for f in found if getattr(f, "__module__", "") == fn.__module__]
    return iter(seen[name] for name in sorted(seen))


def described(value: Any) -> Any:
    """An argument as JSON: an array by its shape, its sum and the sum of its squares.

    >>> described((2, np.ones((2, 3))))
    [2, {'shape': [2, 3], 'sums': [6.0, 6.0]}]
    """
    if isinstance(value, dict):
        return [[key, described(one)] for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [described(one) for one in value]
    if isinstance(value, np.ndarray):
        wide = value.astype(np.float64)
        return {"shape": list(value.shape), "sums": [float(wide.sum()), float((wide**2).sum())]}
    if callable(value):
        return f"{value.__name__} {fingerprint(value)}"
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def alike(one: Any, other: Any) -> bool:
    """Whether two descriptions are of the same argument."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        sums = one["sums"], other["sums"]
        return one["shape"] == other["shape"] and np.allclose(*sums, rtol=NEAR, atol=NEAR)
    return bool(one == other)


def find(how: str, fn: Callable[..., Any], args: Sequence[Any], absent: str) -> Recorded:
    """What a call returned when it was recorded.

    Args:
        how: in which kind of process.
        fn: the function.
        args: its arguments.
        absent: the sentence that says what is missing here.

    Raises:
        MissingPackage: this function, as it stands, was not recorded with these arguments.
    """
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"calls": []}
    given, code = described(list(args)), fingerprint(fn)
    for one in kept["calls"]:
        same = (one["how"], one["function"], one["code"]) == (how, fn.__name__, code)
        if same and alike(one["arguments"], given):
            version = kept["versions"][one["framework"]]
            return Recorded(one["result"], one["printed"], version, kept["date"])
    raise MissingPackage(
        f"{fn.__name__} was recorded with other code or other arguments, so it has to run here, "
        f"and {absent}"
    )


def note(
    how: str, framework: str, fn: Callable[..., Any], args: Sequence[Any], result: Any, printed: str
) -> None:
    """Add a call to the file that is being recorded, if one is."""
    if not (place := os.environ.get(NOTE)):
        return
    path = Path(place)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"calls": []}
    kept["date"] = datetime.date.today().isoformat()
    kept["versions"] = availability.versions()
    entry = {
        "how": how,
        "framework": framework,
        "function": fn.__name__,
        "code": fingerprint(fn),
        "arguments": described(list(args)),
        "result": result,
        "printed": printed,
    }
    kept["calls"].append(entry)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
