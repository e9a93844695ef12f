"""What an instructor chose: notebooks, the exercises in them that count, and their points."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gpulearn
from gpulearn import require
from gpulearn.errors import BadInput, MissingPackage
from gpulearn.judge.catalogue import PLACE, find, places
from gpulearn.judge.cells import has, heading, stub_name
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.stubs import cell_source
from gpulearn_grading.settings import GradingSettings

STORED = re.compile(r"[0-9A-Z]+_\w+\.ipynb")
BADGE = re.compile(r"\n*\[!\[Open in Colab\]\([^)]*\)\]\([^)]*\)")
IMPORTS = "import numpy as np\n\nimport gpulearn as gl\nfrom gpulearn import cuda"
HOLE = "    # your code\n    ..."

Cell = dict[str, Any]


@dataclass(frozen=True)
class Assignment:
    """A notebook of the pack."""

    name: str  # of its file, without `.ipynb`
    notebook: dict[str, Any]  # as students get it, as JSON, each source in one text
    exercises: Mapping[str, Exercise]  # those that count, by name, in the notebook's order
    points: Mapping[str, float]  # of each exercise that counts
    # its others, but for those whose package is absent
    optional: Mapping[str, Exercise] = field(default_factory=dict)
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


def points_of(assignments: Iterable[Assignment]) -> dict[str, float]:
    """The points of each exercise that counts."""
    return {name: points for a in assignments for name, points in a.points.items()}


def notebooks_in(folder: Path | None = None) -> dict[str, Path]:
    """Name of each notebook of a folder → its file; or of the checkout, ours or where we are."""
    here = Path(gpulearn.__file__).parents[1] / "notebooks", Path("notebooks")
    for place in [folder] if folder else here:
        files = {f.stem: f for f in sorted(place.glob("*.ipynb")) if STORED.fullmatch(f.name)}
        if files:
            return files
    raise BadInput(
        f"{str(place)!r} holds no notebook of the course: run this in a clone of the project, or "
        f"give the folder in which 03_threads_blocks_grids.ipynb lies, --from gpulearn/notebooks."
    )


def assignments(
    folder: Path | None,
    notebooks: Iterable[str],
    exercises: Sequence[str],
    settings: GradingSettings,
) -> list[Assignment]:
    """The notebooks of a pack, in the order of the course, those of own exercises last.

    Args:
        folder: that holds the course's notebooks; those of the checkout if None.
        notebooks: numbers or names.
        exercises: names, or `file.py:name`; if none, all of these notebooks.
        settings: of the grading; its weights are the points, 1 where it says nothing.
    """
    files = notebooks_in(folder)
    names = sorted({_notebook(notebook.strip(), files) for notebook in notebooks})
    read = {name: _read(files[name]) for name in names}
    set_in = {
        exercise: name
        for name in names
        for cell in read[name]["cells"]
        if has(cell, "exercise") and (exercise := stub_name(cell, places()))
    }
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
        points = {exercise: settings.points(exercise, 1) for exercise in counting}
        selected.append(Assignment(name, read[name], counting, points, optional))
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
            notebook=_own_notebook(path.stem, these.values()),
            exercises=these,
            points={exercise: settings.points(exercise, 1) for exercise in these},
            file=path,
        )
        for path, these in files.items()
    ]


def _own_notebook(name: str, exercises: Iterable[Exercise]) -> dict[str, Any]:
    """Task, stub and check of each exercise, in the form of the course's own notebooks."""
    cells = [
        new_cell("title", "markdown", f"# {name.replace('_', ' ').capitalize()}"),
        new_cell("imports", "code", IMPORTS),
    ]
    for exercise in exercises:
        task = f"### Exercise: {exercise.name}\n\n{exercise.task}"
        check = f'gl.check("{exercise.place}", {exercise.name})'
        cells += [
            new_cell(f"{exercise.name}-task", "markdown", task),
            new_cell(f"{exercise.name}-stub", "code", _stub(exercise), "exercise"),
            new_cell(f"{exercise.name}-check", "code", check, "check", "raises-exception"),
        ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _stub(exercise: Exercise) -> str:
    """What students start from: what the exercise gives to be mended, or the solution's head."""
    source, given = cell_source(exercise.reference), exercise.answers.given
    lines = source.splitlines()
    if given is not None:
        jit = [line for line in lines[:1] if line.startswith("@cuda.jit")]
        return "\n".join([*jit, cell_source(given)])
    if exercise.kernel:
        head = re.match(r".*?\b__global__\b[^{]*\{", source, re.DOTALL)
        assert head is not None, source
        return f'{head[0]}\n    // your code\n    ...\n}}\n"""'
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return "\n".join([*lines[: function.body[0].lineno - 1], HOLE])


def new_cell(identity: str, kind: str, source: str, *tags: str) -> Cell:
    """A cell as JSON; its identity must be the only one of that name in the notebook."""
    cell: Cell = {
        "cell_type": kind,
        "id": identity[:64],
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
