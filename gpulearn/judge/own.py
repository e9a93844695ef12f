"""Exercises that stand in a file of their own, outside of the package: `my_exercises.py:name`.

Such a file is an ordinary module, written as the package's own exercises are: a solution, cases
and an `Exercise` of them. The known answers of the exercise NAME stand beside it, in `NAME.hints`.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.hints import known_answers
from gpulearn.require import shorten

__all__ = ["PLACE", "exercises_of", "find"]

PLACE = re.compile(r"(.+\.py):(\w*)", re.DOTALL)


def find(file: str, name: str) -> Exercise:
    """An exercise of a file.

    Raises:
        BadInput: there is no such file, it cannot be read, or has no such exercise.
    """
    known = exercises_of(file)
    return known[require.choice(f"exercise in {file}", name, known)]


def exercises_of(file: str) -> Mapping[str, Exercise]:
    """All exercises that a file defines, by name.

    Raises:
        BadInput: there is no such file, it cannot be run, or it defines none.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadInput(f"There is no file {file!r} in {Path.cwd()}: give the path of a .py file.")
    beside = sorted(path.parent.glob("*.hints"))
    moments = tuple((each.name, each.stat().st_mtime_ns) for each in (path, *beside))
    return _read(str(path.resolve()), moments, file)


@functools.lru_cache(maxsize=32)
def _read(path: str, moments: tuple[tuple[str, int], ...], file: str) -> Mapping[str, Exercise]:
    """The exercises of a file as it and its hints were at some moments; new ones are read anew."""
    name = f"gpulearn_exercises_{Path(path).stem}_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look for it there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        said = shorten(f"{type(error).__name__}: {error}", 200)
        raise BadInput(f"{file} cannot be run: {said}") from error
    found = [one for one in vars(module).values() if isinstance(one, Exercise)]
    if not found:
        raise BadInput(f"{file} defines no exercise: it needs an Exercise(…) under some name.")
    stem = Path(path).stem

    def placed(exercise: Exercise) -> Exercise:
        hints = Path(path).with_name(f"{exercise.name}.hints")
        known = known_answers(exercise.reference, hints, vars(module))
        return replace(exercise, notebook=exercise.notebook or stem, file=file, known=known)

    return {one.name: placed(one) for one in found}
