"""The kernels of a CUDA C++ source: their names, the names and types of their parameters."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from simt.ptx.text import closing

ELEMENTS: dict[str, str] = {  # of several names for one type the usual one first
    "float": "f4", "double": "f8", "half": "f2", "__half": "f2", "bool": "?",
    "char": "i1", "signed char": "i1", "unsigned char": "u1", "int8_t": "i1", "uint8_t": "u1",
    "short": "i2", "unsigned short": "u2", "int16_t": "i2", "uint16_t": "u2",
    "int": "i4", "signed": "i4", "signed int": "i4", "unsigned int": "u4", "unsigned": "u4",
    "int32_t": "i4", "uint32_t": "u4", "uint": "u4", "uchar": "u1", "ushort": "u2",
    "long long": "i8", "unsigned long long": "u8", "long": "i8", "unsigned long": "u8",
    "long int": "i8", "long long int": "i8", "unsigned long long int": "u8",
    "int64_t": "i8", "uint64_t": "u8", "size_t": "u8", "ptrdiff_t": "i8",
}  # fmt: skip
VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, as C++ writes it."""

    name: str
    type: str  # without `const`, `__restrict__` and the star
    pointer: bool
    constant: bool  # what it points to

    @property
    def element(self) -> np.dtype[np.generic] | None:
        """The type of the numbers that it holds or points to; None if that is not known."""
        if self.type in ELEMENTS:
            return np.dtype(ELEMENTS[self.type])
        vector = VECTOR.fullmatch(self.type)
        if vector is None:
            return None
        kind = ELEMENTS[vector[2].replace("longlong", "long")]
        return np.dtype(kind.replace("i", "u") if vector[1] else kind)

    @property
    def vector(self) -> int:
        """How many numbers there are in an element."""
        match = VECTOR.fullmatch(self.type)
        return int(match[3]) if match else 1

    def __str__(self) -> str:
        return f"{'const ' * self.constant}{self.type}{'*' * self.pointer}"


@dataclass(frozen=True)
class Signature:
    """A kernel: its name, its parameters, its template parameters, its first and last line."""

    name: str
    parameters: tuple[Parameter, ...]
    template: tuple[str, ...]
    first: int
    last: int

    def with_types(self, arguments: list[str]) -> Signature:
        """The kernel with its template parameters filled in."""
        types = dict(zip(self.template, arguments, strict=False))
        parameters = tuple(replace(p, type=types.get(p.type, p.type)) for p in self.parameters)
        return replace(self, parameters=parameters, template=())


KERNEL = re.compile(
    r"(?P<template>template\s*<(?P<types>[^<>]*)>\s*)?"
    r"(?:extern\s*\"\s*\"\s*)?(?:static\s+|inline\s+)*__global__\s+"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:static\s+)?void\s+"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(?P<name>\w+)\s*\((?P<params>[^()]*)\)\s*\{"
)
SPACE = re.compile(r"\bnamespace\s+([\w:]+)\s*\{")


def _blank(match: re.Match[str]) -> str:
    """A comment or string as blanks, with its line breaks."""
    text = match[0]
    if text.startswith('"'):
        return '"' + " " * (len(text) - 2) + '"'
    return re.sub(r"[^\n]", " ", text)


def find_kernels(
    source: str, lines: Collection[int] = (), symbol: str = ""
) -> dict[str, Signature]:
    """The kernels of a source by name; of several that of `symbol`, then that where `lines` lie."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', _blank, source, flags=re.DOTALL)
    spaces = [(m.end(), closing(text, m.end()), m[1].split("::")) for m in SPACE.finditer(text)]
    kernels: dict[str, tuple[tuple[bool, bool], Signature]] = {}
    for match in KERNEL.finditer(text):
        start = match.start("template") if match["template"] else match.start()
        end = closing(text, match.end())
        parameters = tuple(
            _parameter(word, k) for k, word in enumerate(_split(match["params"])) if word != "void"
        )
        template = tuple(
            word.split()[-1] for word in (match["types"] or "").split(",") if word.split()
        )
        first = 1 + text.count("\n", 0, start + len(text[start:]) - len(text[start:].lstrip()))
        name, last = match["name"], 1 + text.count("\n", 0, end)
        inside = [n for begin, stop, names in spaces if begin <= start < stop for n in names]
        fits = inside == names_of(symbol)[:-1], any(first <= n <= last for n in lines)
        if name not in kernels or fits >= kernels[name][0]:
            kernels[name] = fits, Signature(name, parameters, template, first, last)
    return {name: signature for name, (_, signature) in kernels.items()}


def _split(text: str) -> list[str]:
    """The parameters of a list, at the commas that stand in no angle bracket."""
    parts = re.split(r",(?![^<>]*>)", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def _parameter(text: str, number: int) -> Parameter:
    text = re.sub(r"\s*=.*$", "", text)
    text = re.sub(r"\b(__restrict__|__restrict|restrict|volatile|struct)\b", " ", text)
    constant = bool(re.search(r"\bconst\b[^*]*\*", text))
    text = re.sub(r"\bconst\b", " ", text)
    array = re.search(r"(\w+)\s*\[\d*\]\s*$", text)
    if array:
        text = text[: array.start()] + f"* {array[1]}"
    pointer = "*" in text
    words = text.replace("*", " * ").split()
    named = len(words) > 1 and re.fullmatch(r"\w+", words[-1])
    name = words[-1] if named else f"argument {number + 1}"
    kind = [w for w in words if w not in ("*", name)]
    return Parameter(name, " ".join(kind).removeprefix("std::"), pointer, constant)


def demangled_types(function: str) -> list[Parameter]:
    """The parameters, without names, of a function as `c++filt` writes it.

    >>> [str(p) for p in demangled_types("void scale<float>(float const*, unsigned int)")]
    ['const float*', 'unsigned int']
    """
    end = function.rfind(")")
    start, depth = end, 1
    while start > 0 and depth:
        start -= 1
        depth += {")": 1, "(": -1}.get(function[start], 0)
    parameters = []
    for text in _split(function[start + 1 : end]):
        kind = " ".join(re.sub(r"\bconst\b|[*&]", " ", text).split())
        parameters.append(Parameter("", kind, "*" in text, "const*" in text))
    return parameters


def short_name(symbol: str) -> str:
    """The C++ name at the end of a mangled one: `_ZZ4tilePfE1s` is `s`.

    >>> short_name("_ZZ6matmulPKfS0_PfiE4tile"), short_name("_ZN5saxpy4axpyEi"), short_name("axpy")
    ('tile', 'axpy', 'axpy')
    >>> short_name("_ZZ3sumPN4cuda6atomicIiL5scopeE0EEEiE4part_0")
    'part'
    """
    for nested in re.finditer(r"EL?(\d+)(?=(\w+)$)", symbol if symbol.startswith("_ZZ") else ""):
        size = int(nested[1])
        if size and re.fullmatch(r"(_\d+|__\d+_)?", nested[2][size:]):  # the last of all names
            return nested[2][:size]
    return names_of(symbol)[-1]


def names_of(symbol: str) -> list[str]:
    """The C++ name that a mangled one begins with, and those of the namespaces around it first."""
    names: list[str] = []
    rest = re.sub("^_ZN?", "", symbol)
    while (part := re.match(r"L?(\d+)", rest)) and (not names or symbol.startswith("_ZN")):
        end = part.end() + int(part[1])
        name, rest = rest[part.end() : end], rest[end:]
        names += [name] * (not name.startswith("_GLOBAL__N"))
    return names or [symbol]
