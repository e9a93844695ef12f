"""What is chosen: notebooks by number or name, exercises that they set, files of one's own."""

import shutil
from pathlib import Path

import pytest

import gpulearn
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import catalogue
from gpulearn_grading.course import selection
from gpulearn_grading.course.selection import assignments, notebooks_in
from gpulearn_grading.settings import GradingSettings
from tests.notebooks.harness import NOTEBOOKS

OWN = Path(__file__).parents[2] / "gpulearn" / "judge" / "own" / "trapezoids.py"
NONE = GradingSettings()


def chosen(notebooks, exercises=(), settings=NONE):
    return assignments(NOTEBOOKS, notebooks, exercises, settings)


def test_notebooks_are_called_by_number_or_name_and_stand_in_their_order():
    names = [one.name for one in chosen(["04_memory_coalescing", " 3", "A", "03"])]
    assert names == ["03_threads_blocks_grids", "04_memory_coalescing", "A_frameworks"]


def test_without_a_choice_every_exercise_counts_and_else_the_others_are_optional():
    (all_of_it,) = chosen(["03"])
    names = [name for name, e in catalogue().items() if e.notebook.startswith("03")]
    assert list(all_of_it.exercises) == names
    assert not all_of_it.optional
    weights = GradingSettings(weights={"mirror": 2.5})
    (some,) = chosen(["03"], ["mirror", "vector_add"], weights)
    assert list(some.exercises) == ["vector_add", "mirror"]  # the notebook's order
    assert dict(some.points) == {"vector_add": 1.0, "mirror": 2.5}
    assert some.most == 3.5
    assert {*some.exercises, *some.optional} == all_of_it.exercises.keys()


@pytest.mark.parametrize(
    ("notebooks", "exercises", "said"),
    [
        (["03_thread_blocks_grid"], [], "did you mean '03_threads_blocks_grids'?"),
        (["99"], [], "There is no notebook '99'"),
        (["03"], ["vector_ad"], "did you mean 'vector_add'?"),
        (["04"], ["vector_add"], "vector_add is set in notebook 03, which is not among"),
        (["03"], [f"{OWN}:trapezoid"], "did you mean 'trapezoid_area'?"),
        (["03"], ["no_such.py:f"], "There is no file 'no_such.py'"),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(notebooks, exercises, said):
    with pytest.raises(BadInput) as error:
        chosen(notebooks, exercises)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_exercises_of_ones_own_get_a_notebook_that_speaks_of_the_file_beside_it():
    *course, own = chosen(["03"], ["mirror", f"{OWN}:halve", f"{OWN}:trapezoid_area"])
    assert [one.name for one in course] == ["03_threads_blocks_grids"]
    assert (own.name, own.title, own.file) == ("trapezoids", "Trapezoids", OWN.resolve())
    sources = [cell["source"] for cell in own.notebook["cells"]]
    assert 'gl.check("trapezoids.py:halve", halve)' in sources
    assert "@cuda.jit\ndef halve(x, out):\n    # your code\n    ..." in sources
    assert "def trapezoid_area(x, y):\n    # your code\n    ..." in sources


def test_two_exercises_or_two_notebooks_of_one_name_are_refused(tmp_path):
    mirror = tmp_path / "own.py"
    mirror.write_text("from gpulearn_lessons.threads.mirror import EXERCISE\n")
    with pytest.raises(BadInput, match="Two exercises are called mirror"):
        chosen(["03"], ["mirror", f"{mirror}:mirror"])
    with pytest.raises(BadInput, match="Two exercises are called mirror"):
        chosen(["03"], [f"{shutil.copy(mirror, tmp_path / 'b.py')}:mirror", f"{mirror}:mirror"])
    there = tmp_path / "there"
    there.mkdir()
    copy = shutil.copy(OWN, there)
    with pytest.raises(BadInput, match="Two notebooks would be called trapezoids"):
        chosen(["03"], [f"{OWN}:halve", f"{copy}:trapezoid_area"])


def test_a_badge_that_would_open_another_copy_is_left_out():
    for name in notebooks_in(NOTEBOOKS):
        (one,) = chosen([name], [])
        assert not [c for c in one.notebook["cells"] if "colab.research" in c["source"]], name
        assert one.notebook["cells"][0]["source"].endswith("**")  # the question stays


def test_the_notebooks_are_those_of_the_checkout(monkeypatch, tmp_path):
    assert {file.parent for file in notebooks_in().values()} == {NOTEBOOKS}
    monkeypatch.setattr(gpulearn, "__file__", str(tmp_path / "gpulearn" / "__init__.py"))
    monkeypatch.chdir(NOTEBOOKS.parent)  # where an installed package is used in a clone
    assert {file.resolve().parent for file in notebooks_in().values()} == {NOTEBOOKS}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="--from gpulearn/notebooks"):
        notebooks_in()
    with pytest.raises(BadInput, match="holds no notebook of the course"):
        notebooks_in(tmp_path)


def test_a_file_that_is_no_notebook_is_told(tmp_path):
    for text in ("{", "{}", '{"cells": 3}'):
        (tmp_path / "03_threads.ipynb").write_text(text)
        with pytest.raises(BadInput, match=r"03_threads\.ipynb cannot be read as a notebook"):
            selection.assignments(tmp_path, ["03"], [], NONE)
