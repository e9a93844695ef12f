"""Numba's errors: its reasons for a refusal, reduced to a line and a sentence.

`reason` is what a learner reads. The commonest mistakes have plain sentences of their own;
of anything else, the first line of Numba's message that says something.
"""

import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

from simt.core.findings import Finding

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
        "CompilerError", "NumbaRuntimeError", "TypingError", "UnsupportedBytecodeError",
        "UnsupportedError", "ForbiddenConstruct", "VerificationError",
    }  # fmt: skip
    if not refused and kind not in ("NameError", "UntypedAttributeError", "NotDefinedError"):
        return None
    text = str(error)
    line = _line_of(function, text) or _line_in_frames(function, error)
    message = _plain(text) or _sentence(text)
    return Finding("not-a-kernel", line, message, errors=caught_as(kind))


def caught_as(name: str) -> tuple[type[Exception], ...]:
    """Numba's classes of this name: numba-cuda has a tree of its own beside Numba's."""
    homes = ("numba.cuda.core.errors", "numba.core.errors", "numba.cuda.errors")
    classes = [getattr(sys.modules.get(home), name, None) for home in homes]
    return tuple(dict.fromkeys(kind for kind in classes if kind is not None))


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
    home, line = function.__code__.co_filename, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for name in ("constraint", "inst"):
            place = getattr(frame.f_locals.get(name), "loc", None)
            if place is not None and place.filename == home:
                line = place.line
    return line


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


# --- what has a type and no code

_ALTERNATIVES = {
    "absolute": "abs(x)", "add": "x + y", "cbrt": "cuda.cbrt(x)", "conjugate": "z.conjugate()",
    "copysign": "math.copysign(x, y)", "divide": "x / y", "divmod": "divmod(x, y)",
    "float_power": "x ** y", "floor_divide": "x // y", "fmod": "math.fmod(x, y)", "gcd": "a loop",
    "heaviside": "(y if x == 0 else x > 0)", "lcm": "a loop",
    "logaddexp": "max(x, y) + math.log1p(math.exp(-abs(x - y)))", "multiply": "x * y",
    "negative": "-x", "nextafter": "math.nextafter(x, y)", "positive": "x", "power": "x ** y",
    "reciprocal": "1 / x", "remainder": "x % y", "rint": "round(x)", "sign": "(x > 0) - (x < 0)",
    "signbit": "math.copysign(1.0, x) < 0", "square": "x * x", "subtract": "x - y",
}  # fmt: skip
_SINCE = dict.fromkeys(("conjugate", "divide", "isnan"), "0.22")  # of numba-cuda


def no_code(what: str, here: bool) -> str:
    """The sentence for what Numba's CUDA target gives a type and no code, such as "np.exp".

    `here` says whether the kernel itself calls it, not a device function elsewhere.
    """
    ufunc = what.removeprefix("np.")
    alternative = _ALTERNATIVES.get(ufunc) or (f"math.{ufunc}(x)" if hasattr(math, ufunc) else "")
    whose = "Numba's CUDA target" if ufunc not in _SINCE else f"numba-cuda before {_SINCE[ufunc]}"
    where = "" if here else ", which a device function calls"
    word = "write a loop" if ufunc == what else "compute it from functions of math"
    word = "convert the number, with np.int32(x)" if what.startswith("cuda.") else word
    advice = f"write {alternative}" if alternative else word
    return f"{whose} has no code for {what}{where}: {advice}"


# --- the commonest mistakes in plain words

NEW_ARRAY = (
    "a kernel cannot make a new array, as arithmetic on whole arrays or rows does: "
    "compute single elements, with all their indices, such as a[i] + b[i]"
)

ARRAY_TRUTH = "a whole array cannot be true or false: ask about one element, such as a[i]"

