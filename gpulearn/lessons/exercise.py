"""What an exercise is, and the registry in which every lesson declares its own."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import _require, lessons
from gpulearn.errors import MissingPackage
from gpulearn.lessons import compare
from gpulearn.lessons.answers import Answer, Answers

__all__ = ["Case", "Exercise", "Refused", "TooLong", "catalogue", "find"]

KEPT = 8  # free blocks of one size, or more than NumPy keeps


class Refused(Exception):  # noqa: N818 - it is the answer that is at fault
    """What a trial raises when an answer breaks its rules; the message says which."""


class TooLong(TimeoutError):  # noqa: N818 - it is the answer that is at fault
    """What a trial raises when an answer does not end; the message says how that was seen."""


@dataclass(frozen=True)
class Case:
    """One adversarial input: positional arguments, and how to speak of them in a diagnosis."""

    label: str
    args: tuple[Any, ...]


def call(answer: Answer, case: Case) -> Any:
    """Call an answer on a case; how most exercises are run."""
    _spoil_free_memory()
    return answer(*case.args)


def _spoil_free_memory() -> None:
    """Fill what `np.empty` hands out next with ones: a NaN as a float, -1 as an integer.

    NumPy keeps the last few freed blocks of each small size. Zeros there would make an answer
    right by luck that adds to an array which nobody has filled.
    """
    for size in range(4, 1024, 4):
        blocks = [np.full(size, 0xFF, np.uint8) for _ in range(KEPT)]
        del blocks


@dataclass(frozen=True)
class Exercise:
    """One exercise: its tested solution, how an answer is tried, and what goes wrong with it.

    Attributes:
        name: the name of the function to write, and of the exercise.
        notebook: the notebook that sets it, such as "01_cpu_vs_gpu_matmul".
        task: one sentence.
        reference: the tested library function that is its solution.
        cases: makes the adversarial inputs anew for each check.
        answers: known answers. One that behaves on every case like a wrong one among them gets
            its hint; tests hold that the right ones pass.
        run: tries an answer on a case and returns what came out.
        expect: what should come out; the reference's result unless said otherwise.
        difference: one sentence on how a result differs from the expected one, or None.
        fault: what is wrong with an answer before it is tried, in one sentence, or None.
        demand: what else is asked of an answer with right results, from the answer and what
            came out of each case: one sentence, or None.
        kinships: when two results are the same behaviour, from the strictest view to the
            loosest; if empty, when there is no difference between them.
    """

    name: str
    notebook: str
    task: str
    reference: Answer
    cases: Callable[[], Sequence[Case]]
    answers: Answers
    run: Callable[[Answer, Case], Any] = call
    expect: Callable[[Case], Any] | None = None
    difference: Callable[[Any, Any], str | None] = compare.numbers_or_none
    fault: Callable[[Answer], str | None] = lambda answer: None
    demand: Callable[[Answer, Sequence[Any]], str | None] = lambda answer, outcomes: None
    kinships: Sequence[Callable[[Any, Any], bool]] = ()

    def expected(self, case: Case) -> Any:
        """What should come out of a case."""
        return self.expect(case) if self.expect else self.run(self.reference, case)


@functools.cache
def lessons_here() -> tuple[dict[str, Exercise], dict[str, MissingPackage]]:
    """All exercises by name, and the lessons whose exercises need a package that is not here."""
    found: dict[str, Exercise] = {}
    absent: dict[str, MissingPackage] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(lessons.__path__)):
        if module.startswith("nb"):
            try:
                lesson = importlib.import_module(f"{lessons.__name__}.{module}")
            except MissingPackage as missing:
                absent[module] = missing
            except ModuleNotFoundError as error:
                if error.name not in _require.OPTIONAL:
                    raise
                absent[module] = _require.missing(error.name, "Its lesson")
            else:
                found |= {exercise.name: exercise for exercise in lesson.EXERCISES}
    return found, absent


def _modules(lesson: str) -> set[str]:
    """The names of a lesson's modules, without importing it."""
    folders = [f"{folder}/{lesson}" for folder in lessons.__path__]
    return {module.name for module in pkgutil.iter_modules(folders)}


def catalogue() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course: each `nb…` package's `EXERCISES`."""
    return lessons_here()[0]


def find(name: object) -> Exercise:
    """Look an exercise up by name.

    Raises:
        BadInput: there is none of that name; the nearest is named.
        MissingPackage: its lesson needs a package that is not here.
    """
    found, absent = lessons_here()
    for lesson, missing in absent.items():
        if name in _modules(lesson):  # each exercise is a module of its name
            raise MissingPackage(f"The exercise {name} is not here: {missing}")
    return found[_require.choice("exercise", name, found)]
