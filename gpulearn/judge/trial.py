"""The trial of an answer on one case: its result, or how it failed to give one."""

import copy
import inspect
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpulearn.errors import MachineFault
from gpulearn.judge import limits, stubs
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.isolation import borrowing, undisturbed
from gpulearn.require import shorten

COLORS = re.compile(r"\x1b\[[0-9;]*m")  # in which torch writes some of its messages


@dataclass(frozen=True)
class Failure:
    """An answer ended in an exception, or broke the trial's rules, instead of giving a result."""

    kind: str
    sentence: str


def cannot_be_called(exercise: Exercise, answer: Answer) -> str | None:
    """Why an answer cannot be called as the exercise calls it, or gives no result then, if so.

    That is by position, but for what the solution takes by name only. An input check of the
    solution may add arguments that the solution itself does not have.
    """
    parameters = inspect.signature(stubs.unwrapped(exercise.reference)).parameters.values()
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    placed = [p.name for p in parameters if p.name not in named]
    if inspect.isgeneratorfunction(answer) or inspect.iscoroutinefunction(answer):
        word = "yield" if inspect.isgeneratorfunction(answer) else "async"
        return (
            f"with {word} in it, a call runs nothing yet and gives no result: end it with return, "
            f"without {word}."
        )
    try:
        takes = inspect.signature(answer)
    except Exception:  # some built-in functions have none, some objects a broken one
        return None
    try:
        takes.bind(*placed, **dict.fromkeys(named))
    except TypeError:
        by_name = f", and {', '.join(named)} by name" if named else ""
        return f"it takes {takes}, and is called with ({', '.join(placed)}), by position{by_name}."
    return None


def another_default(exercise: Exercise, answer: Answer) -> str | None:
    """Which default of an answer differs from the solution's, if one does.

    Cases name most arguments, so a right answer may have no defaults; and where the solution's is
    None, it may mark what is left out by something else.
    """
    parameters = inspect.signature(stubs.unwrapped(exercise.reference)).parameters
    try:
        given = inspect.signature(answer).parameters
    except Exception:  # as above
        return None
    for name in (name for name in given if name in parameters):
        own, right = given[name].default, parameters[name].default
        fixed = isinstance(right, int | float | str) and isinstance(own, int | float | str)
        if fixed and own != right:
            return f"{name} is {own!r} where it is left out, and the stub has {right!r}: keep that."
    return None


def tried(exercise: Exercise, answer: Answer, case: Case) -> Any:
    """What comes out of one case; an exception is an outcome as well."""
    fresh = replace(case, args=copy.deepcopy(case.args))
    try:
        with undisturbed(), borrowing(exercise.reference) as callers:
            result = exercise.run(answer, fresh)
    except (KeyboardInterrupt, TimeoutError, MachineFault):
        raise
    except Violation as refused:
        return Failure(Violation.__name__, str(refused))
    except BaseException as error:
        return Failure(type(error).__name__, _sentence_of(error, answer))
    if callers:
        return Failure(
            Violation.__name__, f"it calls the library's {exercise.name}: write it yourself"
        )
    for before, after in zip(case.args, fresh.args, strict=True):
        if isinstance(before, np.ndarray | list | set | dict) and not _unchanged(before, after):
            return Failure(Violation.__name__, "it changes its input; work on a copy")
    return result


def _unchanged(before: Any, after: Any) -> bool:
    if isinstance(before, set | dict):
        return bool(before == after)
    floats = isinstance(before, np.ndarray) and before.dtype.kind == "f"
    return np.array_equal(before, after, equal_nan=floats)


def _sentence_of(error: BaseException, answer: Answer) -> str:
    """What an exception says, and in which line of the answer it was raised."""
    try:
        plain = COLORS.sub("", str(error))
        message = shorten(plain.strip().partition("\n")[0], 120)
    except Exception:
        message = ""
    if isinstance(error, MemoryError) and not message:
        message = f"it takes more than {limits.MAX_BYTES / (1 << 30):g} GiB; does a loop never end?"
    frames = traceback.extract_tb(error.__traceback__)
    where = in_line(answer, [(frame.filename, frame.lineno, frame.name) for frame in frames])
    if line := getattr(error, "line_of_answer", None):  # where another process has raised it
        where = f" in line {line} of your function"
    return f"it raises {type(error).__name__}{where}" + f": {message}" * bool(message)


def in_line(answer: Answer, frames: Sequence[tuple[str, int | None, str]]) -> str:
    """In which line of the answer's own source an exception was raised, from 1, if in one.

    The frames of its traceback have the file, "" where nobody knows, the line and the function.
    """
    code = getattr(stubs.unwrapped(answer), "__code__", None)
    if code is None:
        return ""
    own = {line for _, _, line in code.co_lines() if line is not None}
    home = ("", code.co_filename)
    for file, line, function in reversed(frames):
        if file in home and line in own and function == code.co_name:
            return f" in line {line - code.co_firstlineno + 1} of your function"
    return ""
