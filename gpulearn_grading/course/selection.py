"""What an instructor chose: notebooks, the exercises in them that count, and their points."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gpulearn
from gpulearn import require
from gpulearn.errors import BadInput, MissingPackage
from gpulearn.judge.catalogue import PLACE, find, places
from gpulearn.judge.cells import has, heading, stub_name
from gpulearn.judge.exercise import Exercise
from gpulearn_grading.course.own_notebook import own_notebook
from gpulearn_grading.settings import GradingSettings

STORED = re.compile(r"[0-9A-Z]+_\w+\.ipynb")
BADGE = re.compile(r"\n*\[!\[Open in Colab\]\([^)]*\)\]\([^)]*\)")


@dataclass(frozen=True)
class Assignment:
    """A notebook of the pack."""

    name: str  # of its file, without `.ipynb`
    notebook: dict[str, Any]  # as students get it, as JSON, each source in one text
    exercises: Mapping[str, Exercise]  # those that count, by name, in the notebook's order
    optional: Mapping[str, Exercise]  # its others, but for those whose package is absent
    points: Mapping[str, float]  # of each exercise that counts
    # the instructor's module of exercises; None for a notebook of the course
    file: Path | None = None

    @property
    def files(self) -> list[Path]:
        """What judges the instructor's own exercises: the module, and the hints of these."""
        if self.file is None:
            return []
        hints = (self.file.with_name(f"{name}.hints") for name in self.exercises)
        return [self.file, *(path for path in hints if path.is_file())]

    @property
    def title(self) -> str:
        """Its first heading, without what makes it one."""
        return heading(self.notebook)

    @property
    def most(self) -> float:
        """Points of a student who has everything right."""
        return sum(self.points.values())


def places_in(folder: str, assignments: Iterable[Assignment]) -> list[str]:
    """The exercises that count, by name, or by the instructor's file in a folder of the pack."""
    return [
        f"{folder}/{exercise.place}" if exercise.file else name
        for assignment in assignments
        for name, exercise in assignment.exercises.items()
    ]


def points_of(assignments: Iterable[Assignment]) -> dict[str, float]:
    """The points of each exercise that counts."""
    return {name: points for a in assignments for name, points in a.points.items()}


def usual_folder() -> Path:
    """The notebooks of the checkout that this package is part of."""
    folder = Path(gpulearn.__file__).parents[1] / "notebooks"
    if not _stored(folder):
        raise BadInput(
            "The notebooks do not come with the installed package: clone the project and give "
            "the folder that holds them, --from gpulearn/notebooks."
        )
    return folder


def notebooks_in(folder: Path) -> dict[str, Path]:
    """Name of each notebook of a folder → its file."""
    if not (files := _stored(folder)):
        raise BadInput(
            f"{str(folder)!r} holds no notebook of the course: give the folder in which "
            f"03_threads_blocks_grids.ipynb lies."
        )
    return files


def _stored(folder: Path) -> dict[str, Path]:
    files = sorted(folder.glob("*.ipynb")) if folder.is_dir() else []
    return {file.stem: file for file in files if STORED.fullmatch(file.name)}


def assignments(
    folder: Path, notebooks: Sequence[str], exercises: Sequence[str], settings: GradingSettings
) -> list[Assignment]:
    """The notebooks of a pack, in the order of the course, those of own exercises last.

    Args:
        folder: that holds the course's notebooks.
        notebooks: numbers or names.
        exercises: names, or `file.py:name`; if none, all of these notebooks.
        settings: of the grading; its weights are the points, 1 where it says nothing.
    """
    files = notebooks_in(folder)
    names = sorted({_notebook(notebook.strip(), files) for notebook in notebooks})
    read = {name: _read(files[name]) for name in names}
    set_in = {exercise: name for name in names for exercise in _stubs(read[name])}
    chosen = [exercise.strip() for exercise in exercises]
    outside = [place for place in chosen if PLACE.fullmatch(place)]
    inside = {_set_here(exercise, set_in) for exercise in chosen if exercise not in outside}
    if not chosen:
        inside = set(set_in)
    selected = []
    for name in names:
        counting, optional = {}, {}
        for exercise in (e for e in set_in if set_in[e] == name):
            if exercise in inside:
                counting[exercise] = find(exercise)
            else:
                with suppress(MissingPackage):
                    optional[exercise] = find(exercise)
        points = {exercise: settings.weights.get(exercise, 1.0) for exercise in counting}
        selected.append(Assignment(name, read[name], counting, optional, points))
    named = Counter([*inside, *(find(place).name for place in dict.fromkeys(outside))])
    if twice := [name for name, count in named.items() if count > 1]:
        raise BadInput(f"Two exercises are called {twice[0]}: leave one of them out.")
    return [*selected, *_own(outside, settings, names)]


def _notebook(text: str, files: Mapping[str, Path]) -> str:
    """A notebook's name, from the name, with or without `.ipynb`, or the number."""
    numbers = {name.partition("_")[0].lstrip("0"): name for name in files}
    if (number := text.upper().lstrip("0")) in numbers:
        return numbers[number]
    return require.choice("notebook", text.removesuffix(".ipynb"), files)


def _set_here(exercise: str, set_in: Mapping[str, str]) -> str:
    if exercise not in set_in and (topic := places().get(exercise)):
        number = topic.NOTEBOOK.partition("_")[0]
        raise BadInput(
            f"{exercise} is set in notebook {number}, which is not among --notebooks: add {number}."
        )
    return require.choice("exercise of these notebooks", exercise, set_in)


def _read(file: Path) -> dict[str, Any]:
    """A notebook with each source as one text, without its badge, which opens another copy."""
    try:
        notebook: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                cell["source"] = BADGE.sub("", cell["source"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = require.shorten(f"{type(error).__name__}: {error}", 120)
        raise BadInput(f"{file} cannot be read as a notebook ({reason}).") from None
    return notebook


def _stubs(notebook: Mapping[str, Any]) -> list[str]:
    """The exercises of the course that a notebook sets."""
    cells = (cell for cell in notebook["cells"] if has(cell, "exercise"))
    return [name for cell in cells if (name := stub_name(cell, places()))]


def _own(
    outside: Sequence[str], settings: GradingSettings, names: Sequence[str]
) -> list[Assignment]:
    """A notebook for each file of the instructor's, with those of its exercises that count."""
    files: dict[Path, dict[str, Exercise]] = {}
    for place in outside:
        exercise = find(place)
        path = Path(exercise.file).expanduser().resolve()
        # the notebook speaks of the file that lies beside it
        files.setdefault(path, {})[exercise.name] = replace(exercise, file=path.name)
    for path in files:
        if path.stem in names or [file.stem for file in files].count(path.stem) > 1:
            raise BadInput(f"Two notebooks would be called {path.stem}: rename {path}.")
    return [
        Assignment(
            name=path.stem,
            notebook=own_notebook(path.stem, list(these.values())),
            exercises=these,
            optional={},
            points={name: settings.weights.get(name, 1.0) for name in these},
            file=path,
        )
        for path, these in files.items()
    ]
