"""The text that makes a notebook's value again: the value itself, or the line that made it."""

from __future__ import annotations

import ast
import cmath
import contextlib
import functools
import io
import linecache
import math
import pprint
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import torch

from gpulearn.parallel.export.source import parsed
from gpulearn.parallel.launch.messages import packed

ATOMS = (type(None), bool, int, range, str, bytes)
WIDTH = 88  # characters of a line


class NotPlain(Exception):  # noqa: N818 - it is a finding, not a fault
    """Holds the value that no text makes again; the first one inside a container."""


class _Verbatim:
    """A text that `pprint` takes over as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def written(value: Any, name_of: Callable[[Any], str | None]) -> str:
    r"""The text that makes a value.

    It may be None, a number, text, or lists, tuples, sets and dictionaries of them, and what has
    a name: `name_of` gives that of a function, class or module in the script, or None. Anything
    else raises `NotPlain`.

    >>> written({"wide": [64, 32.5], "odd": ("it's",), "none": {None}}, lambda value: None)
    '{\'wide\': [64, 32.5], \'odd\': ("it\'s",), \'none\': {None}}'
    """
    named = _verbatim(value, name_of, ())
    return pprint.pformat(named, width=WIDTH, compact=True, sort_dicts=False)


def _verbatim(value: Any, name_of: Callable[[Any], str | None], around: tuple[int, ...]) -> Any:
    """The same lists, tuples and dictionaries, with the text of all else in them."""
    kind = type(value)
    if id(value) in around:  # a list that holds itself
        raise NotPlain(value)

    def inner(part: Any) -> Any:
        return _verbatim(part, name_of, (*around, id(value)))

    if kind in (list, tuple):
        return kind(map(inner, value))
    if kind is dict:
        return {_Verbatim(repr(inner(key))): inner(entry) for key, entry in value.items()}
    return _Verbatim(_text(value, name_of, inner))


def _text(value: Any, name_of: Callable[[Any], str | None], inner: Callable[[Any], Any]) -> str:
    kind = type(value)
    if kind in ATOMS or (kind is complex and cmath.isfinite(value)):
        return repr(value)
    if value is ...:
        return "..."
    if kind is float:
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, np.generic):
        return _of_numpy(value, name_of)
    if kind is torch.dtype:
        return f"{name_of(torch)}.{str(value)[6:]}"
    if kind is torch.device:
        return f"{name_of(torch)}.device('{value}')"
    if isinstance(value, PurePath):
        return f"{name_of(Path)}({str(value)!r})"
    if kind in (set, frozenset):
        entries = ", ".join(sorted(repr(inner(entry)) for entry in value))  # the same every time
        whole = f"{{{entries}}}" if entries else ""
        return whole if whole and kind is set else f"{kind.__name__}({whole})"
    if (name := name_of(value)) is not None:
        return name
    raise NotPlain(value)


def _of_numpy(value: np.generic, name_of: Callable[[Any], str | None]) -> str:
    """A single number of NumPy's, of its own type: float64(2.0)."""
    plain = value.item()
    if isinstance(value, np.bool_ | np.str_ | np.bytes_):
        return repr(plain)
    name = name_of(type(value))
    if name is None or not isinstance(plain, int | float | complex) or name == "longdouble":
        raise NotPlain(value)
    return f"{name}({_text(plain, name_of, repr)})"


def line_that_made(
    name: str, notebook: Mapping[str, Any], cell: str
) -> tuple[str, list[str]] | None:
    """The last assignment that gives all its names the values that they have now, in the notebook.

    Returned are its text and those names. It is run again to see that: a value that was changed
    afterwards, or drawn without a seed, has no such line. `cell` is the file name of some cell of
    this notebook.
    """
    tried = set()
    for source, targets in _assignments(name, cell):
        if source in tried or not all(target in notebook for target in targets):
            continue
        tried.add(source)
        scope = dict(notebook)
        with contextlib.suppress(Exception):
            with contextlib.redirect_stdout(io.StringIO()), torch.random.fork_rng(devices=[]):
                exec(compile(source, "<line>", "exec", dont_inherit=True), scope)
            if all(same(scope[target], notebook[target]) for target in targets):
                return source, targets
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two values are of one type and equal, tensors and arrays to the bit.

    >>> same([torch.ones(2), {"a": 1.0}], [torch.ones(2), {"a": 1.0}])
    True
    >>> same(torch.ones(2), torch.ones(2, dtype=torch.float64))
    False
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, functools.partial):
        return same((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    try:
        return bool(one == other) or packed(one) == packed(other)
    except Exception:
        return False


def _assignments(name: str, cell: str) -> Iterator[tuple[str, list[str]]]:
    """All simple assignments to a name at the left margin of the notebook's cells, the last first.

    The text of each, and the names that it sets.
    """
    folder, _, _ = cell.rpartition("/")
    start = f"{folder}/" if folder else cell[: len("<ipython-input")]
    cells = [file for file in linecache.cache if file == cell or file.startswith(start)]
    for file in reversed(cells):
        lines = linecache.getlines(file)
        for node in reversed(getattr(parsed(lines), "body", [])):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = _names(node.targets if isinstance(node, ast.Assign) else [node.target])
            if name in targets and not _starts_ranks(node):
                text = "".join(lines[node.lineno - 1 : node.end_lineno])
                yield textwrap.dedent(_statement(text, node)).rstrip(), targets


def _statement(text: str, node: ast.stmt) -> str:
    """The text of a statement that may share its lines with others."""
    alone = ast.parse(text).body if node.col_offset == 0 else []
    return text if len(alone) == 1 else ast.unparse(node)


def _names(targets: list[ast.expr]) -> list[str]:
    """The names that are set; none if something else than names is."""
    names = []
    for target in targets:
        inner = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for node in inner:
            if not isinstance(node, ast.Name):
                return []
            names.append(node.id)
    return names


def _starts_ranks(node: ast.stmt) -> bool:
    """A script must not start ranks of its own."""
    names = [getattr(n, "attr", getattr(n, "id", None)) for n in ast.walk(node)]
    return "launch" in names or "simulate" in names
