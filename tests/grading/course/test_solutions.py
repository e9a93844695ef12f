"""The official solutions, handed in: each gets its points from the command, in three forms."""

import csv
import json
import os

import pytest

from gpulearn_grading import command_line
from gpulearn_grading.course.forms import solved
from gpulearn_grading.course.selection import assignments, notebooks_in
from gpulearn_grading.settings import GradingSettings
from gpulearn_lessons.frameworks.availability import missing
from tests.notebooks.harness import NOTEBOOKS

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="grading copies processes"),
]

ASSIGNMENTS = [
    assignment
    for assignment in assignments(NOTEBOOKS, notebooks_in(NOTEBOOKS), [], GradingSettings())
    if assignment.name != "B_tiles" or not missing(["triton"])
]


def lost(folder, exercises, output):
    """What did not get its points, by student and exercise."""
    names = ",".join(exercises)
    assert (
        command_line.main([str(folder), "-e", names, "-o", str(output), "-j", "2", "--no-walls"])
        == 0
    )
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["exercise"] for row in rows} == set(exercises)
    return {(r["student"], r["exercise"]): r["hint"] for r in rows if r["kind"] != "passed"}


@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda assignment: assignment.name)
def test_a_solved_notebook_and_its_code_as_a_file_are_right(assignment, tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    notebook = solved(assignment)
    (folder / "ann.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    cells = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (folder / "ben.py").write_text("\n\n# %%\n".join(cells), encoding="utf-8")
    assert not lost(folder, assignment.exercises, tmp_path / "results.csv")


def test_a_folder_of_all_solved_notebooks_is_right(tmp_path):
    student = tmp_path / "class" / "cleo"
    student.mkdir(parents=True)
    for assignment in ASSIGNMENTS:
        text = json.dumps(solved(assignment))
        (student / f"{assignment.name}.ipynb").write_text(text, encoding="utf-8")
    exercises = [name for assignment in ASSIGNMENTS for name in assignment.exercises]
    assert len(exercises) == len(set(exercises)) > 140
    assert not lost(student.parent, exercises, tmp_path / "results.csv")
