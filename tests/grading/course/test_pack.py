"""A pack as the command writes it: what is in it, and that its parts do what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpulearn.judge.catalogue import catalogue, find
from gpulearn.judge.overview import solution
from gpulearn.judge.prediction import predictions
from gpulearn_grading import settings
from gpulearn_grading.course import command_line
from gpulearn_grading.course.classroom import LIMITS
from gpulearn_grading.settings import GradingSettings
from tests.notebooks.harness import NOTEBOOKS

OWN = Path(__file__).parents[2] / "gpulearn" / "judge" / "own" / "trapezoids.py"
ROOT = NOTEBOOKS.parent


def course(folder, *more):
    return command_line.main(["--output", str(folder), *more])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pack with exercises of two notebooks and of a file."""
    folder = tmp_path_factory.mktemp("course")
    grading = folder / "given.toml"
    grading.write_text(
        'exercises = ["blocks_for", "global_index", "copy_coalesced"]\n'
        "[weights]\nglobal_index = 0.5\n[limits]\nseconds = 7\n"
        "[deadline]\ndue = 2026-11-30T23:59:00+01:00\nhanded_in = { ann = 2026-11-29T10:00:00Z }\n"
    )
    chosen = f"blocks_for,global_index,copy_coalesced,{OWN}:trapezoid_area"
    pack = folder / "pack"
    assert course(pack, "-n", "03,04", "-e", chosen, "-s", str(grading)) == 0
    return pack


def text(made, name):
    return (made / name).read_text(encoding="utf-8")


def test_a_pack_holds_each_form_of_each_notebook_and_the_files_that_it_needs(made):
    names = ("03_threads_blocks_grids", "04_memory_coalescing", "trapezoids")
    wanted = {
        "README.md", "grading.toml", "nbgrader/nbgrader_config.py", "otter/requirements.txt",
        "instructor/guide.md", f"student/{LIMITS}",
        "student/.github/workflows/classroom.yml",
        *(f"{folder}/{name}" for name in ("trapezoids.py", "trapezoid_area.hints")
          for folder in ("otter", "instructor/solutions", "nbgrader/own")),
        *(f"{folder}/{name}.ipynb" for name in names
          for folder in ("student", "otter", "instructor/solutions", f"nbgrader/source/{name}")),
    }  # fmt: skip
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert files == wanted
    assert text(made, "nbgrader/own/trapezoids.py") == OWN.read_text(encoding="utf-8")


def test_students_get_nothing_of_the_solutions_and_hints_of_own_exercises(made):
    """Of the course's, `gl.solution` shows them to everybody."""
    own = "(y[i] + y[i - 1])"
    assert own in text(made, "instructor/solutions/trapezoids.ipynb")
    for path in filter(Path.is_file, (made / "student").rglob("*")):
        told = path.read_text(encoding="utf-8")
        assert own not in told
        assert "trapezoids.py" not in told
        assert "half their sum" not in told


def test_the_settings_for_grading_are_those_that_were_given(made):
    found = settings.load(made / "grading.toml")
    own = (made / "instructor" / "solutions" / "trapezoids.py").resolve()
    assert found.exercises == (
        "global_index", "blocks_for", "copy_coalesced", f"{own}:trapezoid_area",
    )  # fmt: skip
    assert found.weights == {
        "global_index": 0.5, "blocks_for": 1, "copy_coalesced": 1, "trapezoid_area": 1,
    }  # fmt: skip
    assert found.limits.seconds == 7
    assert found.due == 1796079540
    assert found.handed_in.keys() == {"ann"}


def test_the_guide_has_minutes_goals_misconceptions_and_solutions(made):
    guide = text(made, "instructor/guide.md")
    assert re.search(
        r"\| 03 · Threads, blocks, grids \| \d+ \| global_index, blocks_for \| 1\.5 \|", guide
    )
    assert "> You turn a photograph into its negative." in guide
    (asked,) = (one for name, one in predictions().items() if name == "random_order")
    for wrong, why in asked.misconceptions.items():
        assert f"- *{wrong}*: {why}" in guide
    part = guide.partition("#### global_index (0.5 points)")[2].partition("#### ")[0]
    assert f"```python\n{solution('global_index').source}\n```" in part
    optional = guide.partition("#### vector_add (optional)")[2].partition("#### ")[0]
    assert "all stand in `gpulearn_lessons/threads/vector_add.hints`" in optional
    assert (ROOT / "gpulearn_lessons/threads/vector_add.hints").is_file()
    assert sum(line.startswith("- ") for line in optional.splitlines()) == 5
    hints = list(find("vector_add").answers.hints)
    commonest = max(hints, key=find("vector_add").answers.hints.get)
    assert commonest in optional.partition("- ")[2].partition("\n- ")[0]
    exercises = [e for e in catalogue().values() if e.notebook.startswith(("03", "04"))]
    assert len(re.findall("^#### ", guide, re.MULTILINE)) == len(exercises) + 1
    assert "- that is twice the area" in guide


def test_the_readme_tells_how_each_part_is_used(made):
    readme = text(made, "README.md")
    assert not re.search(r"[{}]", readme)
    assert "nbgrader generate_assignment 03_threads_blocks_grids" in readme
    assert "All points are 2 times those here" in readme
    assert "Add `.github/**/*` to the protected file paths" in readme
    for folder in re.findall(r"^\| `([\w.]+)/?` \|", readme, re.MULTILINE):
        assert (made / folder).exists(), folder


