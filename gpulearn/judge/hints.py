"""The known answers of an exercise, from the text file beside its module: `NAME.hints`.

    / 2 →
    > that is twice the area: take the mean of two heights.

The exercise NAME is a function, its cases and how it is judged, in a module; and the mistakes that
it tells apart, in its file of hints, which is read only when an answer is wrong. The file lists
what a learner may write, each with what is said to it on the lines below, after `>`:

- `old → new` is an edit of the solution. `old` must occur in it exactly once; with nothing after
  the arrow it is left out. It cannot begin with a mark of another line, such as `>`: then write
  more of what stands before it. The solution is what `gl.solution` shows, without its decorator.
  Several edits in a row are one mistake.
- An edit of whole lines looks as in a patch: `- ` stands before a line that goes, `+ ` before one
  that comes, two blanks before one that stays. Indentation counts only relative to the other
  lines. `...` separates lines that do not follow each other.
- A function that is written out is a mistake of another design. The name of a function, alone on
  its line, is that function.
- `or` stands between two answers with the same hint.
- `✓` instead of a hint: the answer is right, and tests hold that it passes.
- `given` above the hint: this answer is what the notebook gives to be fixed.
- `edits of NAME`: the edits from there on start from that function, which is written out above.
- `NAME = text` defines what is said several times as {NAME}; indented lines continue it. A text
  constant of the exercise's module is such a {NAME}, too.
- Python above a line `---` adds imports, values and helpers to what an answer can use, which is
  what the solution's module defines.
- `# ` begins a comment.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from gpulearn.errors import BadInput
from gpulearn.judge.answers import Answer, Answers, Wrong, edited, plain, show, written

DEFINITION = re.compile(r"([A-Z][A-Z0-9_]*) = (.*)")
USE = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
INLINE = re.compile(r"(\S.*?) →(?: +(.*))?")
CODE = re.compile(r"(?:async )?def (\w+)|class |@")
BASE = re.compile(r"edits of (\w+)")
RIGHT, GIVEN, OR, APART, BAR = "✓", "given", "or", "...", "---"
MARKS = ("- ", "+ ", "  ")

Maker = Callable[[], Answer]
Place = tuple[int, int, str]  # from where to where in a source, and the new text


def read(path: Path, solution: Answer, texts: Mapping[str, Any] = {}) -> Answers:
    """The known answers in a file, if there is one; each is compiled when it is first asked for.

    `texts` are the names of the exercise's module.
    """
    if not path.is_file():
        return Answers()
    reader = _Reader(path, solution, texts)
    return Answers(reader.wrongs, reader.rights, reader.given)


def _place_of_text(old: str, new: str, source: str) -> Place:
    if (count := source.count(old)) != 1:
        todo = "write more of what stands around it" if count else "copy it from gl.solution"
        raise ValueError(f"`{old}` occurs {_times(count)} in what is edited: {todo}")
    start = source.index(old)
    return start, start + len(old), new


def _place_of_lines(patch: list[str], source: str) -> Place:
    dedented = textwrap.dedent("\n".join(line[2:] for line in patch)).split("\n")
    marked = [(line[0], text) for line, text in zip(patch, dedented, strict=True)]
    old = [text.rstrip() for mark, text in marked if mark != "+" and text.strip()]
    new = "".join(f"{text}\n" for mark, text in marked if mark != "-")
    if not old:
        raise ValueError("no line says where the new ones come: write the line above them, too")
    lines = source.splitlines(keepends=True)
    numbers = [i for i, line in enumerate(lines) if line.strip()]
    places = []
    for first, last in zip(numbers, numbers[len(old) - 1 :], strict=False):
        here = [line.rstrip() for line in lines[first : last + 1] if line.strip()]
        indent = " " * (len(here[0]) - len(old[0]))
        if here == [indent + text for text in old]:
            start, end = (len("".join(lines[:i])) for i in (first, last + 1))
            places.append((start, end, textwrap.indent(new, indent)))
    if len(places) != 1:
        what = "these lines occur" if len(old) > 1 else f"the line `{old[0].strip()}` occurs"
        todo = (
            "write the line above or below, too, after two blanks"
            if places
            else f"copy them from gl.solution, and write {APART} between those that are apart"
        )
        raise ValueError(f"{what} {_times(len(places))} in what is edited: {todo}")
    return places[0]


def _times(count: int) -> str:
    return f"{count} times" if count else "nowhere"


def _replaced(source: str, places: list[Place]) -> str:
    """A source with other text in some places, at once: none sees the new text of another."""
    changed, done = "", 0
    for start, end, new in sorted(places):
        if start < done:
            raise ValueError(f"{source[start:end]!r} overlaps the place of another edit")
        changed += source[done:start] + new
        done = end
    return changed + source[done:]


class _Reader:
    """A file of hints, read from its first line to its last."""

    def __init__(self, path: Path, solution: Answer, texts: Mapping[str, Any]) -> None:
        self.path, self.base = path, solution
        self.texts = {name: text for name, text in texts.items() if isinstance(text, str)}
        self.wrongs: list[Wrong] = []
        self.rights: list[Maker] = []
        self.given: Maker | None = None
        self.defined: dict[str, str] = {}
        self.functions: dict[str, Maker] = {}  # those that are written out
        self.globals = getattr(plain(solution), "__globals__", {})
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.at = self.lines.index(BAR) + 1 if BAR in self.lines else 0
        try:
            self.above = compile("\n".join(self.lines[: self.at][:-1]), str(path), "exec")
        except SyntaxError as error:
            message = f"Python cannot read what stands above {BAR}: {error.msg}"
            self._fail(error.lineno or 1, message)
        while self.at < len(self.lines):
            self._read_on()

    def _fail(self, number: int, message: str) -> NoReturn:
        raise BadInput(f"{self.path.name}, line {number}: {message}.") from None

    def _names(self) -> dict[str, Any]:
        """What an answer can use: new values for each, so that none finds what another left."""
        names = dict(self.globals)
        try:
            exec(self.above, names)
        except Exception as error:
            self._fail(1, f"what stands above {BAR} cannot be run: {error!r}")
        return names

    def _while(self, holds: Callable[[str], bool]) -> Iterator[str]:
        """The lines from here on, as long as something holds for them."""
        while self.at < len(self.lines) and holds(self.lines[self.at]):
            self.at += 1
            yield self.lines[self.at - 1]

    def _read_on(self) -> None:
        """Read a definition, a comment, or answers and their hint."""
        line = self.lines[self.at]
        if not line.strip() or line.startswith("# "):
            self.at += 1
        elif (definition := DEFINITION.fullmatch(line)) and not INLINE.fullmatch(line):
            self.at += 1
            parts = [definition[2], *self._while(lambda line: line[:1] == " ")]
            self.defined[definition[1]] = self._filled(" ".join(map(str.strip, parts)), self.at)
        elif base := BASE.fullmatch(line):
            self.at += 1
            self.base = self._function(base[1], self.at)()
        else:
            self._read_answers()

    def _read_answers(self) -> None:
        makers = [self._answer()]
        while self.lines[self.at : self.at + 1] == [OR]:
            self.at += 1
            makers.append(self._answer())
        number = self.at + 1
        lines = list(self._while(lambda line: line in (GIVEN, RIGHT) or line.startswith(">")))
        hint = " ".join(line[1:].strip() for line in lines if line.startswith(">"))
        if GIVEN in lines:
            self.given = makers[0]
        if RIGHT in lines:
            self.rights += makers
        elif hint:
            text = self._filled(hint, number)
            self.wrongs += [Wrong(maker, text) for maker in makers]
        elif GIVEN not in lines:
            self._fail(number, f"the answer above has no hint: write one after >, or {RIGHT}")

    def _answer(self) -> Maker:
        """Read one answer: a function, its name, or edits."""
        number = self.at + 1
        if self.at < len(self.lines) and CODE.match(self.lines[self.at]):
            return self._code(number)
        ends = (OR, GIVEN, RIGHT)
        body = list(
            self._while(lambda line: bool(line.strip()) and line not in ends and line[0] != ">")
        )
        if len(body) == 1 and body[0].isidentifier():
            return self._function(body[0], number)
        edits = list(self._edits(body, number))
        if not edits:
            self._fail(number, "an answer is missing here: write an edit `old → new`")
        base = self.base

        def change(source: str) -> str:
            places = []
            for line, find in edits:
                try:
                    places.append(find(source))
                except ValueError as error:
                    self._fail(line, str(error))
            return _replaced(source, places)

        return self._maker(number, lambda: edited(base, change, self._names()))

    def _maker(self, number: int, make: Maker) -> Maker:
        """What makes an answer once, and says in which line it is wrong if it cannot be made."""

        @functools.cache
        def compiled() -> Answer:
            try:
                return make()
            except BadInput:
                raise
            except ValueError as error:
                self._fail(number, str(error))
            except SyntaxError as error:
                self._fail(number, f"Python cannot read this answer: {error.msg}")

        def answer() -> Answer:
            show(compiled())
            return compiled()

        return answer

    def _code(self, number: int) -> Maker:
        """Read a function that is written out, and what is defined with it."""
        lines: list[str] = []
        for line in self._while(
            lambda line: line[:1] in ("", " ", ")") or bool(CODE.match(line) and all(lines[-1:]))
        ):
            lines.append(line)
        source = self._expanded("\n".join(lines).rstrip()) + "\n"
        name = [match[1] for match in map(CODE.match, lines) if match and match[1]][-1]
        maker = self._maker(number, lambda: written(source, name, self._names()))
        self.functions[name] = maker
        return maker

    def _function(self, name: str, number: int) -> Maker:
        """A function that is written out above, or defined where the answers' names are."""
        if name in self.functions:
            return self.functions[name]
        function = self._names().get(name)
        if not callable(function):
            self._fail(number, f"there is no function {name}: write it out, or import it")
        return lambda: function

    def _edits(self, body: list[str], number: int) -> Iterator[tuple[int, Callable[[str], Place]]]:
        """The edits in some lines, the first of which has that number; each with its own number."""
        patch: list[str] = []
        for i, line in enumerate(map(self._expanded, [*body, APART]), number):
            if line[:2] in MARKS or line in ("-", "+"):
                patch.append(line)
                continue
            if patch:
                yield i - len(patch), functools.partial(_place_of_lines, patch)
                patch = []
            if inline := INLINE.fullmatch(line):
                yield i, functools.partial(_place_of_text, inline[1], inline[2] or "")
            elif line != APART:
                todo = "write an edit `old → new`, lines that begin with - and +, or a function"
                self._fail(i, f"`{line}` is no answer: {todo}")

    def _expanded(self, code: str) -> str:
        """Code with what is defined above; other braces are its own."""
        return USE.sub(lambda use: self.defined.get(use[1], use[0]), code)

    def _filled(self, text: str, number: int) -> str:
        """A text with what is defined above, or in the module."""
        known = {**self.texts, **self.defined}
        for name in USE.findall(text):
            if name not in known:
                self._fail(number, f"there is no text {{{name}}}: define it above, as {name} = …")
        return USE.sub(lambda use: known[use[1]], text)