_INDEX = re.compile(r"(?:set|get)item\(array\((\w+), (\d)d, \w+\), (.+)\)$", re.MULTILINE)
_MEANINGS = (
    (re.compile(r"float\d+\b"), "an index must be a whole number, this one is a float: use //"),
    (re.compile(r"Dim3\b"), "an index must be a number, and this one has three parts: write .x"),
    (re.compile(r"Function\(|type\("), "a function stands where an index must: call it, with ()"),
    (re.compile(r"str\b|unicode"), "an index must be a number, not a string"),
    (re.compile(r".*, array\("), "an array cannot be stored in one element"),
)


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_OPERATION = re.compile(rf">>> i?({'|'.join(_OPERATORS)})\((.*)\)$", re.MULTILINE)
_COMMA = re.compile(r", (?![^()]*\))")  # between arguments, not inside one
_NUMBER = r"(?:float|u?int|bool|complex)\d*"

# a pattern in what Numba says, and the sentence for it, which may name the pattern's groups
_SENTENCES = (
    (r"No conversion from .* to none for", "a kernel cannot return a value: write it to an array"),
    (r'NRT required[\s\S]*lowering "[^"]*\] = ',
     "a kernel cannot assign an array to a part of one: write a loop over the elements"),
    (r"_array_allocate|NRT required|>>> (?:neg|pos|invert)\(array\([^()]*\)\)$", NEW_ARRAY),
    (r"Cannot modify readonly array",
     "this array may only be read: it is a global one, or read-only in NumPy; "
     "a kernel writes to arrays that are its arguments"),
    (r"[Vv]ariable '(\w+)' is not defined", "{0} is used before anything was assigned to it"),
    (r"Cannot unify (.+) and (.+) for '(\w+)(?:\.\d+)*'",
     "{2} is {0} on one path and {1} on another: it needs one type"),
    (r">>> (?:npy_|nan)?(min|max)\(array\([^()]*\)\)$",
     "Numba's CUDA target has no code for the {0} of a whole array: write a loop over it"),
    (r"Untyped global name '(\w+)'.*type of <class '(?:\w+\.)*(\w+)'>",
     "{0} is a {1}, which a kernel cannot use: it takes numbers, tuples and arrays"),
    (r"Unknown attribute '(\w+)' of type array",
     "an array has no attribute {0} in a kernel; it has shape, size, ndim and dtype"),
    (r"Cannot bind 'args=.*' to signature '\(([^']*)\)' due to \"TypeError: (.*?)\"",
     "the function called here takes ({0}): {1}"),
    (r"reshape\(\) supports contiguous array only",
     "an array can be reshaped only where its elements lie one after the other"),
    (r"Invalid use of getiter", "a number cannot be looped over: range(n) counts up to it"),
    (rf"Invalid use of {_NUMBER} with parameters",
     "a number is called here as if it were a function: leave out the ()"),
    (r"Invalid use of (?:array|Uni|Tuple).* with parameters",
     "an array or tuple is called here like a function: its elements are in [ ], not ( )"),
    (r">>> getitem\(type\(CUDADispatcher",
     "a kernel cannot launch a kernel: only the host writes kernel[blocks, threads](...)"),
    (r">>> array\(.*, Function\(|>>> array\(.*, str\)",
     "the dtype of an array in a kernel is a type such as numba.float32 or np.float32"),
    (r">>> array\(.*, class\(",
     "the shape of shared.array and local.array must be a constant, known at compile time: "
     "give what is computed or an argument a name outside of the kernel, such as TILE = 32"),
    (rf">>> (?:get|set)item\(({_NUMBER})\b",
     "only arrays and tuples can be indexed, and this is {0}"),
    (r">>> setitem\((array\([^()]*\)), .*, (none|str|unicode_type|complex\d+)\)$",
     "{1} cannot be stored in {0}"),
    (r"stubs\.atomic\.\w+'>\) found for signature:\s+>>> \w+\(array\((?:u?int|float)(?:8|16)\b",
     "an atomic update takes elements of 32 or 64 bits, and these have fewer: use int32"),
    (r"\.(\w+) of (type \w+) is not aligned",
     "the field {0} of {1} is not aligned, and a GPU reads no other: its place must be a "
     "multiple of its size, make the records with np.dtype(..., align=True)"),
    (r"failed to unpack", "one number cannot be taken apart into several"),
    (r">>> syncthreads_(\w+)\(bool\)",
     "syncthreads_{0} takes a whole number, not a truth value: write int(...)"),
    (r">>> range\(.*(?:Uni)?Tuple",
     "range() takes whole numbers, and this is a tuple: a.shape[0] is its first number"),
    (rf">>> i?(?:{'|'.join(_OPERATORS)})\(.*Dim3",
     "cuda.threadIdx, blockIdx, blockDim and gridDim have three parts each: write .x"),
    (rf">>> i?(?:{'|'.join(_OPERATORS)})\((?:UniTuple.*|.*, UniTuple.*)\)$",
     "several numbers stand where one is needed: x, y = cuda.grid(2) takes them apart, "
     "a.shape[0] is the first of a.shape"),
    (r">>> (?:bool|not_)\(array\(", ARRAY_TRUTH),
    (r">>> (\w+)\(array\([^()]*\)\)$",
     "{0}() takes a number, and this is a whole array: write a[i]"),
    (rf">>> (?!(?:get|set)item|i?(?:{'|'.join(_OPERATORS)})\()\w+\(.*\bFunction\(",
     "a function stands where a number must: call it, with ()"),
)  # fmt: skip


