"""The catalogue of all exercises: each topic is a folder, each exercise a module of its name.

A topic names its notebook and lists its exercises in their order; a module's `EXERCISE` is one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from gpulearn import exercise, require
from gpulearn.checker.exercise import Exercise
from gpulearn.errors import MissingPackage

__all__ = ["catalogue", "find", "topics"]


def topics() -> Iterator[ModuleType]:
    """The folders of the topics."""
    for topic in pkgutil.iter_modules(exercise.__path__):
        if topic.ispkg:
            yield importlib.import_module(f"{exercise.__name__}.{topic.name}")


@functools.cache
def _found() -> tuple[dict[str, Exercise], dict[str, MissingPackage]]:
    """All exercises by name, and those that need a package which is not here."""
    found: list[Exercise] = []
    absent: dict[str, MissingPackage] = {}
    for folder in topics():
        for name in folder.EXERCISES:
            try:
                one = importlib.import_module(f"{folder.__name__}.{name}").EXERCISE
                found.append(replace(one, notebook=folder.NOTEBOOK))
            except MissingPackage as missing:
                absent[name] = missing
            except ModuleNotFoundError as error:
                if error.name not in require.OPTIONAL:
                    raise
                absent[name] = require.missing(error.name, "It")
    found.sort(key=lambda one: one.notebook)  # stable: within a notebook as its topic lists them
    return {one.name: one for one in found}, absent


def catalogue() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course."""
    return _found()[0]


def find(name: object) -> Exercise:
    """Look an exercise up by name.

    Raises:
        BadInput: there is none of that name; the nearest is named.
        MissingPackage: it needs a package that is not here.
    """
    found, absent = _found()
    if isinstance(name, str) and name in absent:
        raise MissingPackage(f"The exercise {name} is not here: {absent[name]}")
    return found[require.choice("exercise", name, found)]
