"""The device's part of a CUDA program: kernels, and what they need.

NVRTC takes no function of the host's, so that only what a kernel names goes there, directly or not;
every line stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from simt.cpp.compiler import knows_header
from simt.programs.cuda.declarations import Declaration, Declarations
from simt.programs.cuda.tokens import Token, included

__all__ = ["DevicePart", "assembled"]

DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef|line)\b")


def assembled(
    tokens: list[Token], kept: set[int], edits: dict[int, str],
    directive: Callable[[str, bool], bool | str],
) -> str:  # fmt: skip
    """The text of the kept tokens, some of them replaced, with all lines in place.

    `directive` tells what becomes of one, given whether it stands inside of what is kept.
    """
    out = []
    for k, token in enumerate(tokens):
        if token.kind == "directive":
            after = next((n for n in range(k, len(tokens)) if tokens[n].counts), k)
            result = directive(token.text, after in kept)
            out.append(result if isinstance(result, str) else token.text if result else token.blank)
        elif k in kept:
            out.append(edits.get(k, token.text))
            if k in edits:
                out.append(token.blank)
        elif token.kind == "space":
            out.append(token.text)
        else:
            out.append(token.blank or (" " if token.kind == "comment" else ""))
    return "".join(out)


class DevicePart:
    """The part of a program that NVRTC compiles."""

    def __init__(self, code: Declarations) -> None:
        self.code = code
        self._roots = self._named_at_launches()

    def text(self, names: Iterable[str] = (), kernel: str | None = None) -> str:
        """What kernels need, or one of them, and types of these names with what those need."""
        code = self.code
        kept: set[int] = set()
        edits: dict[int, str] = {}
        for declaration in self._needed(set(names) | self._roots, kernel):
            self._keep_for_device(declaration, kept, edits)
        for at in code.frame:
            kept.add(code.places[at])
        return assembled(code.tokens, kept, edits, _keeps)

    def _needed(self, names: set[str], kernel: str | None) -> list[Declaration]:
        """The declarations for kernels, and what those name, directly or not."""
        code, waiting = self.code, []
        possible = [d for d in code.declarations if self._is_possible(d)]
        if kernel is not None:
            possible = [d for d in possible if "__global__" not in d.marks or kernel in d.names]
        by_name: dict[str, list[Declaration]] = {}
        for d in possible:
            for name in d.names:
                by_name.setdefault(name, []).append(d)
            if self._is_root(d):
                waiting.append(d)
        needed = {id(d): d for d in waiting}
        words = set(names)
        for d in waiting:
            words |= d.words
        seen: set[str] = set()
        while words - seen:
            word = (words - seen).pop()
            seen.add(word)
            words |= code.macros.get(word, set())
            for d in by_name.get(word, []):
                if id(d) not in needed:
                    needed[id(d)] = d
                    words |= d.words
        return sorted(needed.values(), key=lambda d: d.first)

    def _is_possible(self, d: Declaration) -> bool:
        """Whether it may go to the device at all."""
        if d.kind == "function":
            return d.for_device or "constexpr" in d.marks
        if d.kind == "variable":
            return bool(d.marks & {"const", "constexpr"}) or d.for_device or "__shared__" in d.marks
        return d.kind != "other" or "__global__" in d.words

    def _is_root(self, d: Declaration) -> bool:
        """Whether it belongs to the device whoever names it."""
        if d.kind == "using":
            return "std" not in d.words and "namespace" in d.words
        if d.kind == "type":
            return any(self._is_root(inner) for inner in d.inner)
        return d.for_device or "__shared__" in d.marks

    def _keep_for_device(self, d: Declaration, kept: set[int], edits: dict[int, str]) -> None:
        code = self.code
        inside = set(range(d.first, d.last))
        for inner in d.inner:
            if inner.kind == "function" and not inner.for_device:
                if "constexpr" in inner.marks:
                    self._for_both(inner, edits)
                elif code.text(inner.last - 2) not in ("default", "delete"):
                    inside -= set(range(inner.first, inner.last))
            elif inner.inner:
                inside -= set(range(inner.first, inner.last))
                self._keep_for_device(inner, kept, edits)
        if d.kind == "function" and not d.for_device:
            self._for_both(d, edits)
        kept.update(code.places[at] for at in inside)

    def _for_both(self, d: Declaration, edits: dict[int, str]) -> None:
        """A constexpr function of the host's, which a kernel may use for its constants."""
        code = self.code
        for at in range(d.first, d.groups[0][0]):
            if code.text(at) == "constexpr":
                edits[code.places[at]] = "__host__ __device__ constexpr"

    def _named_at_launches(self) -> set[str]:
        """The words in the template arguments of launches."""
        code, names = self.code, set()
        for at in range(len(code.places)):
            if code.text(at) == "<<<":
                begin = code.callee(at)
                names |= {code.text(k) for k in range(begin, at) if code.is_word(k)}
        return names


def _keeps(directive: str, inside: bool) -> bool:
    """Whether a directive is for the device too."""
    name = included(directive)
    if name is not None:
        return knows_header(name)
    return inside or DIRECTIVE.match(directive) is not None
