"""The diagnosis of an answer: what is wrong with it, in one sentence."""

from __future__ import annotations

import copy
import functools
import inspect
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpulearn.checker import compare, stubs
from gpulearn.checker.answers import Answer
from gpulearn.checker.compare import relation
from gpulearn.checker.exercise import Case, Exercise, Refused
from gpulearn.checker.isolation import Printed, borrowing, time_limit, undisturbed
from gpulearn.errors import MachineFault
from gpulearn.require import shorten, shown

__all__ = ["diagnose"]

WHOLE = "all cases together"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # in which torch writes some of its messages
SECONDS = 20.0  # for all cases of one check; the slowest reference takes well under one


@dataclass(frozen=True)
class Raised:
    """An answer ended in an exception, or broke the trial's rules, instead of giving a result."""

    kind: str
    sentence: str


def diagnose(exercise: Exercise, answer: Answer, seconds: float = SECONDS) -> str | None:
    """What is wrong with an answer, in one sentence; None if nothing is.

    An answer that behaves on every case like one of the exercise's known wrong answers gets
    that one's hint; any other is told of the first case in which it fails. What it prints is
    shown for that case, or for the first one.
    """
    if fault := exercise.fault(answer) or _fault_of_signature(exercise, answer):
        return fault
    outcomes: list[Any] = []
    cases = exercise.cases()
    printed = Printed()
    demanded = unfinished = None
    limit = seconds
    try:
        with time_limit(limit):
            for case in cases:
                with printed.during(case.label):
                    outcomes.append(_try(exercise, answer, case))
                if getattr(outcomes[-1], "endless", False):
                    break  # each further case would take as long
            failures = _failures(exercise, cases[: len(outcomes)], outcomes)
        limit = 3 * seconds  # a demand may have to start processes first
        with time_limit(limit), printed.during(WHOLE), undisturbed():
            demanded = None if failures else exercise.demand(answer, outcomes)
    except TimeoutError as error:
        seen = str(error) or f"it did not end within {limit:g} s"
        unfinished = f"{seen}: a loop never stops, or runs far too often"
        # what went wrong before says more, such as the line of a loop that never ends
        failures = _failures(exercise, cases[: len(outcomes)], outcomes)
    if unfinished and not failures:
        case, sentence = cases[min(len(outcomes), len(cases) - 1)], unfinished
    elif not failures:
        printed.show(WHOLE if demanded else cases[0].label)
        return demanded
    else:
        case, sentence = failures[0]
    printed.show(case.label)
    if not unfinished and (hint := _hint(exercise, outcomes)):
        evidence = getattr(outcomes[cases.index(case)], "evidence", "")
        if not evidence:
            return hint
        return f"for {case.label}, {evidence} {hint[:1].upper()}{hint[1:]}"
    if len(outcomes) == len(cases) and all(map(compare.is_number, outcomes)):
        common = relation(outcomes, [exercise.expected(one) for one in cases])
        sentence = f"{sentence}; {common}" if common else sentence
    end = "?" if sentence.endswith("?") else "."
    return f"for {case.label}, {sentence.rstrip('.?!')}{end}"


def _hint(exercise: Exercise, outcomes: Sequence[Any]) -> str | None:
    """The hint of the known wrong answer that behaves like this one on every case."""
    tried = _known_wrongs(exercise)

    def known(number: int, case: int) -> Any:
        try:
            return tried(number, case)
        except (TimeoutError, MachineFault) as failed:  # on a busy machine; not this answer's
            return Raised(type(failed).__name__, str(failed))

    for same in exercise.kinships or (_without(exercise.difference),):
        for number, wrong in enumerate(exercise.answers.wrongs):
            if all(
                _alike(same, one, known(number, case)) for case, one in enumerate(outcomes)
            ) and _said(outcomes) == _said([known(number, case) for case in range(len(outcomes))]):
                return wrong.hint
    return None


@functools.lru_cache(maxsize=1)  # a learner tries one exercise several times, then goes on
def _known_wrongs(exercise: Exercise) -> Callable[[int, int], Any]:
    """What an exercise's wrong answers do: each is tried once on a case, when it is asked for."""
    cases = exercise.cases()

    @functools.cache
    def outcome(number: int, case: int) -> Any:
        return _try(exercise, exercise.answers.wrongs[number].answer, cases[case])

    return outcome


def _said(outcomes: Sequence[Any]) -> str:
    """The words of an exception, where an answer gives no result in any case to be known by.

    Its line is left out, and a file's path, which differs from run to run.
    """
    if all(isinstance(one, Raised) for one in outcomes):
        return re.sub(r" in line \d+ of your function|'[^']*[/\\][^']*'", "", outcomes[0].sentence)
    return ""


