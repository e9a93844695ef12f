"""The catalogue of all exercises: each topic is a folder, each exercise a module of its name.

A topic names its notebook and lists its exercises in their order; a module's `EXERCISE` is one.
"""

from __future__ import annotations

import functools
import importlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from gpulearn import require
from gpulearn.errors import MissingPackage
from gpulearn.judge import own
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.hints import known_answers
from gpulearn.judge.topics import topics

__all__ = ["catalogue", "find", "places"]


@functools.cache
def places() -> dict[str, ModuleType]:
    """Name of each exercise, in the order of the course → its topic."""
    course = sorted(topics(), key=lambda topic: topic.NOTEBOOK)
    return {name: topic for topic in course for name in topic.EXERCISES}


@functools.cache
def _made(name: str) -> Exercise:
    """An exercise; of all modules only its own is imported, since others may need torch."""
    topic = places()[name]
    try:
        module = importlib.import_module(f"{topic.__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name == "_multiprocessing":  # a browser tab's Python lacks it
            raise MissingPackage("It starts processes, and this Python can start none.") from None
        if error.name not in require.OPTIONAL:
            raise
        raise require.missing(error.name, "It") from None
    one: Exercise = module.EXERCISE
    path = Path(str(module.__file__)).with_suffix(".hints")
    known = known_answers(one.reference, path, vars(module))
    return replace(one, notebook=topic.NOTEBOOK, known=known)


def catalogue() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course, but for those whose package is absent."""
    found: list[Exercise] = []
    for name in places():
        with suppress(MissingPackage):
            found.append(_made(name))
    return {one.name: one for one in found}


def find(name: object) -> Exercise:
    """Look an exercise up by name, or by file and name: "my_exercises.py:name".

    Raises:
        BadInput: there is none of that name; the nearest is named.
        MissingPackage: it needs a package that is not here.
    """
    if isinstance(name, str) and (found := own.PLACE.fullmatch(name)):
        return own.find(*found.groups())
    known = require.choice("exercise", name, places())
    try:
        return _made(known)
    except MissingPackage as missing:
        raise MissingPackage(f"The exercise {known} is not here: {missing}") from None
