"""What an exercise says to its known answers: a hint of its own to each wrong one, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpulearn.errors import GpulearnError
from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.diagnosis import examine
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.isolation import undisturbed

MIN_WRONG, MIN_RIGHT = 5, 2


@dataclass(frozen=True)
class KnownAnswer:
    """What one known answer, such as "wrong answer 3", was told."""

    answer: str
    wanted: str  # the hint that it must get, or "" where it must pass
    message: str  # what it was told, or "" where it passed

    @property
    def ok(self) -> bool:
        """Whether that is as it should be; a kernel's evidence may stand before the hint."""
        if not self.wanted:
            return not self.message
        return self.message.lower().endswith(self.wanted.lower())


@dataclass(frozen=True)
class ExerciseReport:
    """What an exercise says to its known answers."""

    name: str
    known: tuple[KnownAnswer, ...]  # the solution, the other right answers, the wrong ones
    advice: tuple[str, ...]  # what the exercise lacks besides

    @property
    def ok(self) -> bool:
        """Whether every answer is told what it should be."""
        return all(answer.ok for answer in self.known)

    def __repr__(self) -> str:
        bad = [answer for answer in self.known if not answer.ok]
        count = len(self.known)
        lines = [
            f"{self.name}: {count - len(bad)} of {count} known answers are told what they should."
        ]
        for known in bad:
            expectation = f"must be told: {known.wanted}" if known.wanted else "must pass"
            result = f"is told: {known.message}" if known.message else "passes"
            lines += [f"  {known.answer} {expectation}", f"  {' ' * len(known.answer)} {result}"]
        return "\n".join([*lines, *(f"  {advice}" for advice in self.advice)])


def proved(exercise: Exercise) -> ExerciseReport:
    """Try the solution and all known answers of an exercise."""
    rights, wrongs = exercise.answers.rights, exercise.answers.wrongs
    known = [KnownAnswer("the solution", "", _message(exercise, exercise.reference))]
    for number, right in enumerate(rights, 1):
        known.append(KnownAnswer(f"right answer {number}", "", _message(exercise, right)))
    for number, wrong in enumerate(wrongs, 1):
        message = _message(exercise, wrong.answer)
        known.append(KnownAnswer(f"wrong answer {number}", wrong.hint, message))
    advice = _of_another_kind(exercise) if known[0].message else []
    if len(wrongs) < MIN_WRONG:
        many = f"{len(wrongs)} wrong answer{'s' * (len(wrongs) != 1)}"
        where = "" if wrongs else f", in {exercise.name}.hints"
        advice.append(f"It knows {many}: think of {MIN_WRONG} or more{where}.")
    if len(rights) < MIN_RIGHT:
        many = f"{len(rights)} other right answer{'s' * (len(rights) != 1)}"
        advice.append(f"It knows {many}: try {MIN_RIGHT} or more.")
    return ExerciseReport(exercise.name, tuple(known), tuple(advice))


def _of_another_kind(exercise: Exercise) -> list[str]:
    """Advice where the solution returns what is compared neither as numbers nor as arrays."""
    if exercise.difference is not compare.results:
        return []
    try:
        with undisturbed():
            results = [exercise.expected(case) for case in exercise.cases()]
    except Exception:
        return []
    for result in results:
        comparable = isinstance(result, np.ndarray) or compare.is_number(result)
        if result is not None and not comparable:
            return [
                f"Its solution returns a {type(result).__name__}, and only numbers and NumPy "
                "arrays are compared: return one of these, or give it a difference."
            ]
    return []


def _message(exercise: Exercise, answer: Answer) -> str:
    try:
        with undisturbed():
            diagnosis = examine(exercise, answer)
    except (GpulearnError, ValueError) as error:  # an edit that does not fit the solution
        return f"{type(error).__name__}: {error}"
    return diagnosis.sentence if diagnosis else ""
