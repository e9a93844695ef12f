"""Exercises in a file of their own: found, checked, proved."""

import re
import shutil
from pathlib import Path

import pytest

import gpulearn as gl
from gpulearn.errors import BadInput, NotSolvedYet, WrongAnswer
from gpulearn.judge import command_line, progress
from gpulearn.judge.catalogue import exercises_of

ROOT = Path(__file__).parents[3]
FILE = Path(__file__).parent / "own" / "trapezoids.py"
PLACE = f"{FILE}:trapezoid_area"


def right(x, y):
    return sum((x[i + 1] - x[i]) * (y[i + 1] + y[i]) / 2 for i in range(len(x) - 1))


def test_an_answer_is_judged_as_one_of_the_course():
    passed = gl.check(PLACE, right)
    assert "in all 3 cases. 1 of 2 solved in this file." in repr(passed)
    assert list(progress.load().solved) == [PLACE]
    with pytest.raises(WrongAnswer, match="the last strip is left out"):
        gl.check(PLACE, lambda x, y: right(x[:-1], y[:-1]))


def test_a_stub_is_not_solved_yet():
    def trapezoid_area(x, y): ...

    with pytest.raises(NotSolvedYet, match="where your code belongs. Add up the areas"):
        gl.check(PLACE, trapezoid_area)


def test_what_a_wrong_answer_is_told_leads_to_its_inputs():
    with pytest.raises(WrongAnswer) as told:
        gl.check(PLACE, lambda x, y: 17.0)
    (call,) = re.findall(r"gl\.case\(.*\)", str(told.value))
    assert eval(call, {"gl": gl}).expected == 17.0 or "three points" not in str(told.value)
    assert "total +=" in gl.solution(PLACE).source


def test_the_example_proves_itself(capsys):
    assert command_line.main(["check", str(FILE)]) == 0
    assert capsys.readouterr().out.count("8 of 8 known answers are told what they should.") == 2


def test_the_example_of_the_documentation_is_an_exercise(tmp_path, capsys):
    text = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
    ((module, hints),) = re.findall(
        r"```python\n([^`]*Exercise\([^`]*)```.*?```text\n(.*?)```", text, re.DOTALL
    )
    file = tmp_path / "my_exercises.py"
    file.write_text(module, encoding="utf-8")
    (tmp_path / "trapezoid_area.hints").write_text(hints, encoding="utf-8")
    assert command_line.main(["check", str(file)]) == 0
    assert f"```\n{capsys.readouterr().out}```" in text
    file.write_text(module.replace("[2.0, 4.0, 10.0]", "[0.0, 0.0, 0.0]"), encoding="utf-8")
    assert command_line.main(["check", str(file)]) == 1
    told, _, advice = capsys.readouterr().out.partition("  It knows")
    assert f"```\n{told}```" in text
    assert advice


@pytest.mark.parametrize("result", ["np.cumsum(x)", "list(np.cumsum(x))"])
def test_a_solution_may_return_an_array_and_of_a_list_the_check_says_what_to_do(
    result, tmp_path, capsys
):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n\nfrom gpulearn.judge import Case, Exercise\n\n\n"
        f"def sums(x):\n    return {result}\n\n\n"
        'cases = lambda: [Case("two", (np.array([2.0, 3.0]),))]\n'
        'SUMS = Exercise("Add up.", sums, cases)\n',
        encoding="utf-8",
    )
    hints = "cumsum → cumprod\n> those are the products: add.\n"
    (tmp_path / "sums.hints").write_text(hints, encoding="utf-8")
    of_a_list = result.startswith("list")
    assert command_line.main(["check", str(file)]) == of_a_list
    told = capsys.readouterr().out
    assert ("Its solution returns a list, and only numbers and NumPy" in told) == of_a_list


@pytest.fixture
def copied(tmp_path):
    """The example's files, to be changed."""
    shutil.copytree(FILE.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / FILE.name


def test_a_mistake_that_is_not_told_apart_is_shown(copied, capsys):
    with copied.with_name("trapezoid_area.hints").open("a", encoding="utf-8") as hints:
        hints.write("\ntotal = 0.0 → total = 0\n> that is an integer.\n")
    assert command_line.main(["check", str(copied)]) == 1
    told = capsys.readouterr().out
    assert "trapezoid_area: 8 of 9" in told
    assert "wrong answer 6 must be told: that is an integer." in told
    assert "passes" in told


def test_hints_that_are_not_there_or_cannot_be_read_are_told(copied, capsys):
    hints = copied.with_name("trapezoid_area.hints")
    hints.write_text("/ 2\n> that is twice the area.\n", encoding="utf-8")
    assert command_line.main(["check", str(copied)]) == 2
    assert "trapezoid_area.hints, line 1: `/ 2` is no answer" in capsys.readouterr().err
    hints.unlink()
    assert command_line.main(["check", str(copied)]) == 0
    said = "It knows 0 wrong answers: think of 5 or more, in trapezoid_area.hints."
    assert said in capsys.readouterr().out


def test_a_right_answer_that_is_refused_is_shown():
    known = command_line.proved(exercises_of(str(FILE))["trapezoid_area"])
    assert all(one.ok for one in known)
    told = [one for one in known if one.answer.startswith("right")]
    assert len(told) == 2


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("none.py:area", "There is no file 'none.py'"),
        (f"{FILE}:trapezoid", "did you mean 'trapezoid_area'"),
        (f"{FILE}:", "There is no exercise in"),
    ],
)
def test_a_place_that_is_none_is_told(place, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        gl.check(place, right)


@pytest.mark.parametrize(
    ("text", "said"), [("1 / 0", "ZeroDivisionError"), ("a = 1", "defines no exercise")]
)
def test_a_file_that_makes_no_exercise_is_told(tmp_path, capsys, text, said):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert command_line.main(["check", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_changed_files_are_read_anew(copied):
    def exercise():
        return exercises_of(str(copied))["trapezoid_area"]

    assert exercise().task.startswith("Add up")
    copied.write_text(copied.read_text().replace("Add up", "Sum"), encoding="utf-8")
    assert exercise().task.startswith("Sum")
    assert len(exercise().answers.wrongs) == 5
    hints = copied.with_name("trapezoid_area.hints")
    hints.write_text("/ 2 →\n> that is twice the area.\n", encoding="utf-8")
    assert exercise().answers.hints == {"that is twice the area.": 1}
