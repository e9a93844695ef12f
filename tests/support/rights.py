"""Right answers to the course's exercises that no learner's run needs: `tests/exercise/rights`."""

from __future__ import annotations

from pathlib import Path

from gpulearn.judge import hints
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Exercise

__all__ = ["rights_of"]

FOLDER = Path(__file__).parents[1] / "exercise" / "rights"


def rights_of(exercise: Exercise) -> list[Answer]:
    """The right answers that an exercise knows besides its solution, and those that tests have."""
    (path,) = FOLDER.glob(f"*/{exercise.name}.rights")
    return [*exercise.answers.rights, *hints.read(path, exercise.reference).rights]
