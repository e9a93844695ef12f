"""What the known wrong answers of an exercise do, tried once for all tests that are held to it.

A learner's check keeps that of one exercise; tests come back to an exercise from several files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpulearn.judge import diagnosis
from gpulearn.judge.exercise import Exercise
from simt.device import selection

__all__ = ["known_wrongs"]

KEPT = 8  # exercises: what is kept of one may be large
_anew = diagnosis._known_wrongs.__wrapped__  # type: ignore[attr-defined]


def known_wrongs(exercise: Exercise) -> Callable[[int, int], Any]:
    """What `diagnosis` asks for, kept for every copy of the exercise that behaves alike."""
    decides = (exercise.reference, exercise.cases, exercise.known, exercise.run)
    return _kept(_Known((*decides, selection.current().kind), exercise))


@dataclass(frozen=True)
class _Known:
    decides: tuple[Any, ...]
    exercise: Exercise = field(compare=False)


@functools.lru_cache(maxsize=KEPT)
def _kept(known: _Known) -> Callable[[int, int], Any]:
    return _anew(known.exercise)
