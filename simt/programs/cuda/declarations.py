"""Declarations of a C++ source: where each begins and ends, what it is, and for whom.

No parser of C++: brackets are matched, and the words before a body tell what it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from simt.errors import BadInput
from simt.programs.cuda.tokens import Source, Token

__all__ = ["ANNOTATIONS", "Declaration", "Declarations"]

ANNOTATIONS = {
    "__global__", "__device__", "__host__", "__constant__", "__shared__", "__managed__",
    "__forceinline__", "__noinline__", "__launch_bounds__", "__grid_constant__",
}  # fmt: skip
FOR_DEVICE = {"__global__", "__device__", "__constant__", "__managed__"}
TYPES = {"class", "struct", "union", "enum"}
# what may have parentheses and is no function
LIKE_CALLS = {
    "__launch_bounds__", "__align__", "alignas", "__attribute__", "__declspec", "decltype",
    "noexcept", "explicit",
}  # fmt: skip
OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Declaration:
    """One declaration: its tokens from `first` to before `last`, by their numbers."""

    first: int
    last: int
    kind: str  # function, type, variable, using or other
    marks: set[str]  # `__device__`, `constexpr` and the like
    names: set[str]
    words: set[str]  # every name that stands in it
    scope: tuple[str, ...]
    body: tuple[int, int] | None = None  # the braces of a function
    groups: list[tuple[int, int]] = field(default_factory=list)  # parentheses before it
    template: tuple[int, int] | None = None  # the angle brackets of its parameters
    inner: list[Declaration] = field(default_factory=list)  # of a type

    @property
    def name(self) -> str:
        """What a function is called."""
        return next(iter(self.names), "")

    @property
    def for_device(self) -> bool:
        """Whether kernels can use it by itself."""
        return bool(self.marks & FOR_DEVICE)

    @property
    def for_host(self) -> bool:
        """Whether the host can call it."""
        return "__host__" in self.marks or not self.for_device


class Declarations:
    """A source with its declarations."""

    def __init__(self, source: Source) -> None:
        self.source, self.tokens = source, source.tokens
        self.places = [k for k, t in enumerate(self.tokens) if t.counts]
        self._words = [self.tokens[k].text for k in self.places]
        self.macros = self._macros()
        self.frame: set[int] = set()  # tokens of namespaces, which every part needs
        self.declarations = list(self._declarations(0, len(self._words), (), False))

    def _macros(self) -> dict[str, set[str]]:
        """The words in the bodies of each macro: one may be defined in several ways."""
        macros: dict[str, set[str]] = {}
        for token in self.tokens:
            if token.kind == "directive":
                definition = re.match(r"\s*#\s*define\s+(\w+)(.*)", token.text, re.DOTALL)
                if definition:
                    words = re.findall(r"[A-Za-z_]\w*", definition[2])
                    macros.setdefault(definition[1], set()).update(words)
        return macros

    def token(self, at: int) -> Token:
        """The token with a number among those that count."""
        return self.tokens[self.places[at]]

    def text(self, at: int) -> str:
        """Its text; empty beyond the last."""
        return self._words[at] if 0 <= at < len(self._words) else ""

    def is_word(self, at: int) -> bool:
        """Whether it is a name."""
        return 0 <= at < len(self._words) and self.token(at).kind == "word"

    def closing(self, at: int) -> int:
        """The number of the bracket that closes the one at `at`."""
        waiting = [OPENING[self.text(at)]]
        for k in range(at + 1, len(self._words)):
            word = self._words[k]
            if word in OPENING:
                waiting.append(OPENING[word])
            elif word == waiting[-1]:
                waiting.pop()
                if not waiting:
                    return k
        raise BadInput(
            f"{self.source.place(self.token(at).line)}: the {self.text(at)!r} is never closed"
        )

    def angle(self, at: int) -> int:
        """The number of the `>` that closes the `<` at `at`; of a `>>>` that does it too."""
        depth, k = 0, at
        while k < len(self._words):
            word = self._words[k]
            if word in OPENING:
                k = self.closing(k)
            elif word == "<":
                depth += 1
            elif word in (">", ">>>"):
                depth -= len(word)
                if depth <= 0:
                    return k
            elif word == ";":
                break
            k += 1
        raise BadInput(f"{self.source.place(self.token(at).line)}: the '<' is never closed")

    def _marks(self, words: set[str]) -> set[str]:
        """The words that say for whom something is, in macros too."""
        expanded = words | {w for name in words for w in self.macros.get(name, ())}
        return expanded & (ANNOTATIONS | {"constexpr", "const", "extern", "static"})

    def _declarations(
        self, at: int, end: int, scope: tuple[str, ...], in_class: bool
    ) -> Iterator[Declaration]:
        while at < end:
            word = self.text(at)
            body = self._namespace_body(at)
            if word in (";", "}"):
                at += 1
            elif in_class and self.text(at + 1) == ":" and self.is_word(at):  # public:
                at += 2
            elif body:
                stop = self.closing(body)
                self.frame.update((*range(at, body + 1), stop))
                names = [self.text(k) for k in range(at, body) if self.is_word(k)]
                new = tuple(n for n in names if n not in ("namespace", "inline", "extern"))
                yield from self._declarations(body + 1, stop, scope + new, False)
                at = stop + 1
            else:
                declaration = self._declaration(at, end, scope)
                yield declaration
                at = declaration.last

    def _namespace_body(self, at: int) -> int:
        """Where the body of a namespace or of `extern "C"` begins; 0 if there is none."""
        k = at + (self.text(at) == "inline")
        if self.text(k) == "namespace":
            k += 1
            while self.is_word(k) or self.text(k) == "::":
                k += 1
        elif self.text(k) == "extern" and self.token(k + 1).kind == "string":
            k += 2
        else:
            return 0
        return k if self.text(k) == "{" else 0

    def _declaration(self, at: int, end: int, scope: tuple[str, ...]) -> Declaration:
        declaration = Declaration(at, end, "", set(), set(), set(), scope)
        k, head = at, set()
        while self.text(k) == "template" and self.text(k + 1) == "<":
            declaration.template = (k + 1, self.angle(k + 1))
            k = declaration.template[1] + 1
        start, equals, is_type, inner = k, 0, False, None
        while k < end:
            word = self.text(k)
            if word == ";":
                declaration.last = k + 1
                break
            if word == "{":
                stop = self.closing(k)
                if is_type and not declaration.groups and not equals:
                    inner = (k, stop)
                elif declaration.groups and not equals:
                    declaration.body = (k, stop)
                    if self.text(stop + 1) not in (",", "{"):  # else it initializes a member
                        declaration.last = stop + 1
                        break
                k = stop
            elif word in OPENING:
                stop = self.closing(k)
                if word == "(" and not equals and self.text(k - 1) not in LIKE_CALLS:
                    declaration.groups.append((k, stop))
                k = stop
            elif word == "=" and "operator" not in (self.text(k - 1), self.text(k - 2)):
                equals = equals or k
            elif self.is_word(k):
                if word in TYPES and not inner:
                    is_type = True
                head.add(word)
            k += 1
        declaration.marks = self._marks(head)
        inside = range(declaration.first, declaration.last)
        declaration.words = {self.text(k) for k in inside if self.is_word(k)}
        first = self.text(start)
        if first in ("using", "typedef") or first == "namespace":
            declaration.kind = "using"
            declaration.names = self._aliases(start, declaration.last, first)
        elif first in ("template", "static_assert", "friend"):
            declaration.kind = "other"
        elif declaration.groups and not (equals and equals < declaration.groups[0][0]):
            declaration.kind = "function"
            declaration.names = {self._function_name(declaration)}
        elif is_type and not declaration.for_device:
            declaration.kind = "type"
            declaration.names = self._type_names(start, declaration.last, inner)
            if inner:
                inner_scope = (*scope, *declaration.names)
                members = self._declarations(inner[0] + 1, inner[1], inner_scope, True)
                declaration.inner = [] if "enum" in head else list(members)
        else:
            declaration.kind = "variable"
            declaration.names = self._variable_names(start, declaration.last)
        return declaration

    def _function_name(self, function: Declaration) -> str:
        """The word before the parameters: of a kernel the last parentheses, else the first."""
        parenthesis = function.groups[0][0]
        return self.text(parenthesis - 1)

    def _aliases(self, at: int, end: int, first: str) -> set[str]:
        words = [self.text(k) for k in range(at, end) if self.is_word(k)]
        if first == "typedef":
            return set(words[-1:]) | set(words[1:2] if "(" in words else [])
        names = [w for w in words if w not in ("using", "namespace")]
        return {names[0], names[-1]} if names else set()

    def _type_names(self, at: int, end: int, inner: tuple[int, int] | None) -> set[str]:
        names = set()
        k = at
        while k < end and self.text(k) not in ("{", ";", ":"):
            if self.text(k) in OPENING:
                k = self.closing(k)
            elif self.is_word(k) and self.text(k) not in TYPES | LIKE_CALLS | {"final", "const"}:
                names.add(self.text(k))
            k += 1
        if inner and "enum" in (self.text(k) for k in range(at, inner[0])):
            names |= {self.text(k) for k in range(*inner) if self.is_word(k)}
        return names

    def _variable_names(self, at: int, end: int) -> set[str]:
        names, k = set(), at
        while k < end:
            if self.text(k) in OPENING:
                k = self.closing(k)
            elif self.is_word(k) and self.text(k + 1) in ("[", "=", ";", ",", "{"):
                names.add(self.text(k))
            k += 1
        return names

    def _opening(self, at: int) -> int:
        """The number of the bracket that the one at `at` closes, angle brackets among them."""
        angle, depth, k = self.text(at) in (">", ">>>"), 0, at
        while k > 0:
            word = self.text(k)
            if word in (")", "]", "}") and (angle or k < at):
                k = self._opening(k)
            elif angle:
                depth += len(word) if word in (">", ">>>") else -(word == "<")
                if depth == 0:
                    break
            elif k < at and word in OPENING:
                break
            k -= 1
        return k

    def callee(self, at: int) -> int:
        """Where what is launched begins: a name with namespaces and arguments, or a pointer."""
        k = at - 1
        if self.text(k) in (")", "]"):
            k = self._opening(k)
            return self.callee(k) if self.is_word(k - 1) else k
        if self.text(k) in (">", ">>>"):
            k = self._opening(k) - 1
        while self.text(k - 1) == "::":
            k -= 1 + self.is_word(k - 2)
        return k

    def parted(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What stands between brackets, at its commas."""
        parts, start, k, depth = [], begin + 1, begin + 1, 0
        while k < end:
            word = self.text(k)
            if word in ("(", "[", "{"):
                k = self.closing(k)
            elif word == "<":
                depth += 1
            elif word == ">":
                depth -= 1
            elif word == "," and depth == 0:
                parts.append((start, k))
                start = k + 1
            k += 1
        return [*parts, (start, end)] if end > start else parts
