"""Known answers to an exercise: plausible wrong ones with their hints, and other right ones.

Most mistakes are the solution with a small edit, and are written as that edit.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import types
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpulearn.judge.stubs import notebook_source
from simt.cpp.source import CppSource

__all__ = ["Answer", "Answers", "Wrong", "edited"]

Answer = Callable[..., Any]
Edits = Mapping[str, str]

_SOURCES: dict[str, str] = {}  # of edited functions, by the name of the file that they pretend


@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer and the hint that it, and whatever behaves like it, must get.

    `make` gives the answer; one that is an edit is compiled when it is first needed.
    """

    make: Callable[[], Answer]
    hint: str

    @property
    def answer(self) -> Answer:
        """The answer itself, the same one each time."""
        return self.make()


class Answers:
    """The known answers of an exercise.

    Args:
        solution: what `edit` and `variant` start from, the exercise's reference.

    Edits are made to what `gl.solution` shows, without decorators. Each key must occur in it
    exactly once, and an edit must change more than the layout.
    """

    def __init__(self, solution: Answer | None = None) -> None:
        self.solution = solution
        self.wrongs: list[Wrong] = []
        self._rights: list[Callable[[], Answer]] = []
        self._given: Callable[[], Answer] | None = None

    @property
    def given(self) -> Answer | None:
        """What the notebook gives to be mended, in place of a stub."""
        return self._given() if self._given else None

    def give(self, edits: Edits) -> None:
        """Say with which mistakes the notebook gives the solution, to be mended."""
        self._given = self._make(edits, None, {})

    @property
    def hints(self) -> dict[str, int]:
        """Each hint once, in the order of the catalogue → how many wrong answers must get it."""
        return dict(Counter(wrong.hint for wrong in self.wrongs))

    @property
    def rights(self) -> list[Answer]:
        """The other right answers."""
        return [make() for make in self._rights]

    def wrong(self, hint: str) -> Callable[[Answer], Answer]:
        """Mark a plausible wrong answer with the hint that it must get."""

        def mark(answer: Answer) -> Answer:
            self.wrongs.append(Wrong(lambda: answer, hint))
            return answer

        return mark

    def right(self, answer: Answer) -> Answer:
        """Mark another way to write a right answer."""
        self._rights.append(lambda: answer)
        return answer

    def edit(self, edits: Edits, hint: str, *, of: Answer | None = None, **names: Any) -> None:
        """Add a plausible wrong answer: the solution with other text in some places.

        Args:
            edits: text of the solution → what stands in its place; "" leaves it out.
            hint: what the answer, and whatever behaves like it, must be told.
            of: an answer to start from instead of the solution.
            names: values for names that the new text uses and the solution's module lacks.
        """
        self.wrongs.append(Wrong(self._make(edits, of, names), hint))

    def variant(self, edits: Edits, *, of: Answer | None = None, **names: Any) -> None:
        """Add another right answer, written as `edit` writes a wrong one."""
        self._rights.append(self._make(edits, of, names))

    def _make(
        self, edits: Edits, of: Answer | None, names: Mapping[str, Any]
    ) -> Callable[[], Answer]:
        compiled = functools.cache(lambda: edited(of or self.solution, edits, names))

        def make() -> Answer:
            answer = compiled()
            if isinstance(answer, types.FunctionType):
                _show(answer)
            return answer

        return make


def edited(function: Any, edits: Edits, names: Mapping[str, Any] | None = None) -> Answer:
    """A plain function: `function` with some places of its source replaced.

    Its globals are those of `function`, and `names`; `inspect` and tracebacks find its source.
    Of CUDA C++ it is another text; what changes in a comment is no change.

    Raises:
        ValueError: a key does not occur exactly once, two overlap, or nothing is changed.
    """
    if isinstance(function, CppSource):
        other = CppSource(function.__name__, _replaced(function.text, edits), function.kernel)
        if other.tokens == function.tokens:
            raise ValueError(f"the edit {dict(edits)} changes nothing in {function.__name__}")
        return other
    inner = inspect.unwrap(getattr(function, "py_func", function))
    source, tree = _source(inner)
    changed = _replaced(source, edits)
    if ast.dump(ast.parse(changed)) == tree:
        raise ValueError(f"the edit {dict(edits)} changes nothing in {inner.__name__}")
    filename = f"<{inner.__name__}, edited {hash(changed) & 0xFFFFFFFFFFFFFFFF:016x}>"
    annotations = __future__.annotations.compiler_flag
    code = compile(changed, filename, "exec", annotations, dont_inherit=True)
    namespace = {**inner.__globals__, **(names or {})}
    exec(code, namespace)
    answer = namespace[inner.__name__]
    assert isinstance(answer, types.FunctionType)
    _SOURCES[filename] = changed
    _show(answer)
    return answer


@functools.cache
def _source(function: Answer) -> tuple[str, str]:
    """What many edits start from: the source of a function, and its syntax tree in words."""
    source = notebook_source(function, decorators=False)
    return source, ast.dump(ast.parse(source))


def _show(answer: Answer) -> None:
    """Let `inspect` find the source of an edited function; who clears `linecache` forgets it."""
    filename = answer.__code__.co_filename
    text = _SOURCES[filename]
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename


def _replaced(source: str, edits: Edits) -> str:
    """The source with all edits made at once: none sees another's new text."""
    places = []
    for old, new in edits.items():
        if (count := source.count(old)) != 1:
            raise ValueError(f"{old!r} occurs {count} times, not once, in:\n{source}")
        places.append((source.index(old), old, new))
    changed, end = "", 0
    for start, old, new in sorted(places):
        if start < end:
            raise ValueError(f"{old!r} overlaps the place of another edit")
        changed += source[end:start] + new
        end = start + len(old)
    return changed + source[end:]
