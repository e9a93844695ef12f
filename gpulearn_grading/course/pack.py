"""The files of a course pack, all of them made before the first is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpulearn import __version__
from gpulearn.errors import BadInput
from gpulearn_grading.course import forms
from gpulearn_grading.course.classroom import LIMITS, scale, workflow
from gpulearn_grading.course.forms import OWN, counted
from gpulearn_grading.course.guide import guide
from gpulearn_grading.course.selection import Assignment, points_of
from gpulearn_grading.settings import GradingSettings, written
from simt.wording import project_page

SOLVED = "instructor/solutions"
README = Path(__file__).with_name("README.txt")
# extra of this package that judging takes → how a notebook shows it
NEEDS = {"torch": re.compile(r"^(?:import|from) torch\b", re.M), "cpp": re.compile("__global__")}
NBGRADER = """\
# The settings under which nbgrader makes these assignments and grades them.
import os

c = get_config()
# above the solution stands what students start from: nothing has to take its place
c.ClearSolutions.code_stub = {"python": ""}
c.ExecutePreprocessor.timeout = 600  # seconds for a cell; nbgrader's own 30 are too few for some
# what gl.check notes as solved lies beside each graded notebook, not with the grader's own progress
os.environ["GPULEARN_PROGRESS"] = ".gpulearn_progress.json"
"""


def pack(assignments: Sequence[Assignment], settings: GradingSettings) -> dict[str, str]:
    """Path of each file in the pack → its text; exercises and weights are those of the pack."""
    if not any(assignment.exercises for assignment in assignments):
        raise BadInput("No exercise of these notebooks counts: give --exercises, or leave it out.")
    files: dict[str, str] = {}
    for assignment in assignments:
        name = f"{assignment.name}.ipynb"
        files |= {
            f"student/{name}": _stored(forms.for_students(assignment)),
            f"{SOLVED}/{name}": _stored(forms.solved(assignment)),
            f"nbgrader/source/{assignment.name}/{name}": _stored(forms.for_nbgrader(assignment)),
            f"otter/{name}": _stored(forms.for_otter(assignment)),
        }
        for path in assignment.files:
            text = path.read_text(encoding="utf-8")
            files |= {
                f"{folder}/{path.name}": text for folder in (SOLVED, f"nbgrader/{OWN}", "otter")
            }
    points = points_of(assignments)
    if course := [assignment for assignment in assignments if not assignment.file]:
        cells = [cell["source"] for assignment in course for cell in assignment.notebook["cells"]]
        extras = [extra for extra, sign in NEEDS.items() if any(map(sign.search, cells))]
        grader = _requirement(extras)
        files["student/.github/workflows/classroom.yml"] = workflow(course, grader)
        files[f"student/{LIMITS}"] = written({"limits": settings.data.get("limits", {})})
    said: dict[str, Any] = {
        "exercises": [
            f"{SOLVED}/{exercise.place}" if exercise.file else name
            for assignment in assignments
            for name, exercise in assignment.exercises.items()
        ],
        "weights": points,
        "partial": [name for name in settings.partial if name in points],
    }
    return files | {
        "README.md": _readme(assignments),
        "grading.toml": written({**settings.data, **said}),
        "nbgrader/nbgrader_config.py": NBGRADER,
        "otter/requirements.txt": f"{_requirement(['lab'])}\n",
        "instructor/guide.md": guide(assignments),
    }


def write(files: Mapping[str, str], folder: Path, *, over: bool) -> None:
    """Write the files of a pack, path → text, into a folder, which is made if need be.

    Only with `over` are files of the same name written over; nothing is ever removed.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is a file: give a folder for the pack.")
    if folder.is_dir() and any(folder.iterdir()) and not over:
        raise BadInput(
            f"{str(folder)!r} is not empty: give another folder, or --force to write over the "
            f"files of an older pack."
        )
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{str(folder)!r} cannot be written: {error}.") from None


def _stored(notebook: Mapping[str, Any]) -> str:
    """A notebook as Jupyter stores it, each source a list of lines."""
    cells = [cell | {"source": cell["source"].splitlines(True)} for cell in notebook["cells"]]
    return json.dumps({**notebook, "cells": cells}, indent=1, ensure_ascii=False) + "\n"


def _requirement(extras: Sequence[str]) -> str:
    """What `pip install` is given to get this package with some extras."""
    page = project_page()
    if page is None:
        raise BadInput("This gpulearn is not installed, so students cannot be told where it is "
                       "from: pip install it, from the checkout too.")  # fmt: skip
    return f"gpulearn{f'[{chr(44).join(extras)}]' if extras else ''} @ git+{page}"


def _readme(assignments: Sequence[Assignment]) -> str:
    factor = scale([assignment for assignment in assignments if not assignment.file])
    rows = [
        f"| {assignment.title} | `{assignment.name}` | {', '.join(assignment.exercises) or 'none'} "
        f"| {counted(assignment.most, 'point')} |"
        for assignment in assignments
    ]
    return README.read_text(encoding="utf-8").format(
        version=__version__,
        rows="\n".join(rows),
        install=f'pip install "{_requirement(["lab"])}"',
        first=next(assignment.name for assignment in assignments if assignment.exercises),
        scaled=f" All points are {factor} times those here, since it counts whole ones."
        * (factor > 1),
    )