def test_the_readme_shows_a_notebook_that_is_graded(tmp_path):
    assert course(tmp_path, "-n", "03,04", "-e", "copy_coalesced") == 0
    assert "nbgrader autograde 04_memory_coalescing" in text(tmp_path, "README.md")


# --- the workflow


def graded_by_the_workflow(made, folder, answers):
    """Carry out what the workflow does on a push; name of each step that tests → its status."""
    job = yaml.safe_load(text(made, "student/.github/workflows/classroom.yml"))["jobs"]
    steps = {one.get("name"): one for one in job["run-autograding-tests"]["steps"]}
    pushed = folder / "handed_in" / "submission"
    pushed.mkdir(parents=True)
    (pushed / ".github").mkdir()
    (pushed / LIMITS).write_text(text(made, f"student/{LIMITS}"))
    cells = [{"cell_type": "code", "source": one} for one in answers]
    (pushed / "03.ipynb").write_text(json.dumps({"cells": cells}))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = steps["Grade"]["run"].replace("python ", f"{sys.executable} ", 1)
    subprocess.run(command, shell=True, cwd=folder, env=environment, check=True, timeout=300)
    return {
        name: subprocess.run(one["with"]["command"], shell=True, cwd=folder, check=False).returncode
        for name, one in steps.items()
        if "command-grader" in one.get("uses", "")
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="grading copies processes")
def test_the_workflow_grades_what_is_pushed(made, tmp_path):
    right = [solution(name).source for name in ("global_index", "copy_coalesced")]
    forged = '/x\\nsubmission,blocks_for,1,passed,0,"passed": true'
    wrong = f"def blocks_for(n, block_size):\n    open({forged!r}, 'w')\n".replace("\\\\", "\\")
    found = graded_by_the_workflow(made, tmp_path, ["from gpulearn import cuda", *right, wrong])
    assert found == {"global_index": 0, "blocks_for": 1, "copy_coalesced": 0}
    told = text(tmp_path, "results.json")
    assert "submission,blocks_for,1" in told  # it was tried
    assert len(text(tmp_path, "results.csv").splitlines()) == 4


def test_the_workflow_reports_whole_points_of_every_test(made):
    job = yaml.safe_load(text(made, "student/.github/workflows/classroom.yml"))["jobs"]
    *_, reporter = steps = job["run-autograding-tests"]["steps"]
    tests = {one["id"]: one["with"] for one in steps if "command-grader" in one.get("uses", "")}
    points = {name: one["max-score"] for name, one in tests.items()}
    assert points == {"global_index": 1, "blocks_for": 2, "copy_coalesced": 2}
    assert reporter["with"]["runners"] == ",".join(tests)
    for name in tests:
        result = reporter["env"][f"{name.upper()}_RESULTS"]
        assert result == f"${{{{ steps.{name}.outputs.result }}}}"


@pytest.mark.parametrize(
    ("notebook", "extras"), [("03", ""), ("09", "[cpp]"), ("15", "[torch]"), ("22", "[torch,cpp]")]
)
def test_the_workflow_installs_what_judging_takes(tmp_path, notebook, extras):
    assert course(tmp_path, "-n", notebook) == 0
    told = text(tmp_path, "student/.github/workflows/classroom.yml")
    assert f'--torch-backend=cpu "gpulearn{extras} @ git+https://' in told


def test_the_workflow_grades_within_the_limits_of_the_settings(made):
    """And by nothing else of them: a deadline is not the same for all of a class."""
    kept = settings.load(made / "student" / LIMITS)
    assert kept == GradingSettings(limits=settings.load(made / "grading.toml").limits)
    assert kept.limits.seconds == 7


# --- the command


def test_exercises_of_the_settings_are_those_that_count(tmp_path):
    (tmp_path / "grading.toml").write_text('exercises = ["mirror"]\n')
    assert course(tmp_path / "pack", "-n", "03", "-s", str(tmp_path / "grading.toml")) == 0
    assert settings.load(tmp_path / "pack" / "grading.toml").exercises == ("mirror",)


def test_a_folder_that_holds_something_is_left_alone(tmp_path, capsys):
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    assert course(tmp_path, "-n", "03") == 2
    assert "is not empty: give another folder, or --force" in capsys.readouterr().err
    assert text(tmp_path, "README.md") == "mine"
    assert course(tmp_path, "-n", "03", "--force") == 0
    assert text(tmp_path, "README.md").startswith("# Course pack")
    assert text(tmp_path, "notes.txt") == "mine"
    assert course(tmp_path / "notes.txt", "-n", "03") == 2
    assert "is a file: give a folder" in capsys.readouterr().err


def test_nothing_is_written_where_something_is_wrong(tmp_path, capsys):
    pack = tmp_path / "pack"
    assert course(pack, "-n", "03", "-e", "vector_ad") == 2
    assert "did you mean 'vector_add'?" in capsys.readouterr().err
    assert course(pack, "-n", "03", "-s", str(tmp_path / "none.toml")) == 2
    assert "none.toml cannot be read" in capsys.readouterr().err
    assert not pack.exists()


def test_a_bare_install_makes_a_pack(tmp_path):
    """Neither nbformat nor Jupyter nor torch is there, nor what only some systems have."""
    absent = ("nbformat", "jupyter_core", "IPython", "torch", "yaml", "fcntl", "resource")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); sys.argv[0] = 'gpulearn'\n"
        "from gpulearn.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "course", "-n", "03", "-o", "pack"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "1 notebook, 9 exercises for 9 points: pack, where README.md says how to use it.\n"
    )