def _without(difference: Callable[[Any, Any], str | None]) -> Callable[[Any, Any], bool]:
    # either way round: a difference is measured by the precision of what it is held against
    return lambda one, other: difference(one, other) is None or difference(other, one) is None


def _fault_of_signature(exercise: Exercise, answer: Answer) -> str | None:
    """Whether an answer can be called as the exercise calls it, and gives a result then.

    That is by position, but for what the solution takes by name only. An input check of the
    solution may add arguments that the solution itself does not have.
    """
    wanted = inspect.signature(stubs.unwrapped(exercise.reference)).parameters.values()
    named = [p.name for p in wanted if p.kind is p.KEYWORD_ONLY]
    placed = [p.name for p in wanted if p.name not in named]
    if inspect.isgeneratorfunction(answer) or inspect.iscoroutinefunction(answer):
        word = "yield" if inspect.isgeneratorfunction(answer) else "async"
        return (
            f"with {word} in it, a call runs nothing yet and gives no result: end it with return, "
            f"without {word}."
        )
    try:
        given = inspect.signature(answer)
    except Exception:  # some built-in functions have none, some objects a broken one
        return None
    try:
        given.bind(*placed, **dict.fromkeys(named))
    except TypeError:
        by_name = f", and {', '.join(named)} by name" if named else ""
        return f"it takes {given}, and is called with ({', '.join(placed)}), by position{by_name}."
    return None


def _try(exercise: Exercise, answer: Answer, case: Case) -> Any:
    """What comes out of one case; an exception is an outcome as well."""
    fresh = replace(case, args=copy.deepcopy(case.args))
    try:
        with undisturbed(), borrowing(exercise.reference) as callers:
            got = exercise.run(answer, fresh)
    except (KeyboardInterrupt, TimeoutError, MachineFault):
        raise
    except Refused as refused:
        return Raised(Refused.__name__, str(refused))
    except BaseException as error:
        return Raised(type(error).__name__, _sentence_of(error, answer))
    if callers:
        return Raised(
            Refused.__name__, f"it calls the library's {exercise.name}: write it yourself"
        )
    for before, after in zip(case.args, fresh.args, strict=True):
        if isinstance(before, np.ndarray | list) and not _unchanged(before, after):
            return Raised(Refused.__name__, "it changes its input; work on a copy")
    return got


def _unchanged(before: Any, after: Any) -> bool:
    if isinstance(before, np.ndarray) and before.dtype.kind == "f":
        return np.array_equal(before, after, equal_nan=True)
    return np.array_equal(before, after)


def _sentence_of(error: BaseException, answer: Answer) -> str:
    """What an exception says, and in which line of the answer it was raised."""
    try:
        plain = COLOURS.sub("", str(error))
        said = shorten(plain.strip().partition("\n")[0], 120)
    except Exception:
        said = ""
    kind = type(error).__name__
    line = _line_in(answer, error)
    where = f" in line {line} of your function" if line else ""
    return f"it raises {kind}{where}" + (f": {said}" if said else "")


def _line_in(answer: Answer, error: BaseException) -> int | None:
    """The last line of the answer's own source in which an exception was raised, from 1."""
    code = getattr(stubs.unwrapped(answer), "__code__", None)
    if code is None:
        return None
    own = {line for _, _, line in code.co_lines() if line is not None}
    lines = [
        frame.lineno - code.co_firstlineno + 1
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == code.co_filename and frame.name == code.co_name and frame.lineno in own
    ]
    return lines[-1] if lines else None


def _failures(
    exercise: Exercise, cases: Sequence[Case], outcomes: Sequence[Any]
) -> list[tuple[Case, str]]:
    """The cases whose outcome is wrong, each with one sentence."""
    found = []
    returns = any(one is not None and not isinstance(one, Raised) for one in outcomes)
    for case, outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, Raised):
            found.append((case, outcome.sentence))
        elif sentence := exercise.difference(outcome, expected := exercise.expected(case)):
            if outcome is None and sentence == compare.NOTHING and returns:  # on some paths
                sentence = f"it returns None, expected {shown(expected)}"
            found.append((case, sentence))
    return found


def _alike(same: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    """Whether two outcomes are the same behaviour."""
    if isinstance(one, Raised) and isinstance(other, Raised):
        rule = Refused.__name__
        return one.kind == other.kind and (one.kind != rule or one.sentence == other.sentence)
    if isinstance(one, Raised) or isinstance(other, Raised):
        return False
    if one is None or other is None:
        return one is other
    try:
        return same(one, other)
    except (TypeError, ValueError, AttributeError):
        return False
