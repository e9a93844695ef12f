"""What nbgrader's and Otter's own commands make of a pack, where they are installed.

Each makes the students' notebooks from the pack's sources, and grades two students: one has
everything right, the other some of it wrong and the rest not done.
"""

import csv
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpulearn.judge.cells import has, stub_name
from gpulearn.judge.overview import solution
from gpulearn_grading.course import command_line

ROOT = Path(__file__).resolve().parents[3]
OWN = ROOT / "tests" / "gpulearn" / "judge" / "own" / "trapezoids.py"
COURSE = "03_threads_blocks_grids"
# what the second student writes in place of some text of the solution
MISTAKES = {"mirror": ("columns - 1 - x", "columns - x"), "trapezoid_area": (" / 2", "")}
PLACES = {"global_index": "global_index", "mirror": "mirror",
          "trapezoid_area": f"{OWN}:trapezoid_area", "halve": f"{OWN}:halve"}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _graders():
    """Both; a run that requires them fails without, a person's run skips."""
    absent = [name for name in ("nbgrader", "otter") if not importlib.util.find_spec(name)]
    if absent:
        assert not os.environ.get("GPULEARN_REQUIRE_GRADERS"), absent
        pytest.skip(f"{' and '.join(absent)} not installed")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pack of a notebook of the course, without what is no exercise, and of a file."""
    folder = tmp_path_factory.mktemp("course")
    stored = json.loads((ROOT / "notebooks" / f"{COURSE}.ipynb").read_text(encoding="utf-8"))
    imports = next(cell for cell in stored["cells"] if "import gpulearn" in "".join(cell["source"]))
    stored["cells"] = [
        cell for cell in stored["cells"]
        if cell["cell_type"] == "markdown" or has(cell, "exercise") or has(cell, "check")
        or cell is imports
    ]  # fmt: skip
    (folder / f"{COURSE}.ipynb").write_text(json.dumps(stored), encoding="utf-8")
    (folder / "grading.toml").write_text(
        'exercises = ["global_index", "mirror"]\n[weights]\nmirror = 2.5\n'
    )
    chosen = ["-n", "03", "-e", ",".join(PLACES.values()), "-s", str(folder / "grading.toml")]
    arguments = [*chosen, "--from", str(folder), "-o", str(folder / "pack")]
    assert command_line.main(arguments) == 0
    return folder / "pack"


def run(*command, folder):
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PATH": beside, "GPULEARN_PROGRESS": str(folder / "progress.json")},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def answered(released, kind):
    """A released notebook as the "right" or the "wrong" student hands it in."""
    notebook = json.loads(released.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
        name = stub_name(cell, PLACES if kind == "right" else MISTAKES)
        if has(cell, "exercise") and name:
            cell["source"] = solution(PLACES[name]).source
            if kind == "wrong":
                right, mistake = MISTAKES[name]
                assert right in cell["source"]
                cell["source"] = cell["source"].replace(right, mistake)
    return json.dumps(notebook)


def assert_without_own(folder):
    """Students get nothing of what judges the instructor's exercises."""
    for path in folder.rglob("*.*"):
        assert path.name not in ("trapezoids.py", "trapezoid_area.hints"), path
        if path.is_file():
            assert "(y[i] + y[i - 1])" not in path.read_text(encoding="utf-8"), path


def test_nbgrader_makes_the_assignments_and_grades_them(made, tmp_path):
    folder = tmp_path / "nbgrader"
    shutil.copytree(made / "nbgrader", folder)
    for name in (COURSE, "trapezoids"):
        run("nbgrader", "generate_assignment", name, folder=folder)
        assert_without_own(folder / "release")
        for kind in ("right", "wrong"):
            shutil.copytree(folder / "release" / name, folder / "submitted" / kind / name)
            handed_in = folder / "submitted" / kind / name / f"{name}.ipynb"
            handed_in.write_text(answered(handed_in, kind), encoding="utf-8")
        run("nbgrader", "autograde", name, folder=folder)
    run("nbgrader", "export", folder=folder)
    with (folder / "grades.csv").open(newline="") as file:
        rows = {(r["student_id"], r["assignment"]): r for r in csv.DictReader(file)}
    assert {key: float(row["max_score"]) for key, row in rows.items()} == {
        (kind, name): most
        for kind in ("right", "wrong")
        for name, most in ((COURSE, 3.5), ("trapezoids", 2))
    }
    scores = {key: float(row["score"]) for key, row in rows.items() if float(row["score"])}
    assert scores == {("right", COURSE): 3.5, ("right", "trapezoids"): 2}
    assert not (folder / "progress.json").exists()  # the grader's own


def test_otter_makes_the_assignments_and_grades_them(made, tmp_path):
    found: dict[tuple[str, str], tuple[float, float]] = {}
    told: dict[str, str] = {}
    for name in (COURSE, "trapezoids"):
        dist = tmp_path / name
        # its own run of the solutions against the tests is part of it
        said = run("otter", "assign", made / "otter" / f"{name}.ipynb", dist, "--no-pdfs",
                   "-v", folder=made)  # fmt: skip
        assert "All autograder tests passed." in said
        (grader,) = (dist / "autograder").glob("*.zip")
        with zipfile.ZipFile(grader) as held:
            assert b"gpulearn[lab] @ git+https://" in held.read("environment.yml")
            assert (name == "trapezoids") == ("files/trapezoids.py" in held.namelist())
        assert_without_own(dist / "student")
        for kind in ("right", "wrong"):
            place = tmp_path / kind / name
            shutil.copytree(dist / "student", place)
            notebook = place / f"{name}.ipynb"
            notebook.write_text(answered(notebook, kind), encoding="utf-8")
            run("otter", "run", "-a", grader, "-o", place, notebook, folder=place)
            results = json.loads((place / "results.json").read_text(encoding="utf-8"))["tests"]
            graded = {one["name"]: one for one in results if one["name"] != "Public Tests"}
            found |= {(kind, one): (t["score"], t["max_score"]) for one, t in graded.items()}
            if kind == "wrong":
                told |= {one: t["output"] for one, t in graded.items()}
    assert found == {
        (kind, name): (most * (kind == "right"), most)
        for kind in ("right", "wrong")
        for name, most in {
            "global_index": 1,
            "mirror": 2.5,
            "trapezoid_area": 1,
            "halve": 1,
        }.items()
    }
    for name, text in told.items():
        assert ("WrongAnswer: " if name in MISTAKES else "NotSolvedYet: ") + name in text
    assert "that is twice the area" in told["trapezoid_area"]