def _plain(text: str) -> str | None:
    """A plain sentence for the commonest mistakes; None for all others."""
    text = _bare(text)
    for pattern, sentence in _SENTENCES:
        if match := re.search(pattern, text, re.MULTILINE):
            return sentence.format(*(in_words(part) for part in match.groups()))
    if "<ufunc" not in text and (match := _OPERATION.search(text)):
        if "array(" in match[2]:  # what numba by itself says; numba-cuda lets it pass
            return ARRAY_TRUTH if match[1] in ("lt", "le", "gt", "ge", "eq", "ne") else NEW_ARRAY
        if re.search(r"\bFunction\(", match[2]):
            return "a function stands where a number must: call it, with (), as in cuda.grid(1)"
        sides = " and ".join(in_words(side) for side in _COMMA.split(match[2]))
        return f"{_OPERATORS[match[1]]} does not work between {sides}"
    match = _INDEX.search(text)
    if match is None:
        return None
    dimensions, index = int(match[2]), _shorter(match[3])
    count = _count(index)
    if count > dimensions:
        return f"too many indices: the array has {dimensions} dimension{'s' * (dimensions != 1)}"
    return next((meaning for kind, meaning in _MEANINGS if kind.match(index)), None)


def in_words(kind: str) -> str:
    """A Numba type as a reader would say it; anything else as it is."""
    kind = _shorter(kind).strip()
    if array := re.match(r"(?:readonly )?array\((\w+), (\d)d, \w+\)", kind):
        return f"a {array[2]}-dimensional array of {array[1]}"
    if re.match(r"(?:Uni)?Tuple\(", kind):
        return "a tuple"
    if kind in ("str", "unicode_type"):
        return "a string"
    if kind.startswith(("Function(", "type(")):
        return "a function"
    if kind == "none":
        return "None"
    if not re.match(_NUMBER + "$", kind):
        return kind
    kind = "int64" if kind == "int" else kind
    return f"{'an' if kind[:1] == 'i' else 'a'} {kind}"


def _count(index: str) -> int:
    """How many indices a Numba type stands for."""
    if many := re.match(r"UniTuple\(\w+ x (\d+)\)", index):
        return int(many[1])
    if several := re.match(r"Tuple\(([^()]*)\)", index):
        return len(several[1].split(","))
    return 1


def _bare(text: str) -> str:
    """A type without the values of constants: Literal[int](3) is an int."""
    return re.sub(r"(?:Literal|literal)\[(\w+)\]\([^)]*\)", r"\1", text)


def _shorter(text: str) -> str:
    """A text on one line, shortened."""
    text = _bare(" ".join(text.split()))
    return text if len(text) <= 220 else text[:217] + "..."
