"""What an exercise says to its known answers: a hint of its own to each wrong one, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpulearn.errors import GpulearnError
from gpulearn.judge import compare
from gpulearn.judge.diagnosis import examine
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.isolation import undisturbed

__all__ = ["ExerciseReport", "proved"]

LEAST_WRONG, LEAST_RIGHT = 5, 2


@dataclass(frozen=True)
class KnownAnswer:
    """What one known answer was told.

    Attributes:
        answer: how it is called, such as "wrong answer 3".
        wanted: the hint that it must get, or "" where it must pass.
        said: what it was told, or "" where it passed.
    """

    answer: str
    wanted: str
    said: str

    @property
    def ok(self) -> bool:
        """Whether that is as it should be; a kernel's evidence may stand before the hint."""
        if not self.wanted:
            return not self.said
        return self.said.lower().endswith(self.wanted.lower())


@dataclass(frozen=True)
class ExerciseReport:
    """What an exercise says to its known answers.

    Attributes:
        name: of the exercise.
        told: the solution first, then the other right answers, then the wrong ones.
        advice: what it lacks besides.
    """

    name: str
    told: tuple[KnownAnswer, ...]
    advice: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every answer is told what it should be."""
        return all(one.ok for one in self.told)

    def __repr__(self) -> str:
        right = sum(one.ok for one in self.told)
        lines = [
            f"{self.name}: {right} of {len(self.told)} known answers are told what they should."
        ]
        for one in self.told:
            if not one.ok:
                wanted = f"must be told: {one.wanted}" if one.wanted else "must pass"
                said = f"is told: {one.said}" if one.said else "passes"
                lines += [f"  {one.answer} {wanted}", f"  {' ' * len(one.answer)} {said}"]
        return "\n".join([*lines, *(f"  {one}" for one in self.advice)])


def proved(exercise: Exercise) -> ExerciseReport:
    """Try the solution and all known answers of an exercise."""
    told = [KnownAnswer("the solution", "", _said(exercise, exercise.reference))]
    rights = exercise.answers.rights
    told += [
        KnownAnswer(f"right answer {number}", "", _said(exercise, one))
        for number, one in enumerate(rights, 1)
    ]
    for number, wrong in enumerate(exercise.answers.wrongs, 1):
        told.append(
            KnownAnswer(f"wrong answer {number}", wrong.hint, _said(exercise, wrong.answer))
        )
    advice = _of_another_kind(exercise) if told[0].said else []
    if (count := len(exercise.answers.wrongs)) < LEAST_WRONG:
        many = f"{count} wrong answer{'s' * (count != 1)}"
        where = "" if count else f", in {exercise.name}.hints"
        advice.append(f"It knows {many}: think of {LEAST_WRONG} or more{where}.")
    if (count := len(rights)) < LEAST_RIGHT:
        many = f"{count} other right answer{'s' * (count != 1)}"
        advice.append(f"It knows {many}: try {LEAST_RIGHT} or more.")
    return ExerciseReport(exercise.name, tuple(told), tuple(advice))


def _of_another_kind(exercise: Exercise) -> list[str]:
    """Advice where the solution returns what is compared neither as numbers nor as arrays."""
    if exercise.difference is not compare.results:
        return []
    try:
        with undisturbed():
            found = [exercise.expected(case) for case in exercise.cases()]
    except Exception:
        return []
    for one in found:
        if one is not None and not isinstance(one, np.ndarray) and not compare.is_number(one):
            return [
                f"Its solution returns a {type(one).__name__}, and only numbers and NumPy arrays "
                "are compared: return one of these, or give it a difference."
            ]
    return []


def _said(exercise: Exercise, answer: object) -> str:
    try:
        with undisturbed():
            found = examine(exercise, answer)  # type: ignore[arg-type]
    except (GpulearnError, ValueError) as error:  # an edit that does not fit the solution
        return f"{type(error).__name__}: {error}"
    return found.sentence if found else ""
