"""Tokens of CUDA C++: a text in pieces that can be put together again with its lines kept.

A file that the program includes from its own folder stands in its place; its lines have numbers
from FILE on, so that one number says file and line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from simt.errors import BadInput

__all__ = ["FILE", "Source", "Token", "included", "read", "tokens_of"]

FILE = 100_000  # lines of each included file
DEPTH = 32  # of files that include each other
TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:/\*.*?\*/|\\\r?\n|[^\n])*)
    |(?P<space>\s)
    |(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
    |(?P<string>(?:u8|[uUL])?R"(?P<end>[^()\s\\]*)\(.*?\)(?P=end)"
        |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    |(?P<char>[uUL]?'(?:\\.|[^'\\\n])+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark><<<|>>>|::|->|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
ONCE = re.compile(r"\s*#\s*pragma\s+once\b")


class Token(NamedTuple):
    """A piece of a text, and the line on which it begins."""

    kind: str  # directive, space, comment, string, char, number, word or mark
    text: str
    line: int

    @property
    def counts(self) -> bool:
        """Whether it means something to the language itself."""
        return self.kind not in ("directive", "space", "comment")

    @property
    def blank(self) -> str:
        """Its line breaks."""
        return "\n" * self.text.count("\n")


@dataclass
class Source:
    """A program's tokens, and the files that they come from."""

    tokens: list[Token] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def place(self, line: int) -> str:
        """File and line, as compilers write it: `program.cu:12`."""
        number, line = divmod(line, FILE)
        return f"{self.files[number].name}:{line}"

    def in_words(self, message: str) -> str:
        """A message whose lines of included files are named with their file."""

        def named(match: re.Match[str]) -> str:
            number, line = divmod(int(match[1]), FILE)
            if not 0 < number < len(self.files):
                return match[0]
            return f"line {line} of {self.files[number].name}"

        return re.sub(r"\bline (\d{6,})\b", named, message)

    @property
    def lines(self) -> dict[int, str]:
        """The text by line."""
        whole = "".join(t.text for t in self.tokens if t.line < FILE)
        return dict(enumerate(whole.splitlines(), 1))


def tokens_of(text: str, first: int = 1) -> list[Token]:
    """The pieces of a text, whose first line has a given number."""
    tokens, line = [], first
    for match in TOKEN.finditer(text):
        tokens.append(Token(match.lastgroup or "mark", match[0], line))
        line += match[0].count("\n")
    return tokens


def _without_dead(tokens: list[Token]) -> list[Token]:
    """Turns what stands between `#if 0` and its end into comments."""
    live, depth = [], 0
    for token in tokens:
        if token.kind == "directive":
            word = re.sub(r"\s*#\s*", "", token.text)
            if depth and word.startswith("if"):
                depth += 1
            elif word.startswith("endif") or (depth == 1 and word.startswith("el")):
                depth = max(depth - 1, 0)
            elif re.match(r"if\s+0\s*$", word):
                depth = 1
        elif depth and token.kind != "space":
            token = token._replace(kind="comment")
        live.append(token)
    return live


def included(directive: str) -> str | None:
    """The name of the file that a directive includes; None if it is another one."""
    match = INCLUDE.match(directive)
    return match[2].strip() if match else None


def read(file: Path, text: str | None = None) -> Source:
    """A program with the files of its own that it includes.

    Raises:
        BadInput: files include each other without end, or one is no text.
    """
    source = Source()
    source.tokens = _read(source, file, set(), 0, text)
    return source


def _read(
    source: Source, file: Path, once: set[Path], depth: int, text: str | None = None
) -> list[Token]:
    if depth > DEPTH:
        raise BadInput(f"{file.name} is included more than {DEPTH} deep: does it include itself?")
    number = len(source.files)
    source.files.append(file)
    if text is None:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"{file} is no text in UTF-8: save it as such") from None
    if re.search(r"^\s*#\s*(pragma\s+once|ifndef)\b", text, re.MULTILINE) and number:
        once.add(file.resolve())
    tokens: list[Token] = []
    for token in _without_dead(tokens_of(text, number * FILE + 1)):
        if token.kind == "directive" and ONCE.match(token.text):
            continue
        tokens.append(token)
        name = included(token.text) if token.kind == "directive" else None
        inner = file.parent / name if name else None
        if inner is None or not inner.is_file():
            continue
        tokens.pop()
        if inner.resolve() in once:
            continue
        first = len(source.files) * FILE + 1
        tokens.append(Token("directive", f"\n#line {first}\n", first))
        tokens += _read(source, inner, once, depth + 1)
        tokens.append(Token("directive", f"\n#line {token.line + 1}", token.line))
    return tokens
