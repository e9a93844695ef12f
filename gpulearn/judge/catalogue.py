"""All exercises: the course's, by name, and those in a file of your own: `my_exercises.py:name`.

A topic of the course is a folder that names its notebook and lists its exercises in their order;
each is a module of its name. A file of your own is such a module, too, and may define several.
The mistakes that the exercise NAME tells apart stand beside the module, in `NAME.hints`.
"""

import functools
import importlib.util
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from gpulearn import require
from gpulearn.errors import BadInput, MissingPackage
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.hints import read
from gpulearn.judge.topics import topics
from gpulearn.require import shorten

PLACE = re.compile(r"(.+\.py):(\w*)", re.DOTALL)


def find(name: object) -> Exercise:
    """Look an exercise up by name, or by file and name: "my_exercises.py:name"."""
    if isinstance(name, str) and (place := PLACE.fullmatch(name)):
        exercises = exercises_of(place[1])
        return exercises[require.choice(f"exercise in {place[1]}", place[2], exercises)]
    if callable(name):
        own = getattr(name, "__name__", "vector_add")
        raise BadInput(f'An exercise is named by a string: write "{own}", in quotation marks.')
    known = require.choice("exercise", name, places())
    try:
        return _of_course(known)
    except MissingPackage as missing:
        raise MissingPackage(f"The exercise {known} is not here: {missing}") from None


@functools.cache
def places() -> dict[str, ModuleType]:
    """Name of each exercise, in the order of the course → its topic."""
    course = sorted(topics(), key=lambda topic: topic.NOTEBOOK)
    return {name: topic for topic in course for name in topic.EXERCISES}


def catalogue() -> dict[str, Exercise]:
    """All exercises by name, in the order of the course, but for those whose package is absent."""
    exercises = {}
    for name in places():
        with suppress(MissingPackage):
            exercises[name] = _of_course(name)
    return exercises


@functools.cache
def _of_course(name: str) -> Exercise:
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
    return _placed(module.EXERCISE, module, topic.NOTEBOOK)


def exercises_of(file: str) -> Mapping[str, Exercise]:
    """All exercises that a file defines, by name; at least one."""
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadInput(f"There is no file {file!r} in {Path.cwd()}: give the path of a .py file.")
    beside = sorted(path.parent.glob("*.hints"))
    changed = tuple((each.name, each.stat().st_mtime_ns) for each in (path, *beside))
    return _of_file(path.resolve(), file, changed)


@functools.lru_cache(maxsize=32)
def _of_file(path: Path, file: str, changed: tuple[tuple[str, int], ...]) -> Mapping[str, Exercise]:
    """The exercises of a file; it is read anew when it or its hints have changed since."""
    name = f"gpulearn_exercises_{path.stem}_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look for it there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        reason = shorten(f"{type(error).__name__}: {error}", 200)
        raise BadInput(f"{file} cannot be run: {reason}") from error
    exercises = [value for value in vars(module).values() if isinstance(value, Exercise)]
    if not exercises:
        raise BadInput(f"{file} defines no exercise: it needs an Exercise(…) under some name.")
    return {e.name: _placed(e, module, e.notebook or path.stem, file) for e in exercises}


def _placed(exercise: Exercise, module: ModuleType, notebook: str, file: str = "") -> Exercise:
    """An exercise of a module, with its place and the known answers from beside the module."""
    hints = Path(str(module.__file__)).with_name(f"{exercise.name}.hints")
    known = functools.cache(lambda: read(hints, exercise.reference, vars(module)))
    return replace(exercise, notebook=notebook, file=file, known=known)
