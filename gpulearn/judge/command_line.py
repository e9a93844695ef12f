"""`python -m gpulearn exercise check FILE.py`: whether your own exercises tell answers apart.

Each wrong answer that the file knows must get its own hint, and each right one must pass. Those
that do not are listed, with what they were told; the status is 1 then.
"""

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpulearn.errors import GpulearnError
from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.catalogue import exercises_of
from gpulearn.judge.diagnosis import examine
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.isolation import undisturbed

MIN_WRONG, MIN_RIGHT = 5, 2


class KnownAnswer(NamedTuple):
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove the exercises of a file, and print what came of it."""
    parser = argparse.ArgumentParser(prog="gpulearn exercise", description=__doc__)
    parser.add_argument("what", choices=["check"])
    parser.add_argument("file", help="a .py file with exercises")
    options = parser.parse_args(arguments)
    status = 0
    try:
        for exercise in exercises_of(options.file).values():
            with contextlib.redirect_stdout(io.StringIO()):  # what known answers print
                known = proved(exercise)
                advice = _advice(exercise, known[0])
            bad = [answer for answer in known if not answer.ok]
            right = f"{len(known) - len(bad)} of {len(known)} known answers"
            print(f"{exercise.name}: {right} are told what they should.")
            for answer, wanted, message in bad:
                print(f"  {answer} {f'must be told: {wanted}' if wanted else 'must pass'}")
                print(f"  {' ' * len(answer)} {f'is told: {message}' if message else 'passes'}")
            print(*(f"  {sentence}\n" for sentence in advice), sep="", end="")
            status = status or int(bool(bad))
    except GpulearnError as error:
        print(error, file=sys.stderr)
        return 2
    return status


def proved(exercise: Exercise) -> list[KnownAnswer]:
    """What an exercise says to its solution, its other right answers and its wrong ones."""
    known = [KnownAnswer("the solution", "", _message(exercise, exercise.reference))]
    for number, right in enumerate(exercise.answers.rights, 1):
        known.append(KnownAnswer(f"right answer {number}", "", _message(exercise, right)))
    for number, wrong in enumerate(exercise.answers.wrongs, 1):
        message = _message(exercise, wrong.answer)
        known.append(KnownAnswer(f"wrong answer {number}", wrong.hint, message))
    return known


def _message(exercise: Exercise, answer: Answer) -> str:
    try:
        with undisturbed():
            diagnosis = examine(exercise, answer)
    except (GpulearnError, ValueError) as error:  # an edit that does not fit the solution
        return f"{type(error).__name__}: {error}"
    return diagnosis.sentence if diagnosis else ""


def _advice(exercise: Exercise, solution: KnownAnswer) -> list[str]:
    """What an exercise lacks."""
    advice = []
    if solution.message and exercise.difference is compare.results:
        with contextlib.suppress(Exception), undisturbed():
            for result in map(exercise.expected, exercise.cases()):
                array = isinstance(result, np.ndarray)
                if not (result is None or array or compare.is_number(result)):
                    advice.append(
                        f"Its solution returns a {type(result).__name__}, and only numbers and "
                        "NumPy arrays are compared: return one of these, or give it a difference."
                    )
                    break
    wrongs, rights = len(exercise.answers.wrongs), len(exercise.answers.rights)
    if wrongs < MIN_WRONG:
        many = f"{wrongs} wrong answer{'s' * (wrongs != 1)}"
        where = "" if wrongs else f", in {exercise.name}.hints"
        advice.append(f"It knows {many}: think of {MIN_WRONG} or more{where}.")
    if rights < MIN_RIGHT:
        many = f"{rights} other right answer{'s' * (rights != 1)}"
        advice.append(f"It knows {many}: try {MIN_RIGHT} or more.")
    return advice
