"""Numba's reasons for a refusal, boiled down to a line and a sentence."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from gpulearn.simt.findings import Finding

__all__ = ["reason"]

_PLACE = re.compile(r'File "([^"]*)", line (\d+)|\bat (.+?) \((\d+)\)\s*$', re.MULTILINE)


_NOISE = re.compile(
    r"^(Failed in .* mode pipeline.*|During: .*|File .*|There are \d+ candidate.*|"
    r"\s*- Of which.*|\s*Overload .*|\s*With argument.*|\s*No match.*|Enable logging.*|"
    r"\^.*|\s*)$"
)


def reason(function: Callable[..., Any], error: Exception) -> Finding | None:
    """The finding for what Numba raised; None if it is no verdict."""
    kind = type(error).__name__
    family = {c.__name__ for c in type(error).__mro__}
    refused = family & {
        "TypingError",
        "UnsupportedError",
        "ForbiddenConstruct",
        "VerificationError",
    }
    if not refused and kind not in ("NameError", "UntypedAttributeError", "NotDefinedError"):
        return None
    text = str(error)
    line = _line_of(function, text)
    return Finding("not-a-kernel", line, _sentence(text))


def _line_of(function: Callable[..., Any], text: str) -> int | None:
    first = function.__code__.co_firstlineno
    home = function.__code__.co_filename
    places = [(a or c, int(b or d)) for a, b, c, d in _PLACE.findall(text)]
    lines = [n for file, n in places if file and home.endswith(file.rpartition("/")[2])]
    try:
        count = len(inspect.getsourcelines(function)[0])
    except (OSError, TypeError):
        count = 1
    inside = [n for n in lines if first < n < first + count]
    return next(iter(inside or lines), None)


def _sentence(text: str) -> str:
    """Numba's message in one sentence."""
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
    lines = [line for line in lines if line and not line.startswith(("def ", "@"))]
    call = next((line[4:] for line in lines if line.startswith(">>> ")), None)
    if call is not None:
        name = re.sub(r"<(?:built-in |class |function |ufunc )*'?([\w.]+)'?[^>]*>", r"\1", call)
        return f"Numba cannot compile this for a GPU: there is no {_shorter(name)}"
    first = lines[0] if lines else "Numba refuses this kernel"
    first = re.sub(r" \(from '[^']*'\)| from '[^']*'", "", first)
    first = re.sub(r"\$[\w.]+", "a value", first)
    return f"Numba cannot compile this for a GPU: {_shorter(first)}"


def _shorter(text: str) -> str:
    text = re.sub(r"Literal\[(\w+)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return text if len(text) <= 220 else text[:217] + "..."
