"""Findings in the words of C++: its names, and an index for each dimension of an array."""

import math
import re

from simt.core.findings import Finding
from simt.cpp.signature import short_name


def in_words(finding: Finding, dimensions: dict[str, tuple[int, ...]]) -> Finding:
    """A finding with C++ names for what the compiler has renamed, and indices as C++ has them."""
    message = re.sub(r"_Z\w+", lambda match: short_name(match[0]), finding.message)
    array = short_name(finding.array) if finding.array else finding.array
    shape = dimensions.get(array or "")
    if array and shape and finding.index and len(finding.index) == 1:
        number = finding.index[0]
        finding.index = in_dimensions(number, shape)
        places = "".join(f"[{i}]" for i in finding.index)
        sizes = "".join(f"[{n}]" for n in shape)
        message = message.replace(f"{array}[{number}]", f"{array}{places}")
        message = message.replace(
            f"{array} has length {math.prod(shape)}", f"the array is {array}{sizes}"
        )
    finding.message, finding.array = message, array
    return finding


def shapes(source: str) -> dict[str, tuple[int, ...]]:
    r"""The arrays of several dimensions that a source declares with sizes that are known.

    >>> shapes("#define T 16\n#define W (T + 2 / 2)  // wide\n__shared__ float tile[T][W * 2];")
    {'tile': (16, 34)}
    """
    constants = dict(re.findall(r"#define[ \t]+(\w+)[ \t]+((?:(?!//|/\*)[^\n])+)", source))
    constants |= re.findall(r"\bconst(?:expr)?(?: \w+)+ (\w+)\s*=\s*([^;=,]+);", source)
    arrays: dict[str, set[tuple[int, ...]]] = {}
    for name, axes in re.findall(r"[\s,*](\w+)((?:\s*\[[\w\s()+*/-]+\]){2,})\s*[,;=]", source):
        sizes = [_size(text, constants) for text in re.findall(r"\[([^\]]+)\]", axes)]
        if all(sizes):
            arrays.setdefault(name, set()).add(tuple(sizes))
    return {name: several.pop() for name, several in arrays.items() if len(several) == 1}


def _size(text: str, constants: dict[str, str]) -> int:
    """What an expression of whole numbers and constants is; 0 if it is something else."""
    for _ in range(4):  # a constant may be made of others
        text = re.sub(r"[A-Za-z_]\w*", lambda word: constants.get(word[0], "?"), text)
    if "**" in text or not re.fullmatch(r"[\d\s()+*/-]+", text):
        return 0
    try:
        return max(int(eval(text.replace("/", "//"))), 0)  # digits and operators alone
    except (SyntaxError, TypeError, ZeroDivisionError):
        return 0


def in_dimensions(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an element by its number, of which the first may lie outside.

    >>> in_dimensions(35, (16, 17)), in_dimensions(-1, (16, 17))
    ((2, 1), (-1, 16))
    """
    indices: tuple[int, ...] = ()
    for n in reversed(shape[1:]):
        index, last = divmod(index, n)
        indices = (last, *indices)
    return (index, *indices)
