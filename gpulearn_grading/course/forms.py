"""The forms of a notebook of the pack: for students, solved, for nbgrader, for Otter Assign.

nbgrader (https://nbgrader.readthedocs.io) and Otter (https://otter-grader.readthedocs.io) each make
the students' notebook and its tests from one source that has the solutions in it. In both, what
students start from stands above the solution in one cell, so that taking the solution away leaves
the course's own stub, whether it has one hole, several, or a mistake to be mended.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpulearn.judge.cells import checked, has, in_solution_form, stub_name
from gpulearn.judge.stubs import cell_source
from gpulearn_grading.course.selection import Assignment, Cell, new_cell

Notebook = dict[str, Any]

OWN = "own"  # folder of nbgrader's course that holds the instructor's own exercises
SCHEMA = 3  # of nbgrader's metadata
HIDDEN = '""" # BEGIN TEST CONFIG\nhidden: true\n""" # END TEST CONFIG\n'


def for_students(assignment: Assignment) -> Notebook:
    """As the course has it; below its title each exercise says what it counts.

    Exercises of the instructor's own come without their checks, which would need the solution.
    """
    notebook = _counting(assignment)
    if assignment.file:
        notebook["cells"] = [cell for cell in notebook["cells"] if not has(cell, "check")]
    return notebook


def _counting(assignment: Assignment) -> Notebook:
    """With what it counts below the title of each exercise."""

    def counts(heading: re.Match[str]) -> str:
        points = assignment.points.get(heading[2])
        later = " It is judged after you have handed it in." * bool(assignment.file)
        text = "Optional: it does not count."
        if points is not None:
            text = f"{counted(points, 'point')}.{later}"
        return f"{heading[1]}\n\n*{text}*"

    notebook = copy.deepcopy(assignment.notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(
                r"^(#+ Exercise: (\w+))$", counts, cell["source"], flags=re.MULTILINE
            )
    return notebook


def counted(number: float, noun: str) -> str:
    """A number of things, such as "1 point" or "0.5 points"."""
    return f"{number:g} {noun}{'s' * (number != 1)}"


def solved(assignment: Assignment) -> Notebook:
    """With a solution in place of each stub."""
    known = {**assignment.optional, **assignment.exercises}
    return in_solution_form(
        _counting(assignment), known, lambda name: cell_source(known[name].reference)
    )


def for_nbgrader(assignment: Assignment) -> Notebook:
    """The source of an assignment of nbgrader's: solutions to take away, locked tests that score.

    A test cell that raises scores 0. It prints what the check returns: nbgrader would try to read
    a value as points. The tests of the instructor's own exercises are hidden, and find them where a
    submission is graded, three folders below the course's.
    """

    def marked(cell: Cell, identity: str, **set_here: object) -> Cell:
        flags = dict.fromkeys(("grade", "locked", "solution", "task"), False)
        about = {"schema_version": SCHEMA, "grade_id": identity, **flags, **set_here}
        return cell | {"metadata": cell["metadata"] | {"nbgrader": about}}

    def answered(stub: Cell, check: Cell, name: str) -> Iterator[Cell]:
        check["source"] = f"print({check['source']})"
        if assignment.file:
            place = check["source"].replace('check("', f'check("../../../{OWN}/', 1)
            check["source"] = f"### BEGIN HIDDEN TESTS\n{place}\n### END HIDDEN TESTS"
        yield marked(stub, name, solution=True)
        points = assignment.points[name]
        yield marked(check, f"test_{name}", grade=True, locked=True, points=points)

    return _with_answers(assignment, "### BEGIN SOLUTION", "### END SOLUTION", answered)


def for_otter(assignment: Assignment) -> Notebook:
    """What Otter Assign takes: a question for each exercise, with an exception-based test."""

    def answered(stub: Cell, check: Cell, name: str) -> Iterator[Cell]:
        def fence(what: str, about: str = "") -> Cell:
            identity = f"{name}-{what.lower().replace(' ', '-')}"
            return new_cell(identity, "raw", f"# {what}{about}")

        check["source"] = (
            f"def test_{name}({name}):\n    import gpulearn as gl\n\n    {check['source']}"
        )
        if assignment.file:
            check["source"] = f"{HIDDEN}{check['source']}"
        yield fence("BEGIN QUESTION", f"\nname: {name}\npoints: {assignment.points[name]:g}")
        yield from (fence("BEGIN SOLUTION"), stub, fence("END SOLUTION"))
        yield from (fence("BEGIN TESTS"), check, fence("END TESTS"), fence("END QUESTION"))

    begin, end = "# BEGIN SOLUTION NO PROMPT", "# END SOLUTION"
    notebook = _with_answers(assignment, begin, end, answered)
    files = "".join(f"\n  - {path.name}" for path in assignment.files)
    files = files and f"\nautograder_files:{files}"
    settings = (
        f"# ASSIGNMENT CONFIG\nname: {assignment.name}\nrequirements: requirements.txt\n"
        f"tests:\n  ok_format: false\nexport_cell:\n  pdf: false{files}"
    )
    notebook["cells"].insert(0, new_cell("assignment-config", "raw", settings))
    return notebook


def _with_answers(
    assignment: Assignment,
    begin: str,
    end: str,
    answered: Callable[[Cell, Cell, str], Iterator[Cell]],
) -> Notebook:
    """The students' form, with other cells for the stub and the check of what counts.

    The stub has the solution below it, between two lines.
    """
    notebook = _counting(assignment)
    cells: list[Cell] = []
    for cell in notebook["cells"]:
        name = checked(cell) if has(cell, "check") and cells else None
        if name is not None and name == stub_name(cells[-1], assignment.points):
            stub = cells.pop()
            solution = cell_source(assignment.exercises[name].reference)
            stub["source"] = "\n".join([stub["source"], begin, solution, end])
            cells += answered(stub, cell, name)
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}
