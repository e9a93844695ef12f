"""Checks an answer: `gl.check("name", function)`."""

from __future__ import annotations

import ast
import functools
import re
import sys
from dataclasses import dataclass
from html import escape
from typing import Any

from gpulearn.errors import BadInput, MissingPackage, NotSolvedYet, WrongAnswer
from gpulearn.judge import progress, stubs
from gpulearn.judge.answers import Answer
from gpulearn.judge.catalogue import exercises_of, find, places
from gpulearn.judge.diagnosis import Diagnosis, examine
from gpulearn.judge.exercise import Exercise
from gpulearn.require import shown


@dataclass(frozen=True)
class Success:
    """What `check` returns for a right answer; the last value of a cell, it shows itself."""

    name: str
    cases: int
    note: str

    def __repr__(self) -> str:
        return f"✓ {self.name} is right{self._cases()}. {self.note}".rstrip()

    def _repr_html_(self) -> str:
        return (
            f'<div role="status"><strong>✓ {escape(self.name)}</strong> is right'
            f"{self._cases()}. {escape(self.note)}</div>"
        )

    def _cases(self) -> str:
        return f" in all {self.cases} cases" if self.cases > 1 else ""


def check(name: str, answer: Answer) -> Success:
    """Judge an answer to an exercise, at once.

    The answer runs on inputs chosen to tell right from nearly right; a wrong one is told
    what it does instead.

    Args:
        name: the exercise's name; `gl.exercises()` lists them. Of an exercise in a file of your
            own: the file and the name, "my_exercises.py:name".
        answer: the function that you wrote, itself and not its result; the text of a kernel, or
            what `gl.cpp` made of it, where the exercise asks for CUDA C++.

    Raises:
        NotSolvedYet: the answer is still the stub.
        WrongAnswer: the answer is wrong; the message is the diagnosis.
        MachineFault: the SIMT machine itself failed, and nothing is said of the answer.
        MissingPackage: this computer lacks what is needed to judge it.
    """
    if callable(name) and isinstance(answer, str):
        raise BadInput(f'The name comes first: write gl.check("{answer}", {answer}).')
    exercise = find(name)
    progress.visit(exercise.notebook)
    try:
        cases = examined(exercise, answer)
    except WrongAnswer as error:
        progress.record_try(exercise.place, str(error).removeprefix(f"{exercise.name}: "))
        raise
    unsaved = progress.record(exercise.place)
    note = f"(Not saved: {unsaved}.)" if unsaved else _tally(exercise)
    return Success(exercise.name, cases, note)


def examined(exercise: Exercise, answer: Answer, seconds: float | None = None) -> int:
    """Judge an answer as `check` does, and say in how many cases it is right; nothing is kept.

    `seconds` are for all cases together; if not given, as long as a learner waits.
    """
    if missing := exercise.missing():
        raise MissingPackage(f"{exercise.name} cannot be judged here: {missing}.")
    if exercise.kernel:
        answer = _in_cpp(exercise, answer)
    if not callable(answer) or isinstance(answer, type):
        raise BadInput(no_function(exercise.name, shown(answer)))
    unread = _unread_cell(exercise.name, answer)
    stub = stubs.is_stub(answer)

    @functools.cache
    def untouched() -> bool:
        given = exercise.answers.given
        return given is not None and stubs.same_code(given, answer)

    fault = Diagnosis(unread) if unread else None
    fault = fault or examine(exercise, answer, seconds, hints=lambda: not (stub or untouched()))
    if fault is None:
        return len(exercise.cases())
    if untouched():
        raise NotSolvedYet(f"{exercise.name} is as it was given: {fault.sentence}")
    if stub:
        raise NotSolvedYet(
            f"{exercise.name} still has a ... where your code belongs. {exercise.task}"
        )
    inputs = f' gl.case("{exercise.place}", {fault.case}) gives its inputs.' if fault.case else ""
    error = WrongAnswer(f"{exercise.name}: {fault.sentence}{inputs}")
    error.share = fault.share
    raise error


def no_function(name: str, given: str) -> str:
    """What is said where `check` was given something else than a function."""
    return (
        f"check was given {given}, not a function: write "
        f'gl.check("{name}", {name}), without brackets after the name.'
    )


def _in_cpp(exercise: Exercise, answer: Any) -> Answer:
    """An answer in CUDA C++: the text, or what `gl.cpp` made of it."""
    if isinstance(answer, type(exercise.reference)):
        return answer
    text = getattr(answer, "text", getattr(answer, "source", answer))
    if not isinstance(text, str):
        raise BadInput(
            f"check was given {shown(answer)}, not CUDA C++: write gl.check("
            f'"{exercise.name}", {exercise.name}), where {exercise.name} is the text of the kernel.'
        )
    source: Any = type(exercise.reference)
    return source(exercise.name, text, exercise.kernel)  # type: ignore[no-any-return]


def _tally(exercise: Exercise) -> str:
    solved = progress.load().solved
    if exercise.file:
        there = exercises_of(exercise.file).values()
        return f"{sum(e.place in solved for e in there)} of {len(there)} solved in this file."
    names = [name for name, topic in places().items() if exercise.notebook == topic.NOTEBOOK]
    return f"{sum(name in solved for name in names)} of {len(names)} solved in this notebook."


def _unread_cell(name: str, answer: Answer) -> str | None:
    """Whether Python could not read the last cell that defines the answer's name.

    Then the name still stands for an earlier version, and judging that one would mislead.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or getattr(answer, "__name__", None) != name:
        return None
    begins = re.compile(rf"^def {name}\b", re.MULTILINE)
    cells = reversed(shell.user_ns.get("In", ()))
    last = next((cell for cell in cells if begins.search(cell)), "")
    try:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compile(shell.transform_cell(last), "<cell>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        return (
            f"Python cannot read your cell, line {error.lineno}: {error.msg}. "
            f"Fix it and run it again; until then the name means an earlier version."
        )
    return None
