"""Plain values as the text that makes them again, laid out as a formatter would."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import torch

from gpulearn.parallel.export.imports import WIDTH

__all__ = ["NotPlain", "Text", "layout", "written"]

Text = str | tuple[str, list[Any], str]  # an atom, or an opening, entries and a closing
PLAIN = (type(None), bool, int, range, type(...))


class NotPlain(Exception):  # noqa: N818 - it is a finding, not a fault
    """A value that no text makes again; the first one inside a container."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def written(value: Any, name_of: Callable[[Any], str | None]) -> Text:
    r"""The parts of the text that makes a value.

    Args:
        value: None, a number, text, or lists, tuples, sets and dictionaries of them, and what
            has a name.
        name_of: gives the name of a function, class or module in the script, or None.

    Raises:
        NotPlain: there is something else in it.

    >>> layout("SIZES = ", written({"wide": [64, 32.5], "odd": ("it's",)}, lambda value: None))
    'SIZES = {"wide": [64, 32.5], "odd": ("it\'s",)}'
    """
    return _written(value, name_of, ())


def _written(value: Any, name_of: Callable[[Any], str | None], around: tuple[int, ...]) -> Text:
    kind = type(value)
    if id(value) in around:  # a list that holds itself
        raise NotPlain(value)
    inner = (*around, id(value))
    if kind in PLAIN:
        return "..." if value is ... else repr(value)
    if kind in (str, bytes):
        return _quoted(repr(value))
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if kind is complex and cmath.isfinite(value):
        return repr(value)
    if kind in (torch.dtype, torch.device):
        torch_name = name_of(torch)
        return f"{torch_name}.{str(value)[6:]}" if kind is torch.dtype else (
            f'{torch_name}.device("{value}")'
        )  # fmt: skip
    if isinstance(value, PurePath):
        return f"{name_of(Path)}({_quoted(repr(str(value)))})"
    if kind is dict:
        parts: list[Any] = []
        for key, entry in value.items():
            left = layout("", _written(key, name_of, inner), most=math.inf)
            parts.append((f"{left}: ", _written(entry, name_of, inner)))
        return "{", parts, "}"
    if kind in (list, tuple):
        parts = [("", _written(entry, name_of, inner)) for entry in value]
        return ("[", parts, "]") if kind is list else ("(", parts, ",)" if len(value) == 1 else ")")
    if kind in (set, frozenset):
        parts = [("", _written(entry, name_of, inner)) for entry in value]
        parts.sort(key=lambda part: layout("", part[1], most=math.inf))  # the same every time
        if not parts:
            return f"{kind.__name__}()"
        return ("{", parts, "}") if kind is set else ("frozenset({", parts, "})")
    if (name := name_of(value)) is not None:
        return name
    raise NotPlain(value)


def layout(start: str, text: Text, indent: int = 0, end: str = "", most: float = WIDTH) -> str:
    """A text on one line if it fits, else an entry a line."""
    if isinstance(text, str):
        return f"{start}{text}{end}"
    opening, parts, closing = text
    flat = ", ".join(layout(left, entry, most=math.inf) for left, entry in parts)
    line = f"{start}{opening}{flat}{closing}{end}"
    if indent + len(line) <= most or not parts:
        return line
    inside = [
        " " * (indent + 4) + layout(left, entry, indent + 4, ",", most) for left, entry in parts
    ]
    last = " " * indent + closing.removeprefix(",") + end
    return "\n".join([f"{start}{opening}", *inside, last])


def _quoted(text: str) -> str:
    """Python's own text for a string, in double quotes where that needs no backslash."""
    prefix = "b" if text.startswith("b") else ""
    body = text[len(prefix) :]
    if body.startswith('"') or '"' in body:
        return text
    return f'{prefix}"{body[1:-1]}"'
