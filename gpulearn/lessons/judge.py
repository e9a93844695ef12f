"""Judges an answer: `gl.check("name", function)`."""

from __future__ import annotations

import _thread
import copy
import inspect
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from gpulearn.errors import BadInput, NotSolvedYet, WrongAnswer
from gpulearn.lessons import progress, stubs
from gpulearn.lessons.exercise import Answer, Case, Exercise, Refused, catalogue, find

__all__ = ["Passed", "check", "diagnose"]

SECONDS = 20.0  # for all cases of one check; the slowest reference takes well under one


@dataclass(frozen=True)
class Passed:
    """What `check` returns for a right answer; the last value of a cell, it shows itself."""

    name: str
    cases: int
    note: str

    def __repr__(self) -> str:
        return f"✓ {self.name} is right in all {self.cases} cases. {self.note}".rstrip()

    def _repr_html_(self) -> str:
        return (
            f'<div role="status"><strong>✓ {escape(self.name)}</strong> is right in all '
            f"{self.cases} cases. {escape(self.note)}</div>"
        )


@dataclass(frozen=True)
class Raised:
    """An answer ended in an exception instead of a result."""

    kind: str
    message: str
    line: int | None


def check(name: str, answer: Answer) -> Passed:
    """Judge an answer to an exercise, at once.

    The answer runs on inputs chosen to tell right from nearly right; a wrong one is told
    what it does instead.

    Args:
        name: the exercise's name; `gl.exercises()` lists them.
        answer: the function that you wrote, itself and not its result.

    Raises:
        NotSolvedYet: the answer is still the stub.
        WrongAnswer: the answer is wrong; the message is the diagnosis.
        BadInput: there is no such exercise, or `answer` is no function.
    """
    exercise = find(name)
    if not callable(answer):
        raise BadInput(
            f"check was given {answer!r}, not a function: write "
            f'gl.check("{exercise.name}", {exercise.name}), without brackets after the name.'
        )
    if stubs.is_stub(answer):
        raise NotSolvedYet(f"{exercise.name} still holds its stub. {exercise.task}")
    diagnosis = diagnose(exercise, answer)
    if diagnosis is not None:
        raise WrongAnswer(f"{exercise.name}: {diagnosis}")
    unsaved = progress.record(exercise.name)
    note = f"(Not saved: {unsaved}.)" if unsaved else _tally(exercise.notebook)
    return Passed(exercise.name, len(exercise.cases()), note)


def _tally(notebook: str) -> str:
    solved = progress.load().solved or {}
    names = [e.name for e in catalogue().values() if e.notebook == notebook]
    return f"{sum(name in solved for name in names)} of {len(names)} solved in this notebook."


def diagnose(exercise: Exercise, answer: Answer, seconds: float = SECONDS) -> str | None:
    """What is wrong with an answer, in one sentence; None if nothing is.

    An answer that behaves on every case like one of the exercise's known wrong answers gets
    that one's hint; any other is told of the first case in which it fails.
    """
    if fault := _fault_of_signature(exercise, answer):
        return fault
    cases = exercise.cases()
    try:
        with time_limit(seconds):
            outcomes = [_try(exercise, answer, case) for case in cases]
            demanded = exercise.demand(answer) if not _failures(exercise, cases, outcomes) else None
    except TimeoutError:
        return f"it did not end within {seconds:g} s: is there a loop that never stops?"
    failures = _failures(exercise, cases, outcomes)
    if not failures:
        return demanded
    for known in exercise.wrong:
        if all(
            _alike(exercise, outcome, _try(exercise, known.answer, case))
            for outcome, case in zip(outcomes, exercise.cases(), strict=True)
        ):
            return known.hint
    case, sentence = failures[0]
    return f"for {case.label}, {sentence}."


def _fault_of_signature(exercise: Exercise, answer: Answer) -> str | None:
    """Whether an answer can be called as the exercise calls it."""
    wanted = inspect.signature(exercise.reference)
    try:
        given = inspect.signature(answer)
    except (TypeError, ValueError):  # some built-in functions have none
        return None
    try:
        given.bind(*wanted.parameters)
    except TypeError:
        names = ", ".join(wanted.parameters)
        return f"it takes ({', '.join(given.parameters)}), and must take ({names})."
    return None


def _try(exercise: Exercise, answer: Answer, case: Case) -> Any:
    """What comes out of one case; an exception is an outcome as well."""
    fresh = Case(case.label, copy.deepcopy(case.args))
    try:
        got = exercise.run(answer, fresh)
    except (Exception, SystemExit) as error:
        return Raised(type(error).__name__, str(error), _line_in(answer, error))
    for before, after in zip(case.args, fresh.args, strict=True):
        if isinstance(before, np.ndarray) and not np.array_equal(before, after, equal_nan=True):
            return Raised(Refused.__name__, "it changes its input; work on a copy", None)
    return got


def _line_in(answer: Answer, error: BaseException) -> int | None:
    """The last line of the answer's own source in which an exception was raised, from 1."""
    code = getattr(inspect.unwrap(answer), "__code__", None)
    lines = [
        frame.lineno - code.co_firstlineno + 1
        for frame in traceback.extract_tb(error.__traceback__)
        if code is not None and frame.filename == code.co_filename and frame.lineno is not None
    ]
    return lines[-1] if lines else None


def _failures(
    exercise: Exercise, cases: Sequence[Case], outcomes: Sequence[Any]
) -> list[tuple[Case, str]]:
    """The cases whose outcome is wrong, each with one sentence."""
    found = []
    for case, outcome in zip(cases, outcomes, strict=True):
        sentence = _sentence(exercise, outcome, case)
        if sentence is not None:
            found.append((case, sentence))
    return found


def _sentence(exercise: Exercise, outcome: Any, case: Case) -> str | None:
    if not isinstance(outcome, Raised):
        return exercise.difference(outcome, exercise.expected(case))
    if outcome.kind == Refused.__name__:
        return outcome.message
    where = f" in line {outcome.line} of your function" if outcome.line else ""
    return f"it raises {outcome.kind}: {outcome.message}{where}".replace("\n", " ")


def _alike(exercise: Exercise, one: Any, other: Any) -> bool:
    """Whether two outcomes are the same behaviour."""
    if isinstance(one, Raised) or isinstance(other, Raised):
        if type(one) is not type(other) or one.kind != other.kind:
            return False
        return bool(one.kind != Refused.__name__ or one.message == other.message)
    if one is None or other is None:
        return one is other
    try:
        return exercise.difference(one, other) is None
    except (TypeError, ValueError, AttributeError):
        return False


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` and raise TimeoutError.

    It works as Kernel → Interrupt does, hence on every platform, and only in the main
    thread; elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    lock, state = threading.Lock(), {"running": True, "expired": False}

    def expire() -> None:
        with lock:
            if state["running"]:
                state["expired"] = True
                _thread.interrupt_main()

    timer: Any = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            with lock:
                state["running"] = False
            timer.cancel()
    except KeyboardInterrupt:
        if state["expired"]:
            raise TimeoutError from None
        raise
