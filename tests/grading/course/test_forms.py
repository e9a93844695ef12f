"""The forms of every notebook: nothing is lost, and what the graders take away leaves the stub."""

import json
import re

import nbformat
import pytest

from gpulearn.judge.cells import has
from gpulearn.judge.overview import solution
from gpulearn_grading.course.forms import for_nbgrader, for_otter, for_students, solved
from gpulearn_grading.course.selection import assignments, notebooks_in
from gpulearn_grading.settings import GradingSettings
from tests.notebooks.harness import NOTEBOOKS

FORMS = (for_students, solved, for_nbgrader, for_otter)


@pytest.fixture(params=sorted(notebooks_in(NOTEBOOKS)))
def one(request):
    (made,) = assignments(NOTEBOOKS, [request.param], [], GradingSettings())
    assert made.exercises
    return made


def part(name, exercises, **weights):
    (made,) = assignments(NOTEBOOKS, [name], exercises, GradingSettings(weights=weights))
    return made


def stubs(notebook):
    return [cell["source"] for cell in notebook["cells"] if has(cell, "exercise")]


def others(notebook):
    """What stands outside of the exercises, without the lines about points."""
    plain = re.compile(r"\n\n\*(?:[\d.]+ points?\.|Optional: it does not count\.)\*")
    return [
        plain.sub("", cell["source"])
        for cell in notebook["cells"]
        if not (has(cell, "exercise") or has(cell, "check") or cell["cell_type"] == "raw")
    ]


def test_every_form_is_a_notebook_that_keeps_what_stands_around_the_exercises(one):
    for form in FORMS:
        made = form(one)
        nbformat.validate(nbformat.reads(json.dumps(made), as_version=4))
        identities = [cell["id"] for cell in made["cells"]]
        assert len(set(identities)) == len(identities)
        assert others(made) == others(one.notebook)


def test_students_get_the_stubs_and_the_checks_as_they_are_and_the_solved_form_solutions(one):
    assert stubs(solved(one)) == [solution(name).source for name in one.exercises]
    made = for_students(one)
    assert stubs(made) == stubs(one.notebook)
    checks = [cell["source"] for cell in made["cells"] if has(cell, "check")]
    assert checks == [f'gl.check("{name}", {name})' for name in one.exercises]
    told = "\n".join(cell["source"] for cell in made["cells"])
    assert told.count("\n\n*1 point.*") == len(one.exercises)


def test_an_exercise_says_what_it_counts_and_the_others_that_they_do_not():
    made = for_students(part("03", ["mirror", "vector_add"], mirror=2.5))
    told = [cell["source"] for cell in made["cells"] if "### Exercise: " in cell["source"]]
    counts = {re.search(r"Exercise: (\w+)", one)[1]: one.split("\n\n")[1] for one in told}
    optional = {"*Optional: it does not count.*"}
    assert counts.pop("mirror") == "*2.5 points.*"
    assert counts.pop("vector_add") == "*1 point.*"
    assert {*counts.values()} == optional


# --- nbgrader: the rules of its preprocessors ClearSolutions and of its metadata, version 3


def cleared(source, begin, end, stands=()):
    """A cell without its solution, as nbgrader and Otter take it away, line by line."""
    kept, inside = [], False
    for line in source.split("\n"):
        if begin in line:
            assert not inside
            inside = True
            kept += stands
        elif end in line:
            assert inside
            inside = False
        elif not inside:
            kept.append(line)
    assert not inside
    return "\n".join(kept)


def test_nbgrader_takes_the_solution_away_and_leaves_the_stub_under_names_that_it_allows(one):
    made = for_nbgrader(one)
    left = [cleared(text, "BEGIN SOLUTION", "END SOLUTION", [""]) for text in stubs(made)]
    assert left == [f"{stub}\n" for stub in stubs(one.notebook)]
    for text, name in zip(stubs(made), one.exercises, strict=True):
        assert f"### BEGIN SOLUTION\n{solution(name).source}\n### END SOLUTION" in text
    identities = [
        cell["metadata"]["nbgrader"]["grade_id"]
        for cell in made["cells"]
        if "nbgrader" in cell["metadata"]
    ]
    assert len(identities) == 2 * len(one.exercises)
    assert all(re.fullmatch(r"[a-zA-Z0-9_\-]+", name) for name in identities)


def test_nbgraders_metadata_marks_solutions_and_locked_tests_with_points():
    made = for_nbgrader(part("03", ["mirror", "vector_add"], mirror=2.5))
    marked = [cell for cell in made["cells"] if "nbgrader" in cell["metadata"]]
    assert [cell["metadata"]["nbgrader"] for cell in marked[2:]] == [
        {"schema_version": 3, "grade_id": "mirror",
         "grade": False, "solution": True, "locked": False, "task": False},
        {"schema_version": 3, "grade_id": "test_mirror", "points": 2.5,
         "grade": True, "solution": False, "locked": True, "task": False},
    ]  # fmt: skip
    assert [cell["metadata"]["nbgrader"]["grade_id"] for cell in marked[:2]] == [
        "vector_add", "test_vector_add",
    ]  # fmt: skip
    assert [cell["source"] for cell in marked if cell["metadata"]["nbgrader"]["grade"]] == [
        'print(gl.check("vector_add", vector_add))',
        'print(gl.check("mirror", mirror))',
    ]


# --- Otter Assign: its blocks and its solutions


def test_otter_takes_the_solution_away_and_leaves_the_stub(one):
    made = stubs(for_otter(one))
    ends = "# BEGIN SOLUTION NO PROMPT", "# END SOLUTION"
    assert [cleared(text, *ends) for text in made] == stubs(one.notebook)


def test_otter_finds_a_question_with_a_test_for_each_exercise():
    made = for_otter(part("03", ["mirror"], mirror=2.5))["cells"]
    assert made[0]["source"] == (
        "# ASSIGNMENT CONFIG\nname: 03_threads_blocks_grids\nrequirements: requirements.txt\n"
        "tests:\n  ok_format: false\nexport_cell:\n  pdf: false"
    )
    begin = [number for number, cell in enumerate(made) if cell["cell_type"] == "raw"][1]
    block = [(cell["cell_type"], cell["source"]) for cell in made[begin : begin + 8]]
    assert [one for one in block if one[0] == "raw"] == [
        ("raw", "# BEGIN QUESTION\nname: mirror\npoints: 2.5"),
        ("raw", "# BEGIN SOLUTION"),
        ("raw", "# END SOLUTION"),
        ("raw", "# BEGIN TESTS"),
        ("raw", "# END TESTS"),
        ("raw", "# END QUESTION"),
    ]
    assert block[5] == (
        "code",
        'def test_mirror(mirror):\n    import gpulearn as gl\n\n    gl.check("mirror", mirror)',
    )
    others = [cell for cell in made if has(cell, "check") and cell is not made[begin + 5]]
    assert others
    assert all(cell["source"].startswith("gl.check(") for cell in others)
