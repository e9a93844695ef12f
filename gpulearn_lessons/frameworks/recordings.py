"""What functions of a notebook returned in TensorFlow and JAX, for computers without them.

A recording belongs to one version of a function and to its arguments. If either changes, it is not
used. A tool of the checkout records all of them again.
"""

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

FILE = Path(__file__).with_name("recorded.json")
NOTE = "GPULEARN_FRAMEWORKS_NOTE"  # the file to which what runs is written, if any
TOLERANCE = 1e-3  # by which sums of arrays may differ on another computer


class FrameworkRecording(NamedTuple):
    """One call that ran where its framework was installed."""

    result: Any
    printed: str
    version: str
    date: str


def fingerprint(fn: Callable[..., Any]) -> str:
    """What a function does: its syntax and that of its neighbors which it names; no comments.

    >>> fingerprint(lambda: 1) == fingerprint(lambda: 1)
    True
    """
    texts = [ast.dump(ast.parse(_source(function))) for function in _with_neighbors(fn)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _source(fn: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return repr(getattr(fn, "__name__", ""))


def _with_neighbors(fn: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function, and those of its own module that it uses, in the order of their names."""
    seen: dict[str, Any] = {}
    waiting: list[Any] = [fn]
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function.__name__ in seen:
            continue
        seen[function.__name__] = function
        if function.__module__ == fn.__module__:
            codes = [function.__code__]
            while codes:
                code = codes.pop()
                codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
                used = (function.__globals__.get(name) for name in code.co_names)
                waiting += [f for f in used if getattr(f, "__module__", "") == fn.__module__]
    return iter(seen[name] for name in sorted(seen))


def described(value: Any) -> Any:
    """An argument as JSON: an array by its shape, its sum and the sum of its squares.

    >>> described((2, np.ones((2, 3))))
    [2, {'shape': [2, 3], 'sums': [6.0, 6.0]}]
    """
    if isinstance(value, dict):
        return [[key, described(entry)] for key, entry in value.items()]
    if isinstance(value, list | tuple):
        return [described(entry) for entry in value]
    if isinstance(value, np.ndarray):
        wide = value.astype(np.float64)
        return {"shape": list(value.shape), "sums": [float(wide.sum()), float((wide**2).sum())]}
    if callable(value):
        return f"{value.__name__} {fingerprint(value)}"
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def alike(a: Any, b: Any) -> bool:
    """Whether two descriptions are of the same argument."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        sums = a["sums"], b["sums"]
        return a["shape"] == b["shape"] and np.allclose(*sums, rtol=TOLERANCE, atol=TOLERANCE)
    return bool(a == b)


def find(how: str, fn: Callable[..., Any], args: Sequence[Any], absent: str) -> FrameworkRecording:
    """What a call returned when it was recorded, in a kind of process that `how` names.

    Where nothing was recorded, the error says what is `absent` here.
    """
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"calls": []}
    given, code = described(list(args)), fingerprint(fn)
    for call in stored["calls"]:
        same = (call["how"], call["function"], call["code"]) == (how, fn.__name__, code)
        if same and alike(call["arguments"], given):
            version = stored["versions"][call["framework"]]
            return FrameworkRecording(call["result"], call["printed"], version, call["date"])
    raise MissingPackage(
        f"{fn.__name__} was recorded with other code or other arguments, so it must run here, but "
        f"{absent}"
    )


def note(
    how: str, framework: str, fn: Callable[..., Any], args: Sequence[Any], result: Any, printed: str
) -> None:
    """Add a call to the file that is being recorded, if one is."""
    if not (place := os.environ.get(NOTE)):
        return
    path = Path(place)
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"calls": []}
    stored["versions"] = availability.versions()
    call = {
        "how": how,
        "framework": framework,
        "function": fn.__name__,
        "code": fingerprint(fn),
        "arguments": described(list(args)),
        "result": result,
        "printed": printed,
        "date": datetime.date.today().isoformat(),
    }
    stored["calls"].append(call)
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
