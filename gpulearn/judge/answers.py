"""Known answers to an exercise: plausible wrong ones with their hints, and other right ones."""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulearn.judge.stubs import in_cpp, notebook_source

Answer = Callable[..., Any]

_SOURCES: dict[str, str] = {}  # of answers from a text, by the name of the file that they pretend


def where_it_runs(step: Callable[..., Any]) -> Callable[..., Any]:
    """Marks what a demand does with an answer: a grader lets the answer's own process do it.

    The answer comes first; what comes back is data, of which the demand then judges.
    """

    @functools.wraps(step)
    def taken(answer: Any, *args: Any) -> Any:
        elsewhere = getattr(answer, "elsewhere", None)
        return elsewhere(taken, *args) if elsewhere else step(answer, *args)

    return taken


@dataclass(frozen=True)
class Wrong:
    """A plausible wrong answer and the hint that it, and whatever behaves like it, must get.

    `make` gives the answer, which is compiled when it is first needed.
    """

    make: Callable[[], Answer]
    hint: str

    @property
    def answer(self) -> Answer:
        """The answer itself, the same one each time."""
        return self.make()


@dataclass(frozen=True)
class Answers:
    """The known answers of an exercise.

    Attributes:
        wrongs: in the order in which an answer is held against them.
        makers: give the other right answers.
        giver: gives what the notebook gives to be mended, in place of a stub; None if nothing.
    """

    wrongs: Sequence[Wrong] = ()
    makers: Sequence[Callable[[], Answer]] = ()
    giver: Callable[[], Answer] | None = None

    @property
    def hints(self) -> dict[str, int]:
        """Each hint once, in the order of the catalogue → how many wrong answers must get it."""
        return dict(Counter(wrong.hint for wrong in self.wrongs))

    @property
    def rights(self) -> list[Answer]:
        """The other right answers."""
        return [make() for make in self.makers]

    @property
    def given(self) -> Answer | None:
        """What the notebook gives to be mended, in place of a stub."""
        return self.giver() if self.giver else None


def edited(function: Any, change: Callable[[str], str], names: Mapping[str, Any] = {}) -> Answer:
    """A plain function: `function` with its source changed; ValueError if nothing is.

    The source is what `gl.solution` shows, without its decorator. The globals are those of
    `function`, and `names`; `inspect` and tracebacks find the new source. Of CUDA C++ it is another
    text; what changes in a comment is no change.
    """
    if in_cpp(function):
        text: Answer = type(function)(function.__name__, change(function.text), function.kernel)
        if text.tokens == function.tokens:  # type: ignore[attr-defined]
            raise ValueError(f"the edit changes nothing in {function.__name__}")
        return text
    inner = plain(function)
    source, tree = _source(inner)
    changed = change(source)
    if ast.dump(ast.parse(changed)) == tree:
        raise ValueError(f"the edit changes nothing in {inner.__name__}")
    return written(changed, inner.__name__, {**inner.__globals__, **names})


@functools.cache
def _source(function: Answer) -> tuple[str, str]:
    """What many edits start from: the source of a function, and its syntax tree in words."""
    source = notebook_source(function, decorators=False)
    return source, ast.dump(ast.parse(source))


def written(source: str, name: str, names: dict[str, Any]) -> types.FunctionType:
    """The function of that name from a source, with `names` as its globals.

    `inspect` and tracebacks find its lines.
    """
    filename = f"<{name}, edited {hash(source) & 0xFFFFFFFFFFFFFFFF:016x}>"
    annotations = __future__.annotations.compiler_flag
    code = compile(source, filename, "exec", annotations, dont_inherit=True)
    exec(code, names)
    answer = names[name]
    assert isinstance(answer, types.FunctionType)
    _SOURCES[filename] = source
    show(answer)
    return answer


def show(answer: Answer) -> None:
    """Let `inspect` find the source of an answer from a text, where `linecache` has lost it."""
    code = getattr(answer, "__code__", None)
    if code and (text := _SOURCES.get(code.co_filename)):
        entry = len(text), None, text.splitlines(keepends=True), code.co_filename
        linecache.cache[code.co_filename] = entry


def plain(function: Any) -> Any:
    """The function under its decorators, and in a kernel."""
    return inspect.unwrap(getattr(function, "py_func", function))
