"""Numba's reasons for a refusal, boiled down to a line and a sentence."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from typing import Any

from gpulearn.simt.findings import Finding

__all__ = ["NEW_ARRAY", "reason"]

NEW_ARRAY = (
    "a kernel cannot make a new array, as arithmetic on whole arrays or rows does: "
    "compute single elements, with all their indices"
)

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
    return Finding("not-a-kernel", line, _plain(text) or _sentence(text))


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


# what Numba says of the commonest mistakes, and what it means
_INDEX = re.compile(r"(?:set|get)item\(array\((\w+), (\d)d, \w+\), (.+)\)$", re.MULTILINE)
_MEANINGS = (
    (re.compile(r"float\d+\b"), "an index must be a whole number, this one is a float: // divides"),
    (re.compile(r"Dim3\b"), "an index must be a number, and this one has three parts: write .x"),
    (re.compile(r"Function\(|type\("), "a function stands where an index must: call it, with ()"),
    (re.compile(r"str\b|unicode"), "an index must be a number, not a string"),
)


def _plain(text: str) -> str | None:
    """A plain sentence for the commonest mistakes; None for all others."""
    if re.search(r"No conversion from .* to none for", text):
        return "a kernel cannot return a value: write it to an array"
    if "_array_allocate" in text or "NRT required" in text:
        return NEW_ARRAY
    if re.search(r"Invalid use of u?int\d+ with parameters \(\)", text):
        return "a number is called like a function: leave out the ()"
    if re.search(r">>> array\(.*, class\(", text):
        return "the shape of shared.array and local.array must be a constant, known at compile time"
    if "Cannot modify readonly array" in text:
        return (
            "this writes to an array that is read-only in NumPy: hand over a copy of it, a.copy()"
        )
    if found := re.search(r"[Vv]ariable '(\w+)' is not defined", text):
        return f"{found[1]} is used before anything was assigned to it"
    if found := re.search(r"Cannot unify (.+) and (.+) for '(\w+)(?:\.\d+)*'", text):
        one, other = (_in_words(found[k]) for k in (1, 2))
        return f"{found[3]} is {one} on one path and {other} on another: it needs one type"
    if found := re.search(r">>> getitem\(((?:float|u?int|bool)\d*)\b", _bare(text)):
        return f"only arrays and tuples can be indexed, and this is {_in_words(found[1])}"
    if "failed to unpack" in text:
        return "one number cannot be taken apart into several"
    if found := re.search(r">>> syncthreads_(\w+)\(bool\)", text):
        return f"syncthreads_{found[1]} takes a whole number, not a truth value: write int(...)"
    found = _INDEX.search(text)
    if found is None:
        return _operand(text)
    dimensions, index = int(found[2]), _shorter(found[3])
    count = _count(index)
    if count > dimensions:
        return f"too many indices: the array has {dimensions} dimension{'s' * (dimensions != 1)}"
    return next((said for kind, said in _MEANINGS if kind.match(index)), _value(index))


def _in_words(kind: str) -> str:
    """A Numba type as a reader would say it."""
    kind = _shorter(kind).strip()
    if array := re.match(r"(?:readonly )?array\((\w+), (\d)d, \w+\)", kind):
        return f"a {array[2]}-dimensional array of {array[1]}"
    if re.match(r"(?:Uni)?Tuple\(", kind):
        return "a tuple"
    kind = "int64" if kind == "int" else kind
    return f"{'an' if kind[:1] in 'aio' else 'a'} {kind}"


def _operand(text: str) -> str | None:
    """What is wrong with an operand or an argument, from the call that Numba has no version of."""
    call = re.search(r">>> (.*)$", text, re.MULTILINE)
    arguments = re.sub(r"^[^(]*<[^>]*>|^\w+", "", call[1]) if call else ""
    if "Dim3" in arguments:
        return "blockIdx, blockDim, threadIdx and gridDim have three parts each: write .x"
    if "Function(" in arguments:
        return "a function stands where a number must: call it, with ()"
    return None


def _count(index: str) -> int:
    """How many indices a Numba type stands for."""
    if many := re.match(r"UniTuple\(\w+ x (\d+)\)", index):
        return int(many[1])
    if several := re.match(r"Tuple\(([^()]*)\)", index):
        return len(several[1].split(","))
    return 1


def _value(rest: str) -> str | None:
    """What is wrong with the value of `a[i] = value`, from the types after the array's."""
    if re.search(r", array\(", rest):
        return "an array cannot be stored in one element"
    return None


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


def _bare(text: str) -> str:
    """Without the values of constants: Literal[int](3) is an int."""
    return re.sub(r"Literal\[(\w+)\]\([^)]*\)", r"\1", text)


def _shorter(text: str) -> str:
    text = _bare(" ".join(text.split()))
    return text if len(text) <= 220 else text[:217] + "..."
