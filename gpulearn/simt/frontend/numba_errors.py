"""Numba's reasons for a refusal, boiled down to a line and a sentence."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from typing import Any

from gpulearn.simt.core.findings import Finding
from gpulearn.simt.frontend.phrases import plain, shorter

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
    line = _line_of(function, text) or _line_in_frames(function, error)
    return Finding("not-a-kernel", line, plain(text) or _sentence(text))


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


def _line_in_frames(function: Callable[..., Any], error: Exception) -> int | None:
    """The line of the typing constraint, or the instruction, that Numba was at when it refused.

    Some of its messages name no place; the constraint, or the instruction, a local of the
    frames that the error passed through, always does.
    """
    home, found = function.__code__.co_filename, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for name in ("constraint", "inst"):
            place = getattr(frame.f_locals.get(name), "loc", None)
            if place is not None and place.filename == home:
                found = place.line
    return found


def _sentence(text: str) -> str:
    """Numba's message in one sentence."""
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
    lines = [line for line in lines if line and not line.startswith(("def ", "@"))]
    call = next((line[4:] for line in lines if line.startswith(">>> ")), None)
    if call is not None:
        name = re.sub(r"<(?:built-in |class |function |ufunc )*'?([\w.]+)'?[^>]*>", r"\1", call)
        return f"Numba cannot compile this for a GPU: there is no {shorter(name)}"
    first = lines[0] if lines else "Numba refuses this kernel"
    first = re.sub(r" \(from '[^']*'\)| from '[^']*'", "", first)
    first = re.sub(r"\$[\w.]+", "a value", first)
    return f"Numba cannot compile this for a GPU: {shorter(first)}"
