"""The catalogue of all exercises: each topic is a folder here, each exercise a module of it."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from gpulearn import exercise, require
from gpulearn.checker.exercise import Exercise
from gpulearn.errors import MissingPackage

__all__ = ["catalogue", "find"]


@functools.cache
def _found() -> tuple[dict[str, Exercise], dict[str, MissingPackage]]:
    """All exercises by name, and the topics whose exercises need a package that is not here."""
    found: list[Exercise] = []
    absent: dict[str, MissingPackage] = {}
    for topic in (m.name for m in pkgutil.iter_modules(exercise.__path__) if m.ispkg):
        try:
            found += importlib.import_module(f"{exercise.__name__}.{topic}").EXERCISES
        except MissingPackage as missing:
            absent[topic] = missing
        except ModuleNotFoundError as error:
            if error.name not in require.OPTIONAL:
                raise
            absent[topic] = require.missing(error.name, "Its topic")
    found.sort(key=lambda one: one.notebook)  # stable: within a notebook as its topic lists them
    return {one.name: one for one in found}, absent


def _modules(topic: str) -> set[str]:
    """The names of a topic's modules, without importing it."""
    folders = [f"{folder}/{topic}" for folder in exercise.__path__]
    return {module.name for module in pkgutil.iter_modules(folders)}


def catalogue() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course."""
    return _found()[0]


def find(name: object) -> Exercise:
    """Look an exercise up by name.

    Raises:
        BadInput: there is none of that name; the nearest is named.
        MissingPackage: its topic needs a package that is not here.
    """
    found, absent = _found()
    for topic, missing in absent.items():
        if name in _modules(topic):  # each exercise is a module of its name
            raise MissingPackage(f"The exercise {name} is not here: {missing}")
    return found[require.choice("exercise", name, found)]
