"""What a class gets: names, points and comments, in files that nothing in an answer can spoil."""

import csv
import json
import os
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from gpulearn.errors import BadInput, WrongAnswer
from gpulearn.judge.catalogue import find, places
from gpulearn.judge.check import examined
from gpulearn_grading import command_line, grading, settings
from gpulearn_grading.judge import Verdict
from gpulearn_grading.results import where_to_read
from gpulearn_grading.roster import enrolled
from gpulearn_grading.submissions import Submission

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="grading copies processes")


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Grade a class whose answers say what becomes of them: `passed`, or the share of cases."""
    folder = tmp_path / "hw"
    folder.mkdir()

    def verdict(submission, place):
        text = submission.files[-1].read_text() if submission.files else "0"
        share = 1.0 if text.startswith("passed") else float(text.split()[0])
        kind = "passed" if share == 1 else "missing" if "missing" in text else "wrong"
        return Verdict(place, share == 1, kind, f"told {text}", share=share, **NOTES), ""

    def stand_in(*arguments):
        return Mock(verdict=verdict)

    monkeypatch.setattr(grading, "Worker", stand_in)

    def run(answers, said="", overrides="", *options, status=0):
        for name, (text, moment) in answers.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            os.utime(file, (moment, moment))
        (folder / "grading.toml").write_text('exercises = ["mirror"]\n' + said)
        (folder / "overrides.csv").write_text(overrides)
        arguments = [str(folder), "-o", str(tmp_path / "results.csv"), "-j", "1", *options]
        assert command_line.main(arguments) == status
        return rows(tmp_path / "results.csv")

    return run


NOTES = {"notes": ("\ud800 one\nresults,mirror,1,passed\n",) * 999 + ("x" * 10**6,)}


def rows(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file() and "hw" not in path.parts]


def test_no_text_of_a_student_spoils_the_results(graded, tmp_path):
    answers = {"ann\udcff.py": ("passed \x00\x1b\u202e<b>\nbob,mirror,1", 1), "=bob.py": ("0", 1)}
    answers["\uff1dcy.py"] = ("0", 1)
    for _ in range(2):  # a rerun reads the journal
        found = graded(answers, overrides="student,comment\n=bob,a\u2028b\n")
        assert [row["student"] for row in found] == ["'=bob", r"ann\udcff", "'\uff1dcy"]
        assert [row["passed"] for row in found] == ["0", "1", "0"]
        assert found[0]["comment"] == "a b"
    assert sum(path.stat().st_size for path in files_of(tmp_path)) < 100_000
    for row in found:
        assert "\n" not in row["hint"] + row["notes"]
    data = json.loads((tmp_path / "results.json").read_text())
    assert [s["student"] for s in data["students"]] == ["=bob", r"ann\udcff", "\uff1dcy"]
    assert [v["notes"][0] for s in data["students"] for v in s["verdicts"]] == [
        r"\ud800 one results,mirror,1,passed"
    ] * 3
    for path in files_of(tmp_path):
        text = path.read_text(encoding="utf-8")
        assert not set(text) & set("\x00\x1b\u202e\u2028"), path
        assert "<b>" not in text or path.suffix != ".html"


def test_a_file_that_cannot_be_written_costs_itself_only(graded, tmp_path, capsys):
    (tmp_path / "results.json").mkdir()
    assert graded({"ann.py": ("passed", 1)}, status=1)[0]["points"] == "1.0"
    assert (tmp_path / "results.html").is_file()
    told = capsys.readouterr().err
    assert told.count("could not be written") == 1
    assert "results.json could not be written (IsADirectoryError" in told


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (["annlee_12345_678910_hw", "boli_LATE_12346_678911_hw-1", "annlee_12345_678912_b", "own"],
         {"annlee": "12345", "boli": "12346", "own": ""}),
        (["annlee_1_10_hw", "annlee_2_11_hw"], {"annlee 1": "1", "annlee 2": "2"}),
        (["Ann Lee_123_assignsubmission_file_", "Ann Lee_123_assignsubmission_onlinetext_",
          "Bo_124_assignsubmission_file", "Cy_125_assignsubmission_file_hw_2"],
         {"Ann Lee": "123", "Bo": "124", "Cy": "125"}),
        (["Participant_7_assignsubmission_file", "Participant_8_assignsubmission_file"],
         {"Participant 7": "7", "Participant 8": "8"}),
        (["hw_2026_11_ann", "hw_2026_11_bo"], {"hw_2026_11_ann": "", "hw_2026_11_bo": ""}),
        (["ann_2026_1_hw", "bo_2026_2_hw"], {"ann_2026_1_hw": "", "bo_2026_2_hw": ""}),
    ],
)  # fmt: skip
def test_names_of_canvas_and_moodle_are_understood(files, students):
    found = enrolled([Submission(name, (Path(f"{name}.py"),)) for name in files])
    assert {student.name: student.number for student in found} == students
    assert sum(len(student.files) for student in found) == len(files)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("annlee_77_123_hw.py",
         [["Student", "ID", "Section", "Points"], ["annlee", "77", "", "1.0"]]),
        ("Ann_77_assignsubmission_file_hw.py",
         [["Identifier", "Grade", "Last modified (grade)"], ["Participant 77", "1.0", ""]]),
        ("ann.py", [["student", "points"], ["ann", "1.0"]]),
    ],
)  # fmt: skip
def test_points_are_as_the_import_of_grades_reads_them(graded, tmp_path, name, expected):
    graded({name: ("passed", 1)})
    with (tmp_path / "results.lms.csv").open(newline="") as file:
        assert list(csv.reader(file)) == expected


DAY = 86400
POLICY = (
    '{}\n[weights]\nmirror = 4\n[deadline]\ndue = 1970-01-11T00:00:00Z\ngrace_minutes = 60\n'
    'lost_per_day = 0.25\nmost_lost = 0.5\ndue_for = {{ "annlee" = 1970-01-12T00:00:00Z }}\n'
)  # fmt: skip


def points(found):
    return {row["student"]: float(row["score"]) for row in found}


def test_points_follow_deadline_partial_credit_and_overrides(graded, tmp_path):
    answers = {
        "annlee.py": ("passed", 11 * DAY),  # due a day later
        "bo.py": ("passed", 10 * DAY + 3600),  # within the grace
        "cy.py": ("passed", 10 * DAY + 3601),
        "di.py": ("passed", 99 * DAY),
        "ed.py": ("0.5", 1),
        "flo/first.py": ("passed", 10 * DAY),
        "flo/second.py": ("0.75", 11 * DAY),
        "flo/third.py": ("0 missing", 12 * DAY),
        "gil/first.py": ("0", 1),
        "gil/second.py": ("0 missing", 2),
    }  # fmt: skip
    expected = {"annlee": 4, "bo": 4, "cy": 3, "di": 2, "ed": 0, "flo": 0, "gil": 0}
    assert points(graded(answers, POLICY.format(""))) == expected
    some = POLICY.format('partial = ["mirror"]\nbest_attempt = true')
    assert points(graded(answers, some)) == {**expected, "ed": 2, "flo": 4}
    decided = "student,exercise,points,comment\ned,mirror,3,seen\nflo,,1,copied\n"
    found = graded(answers, some, decided)
    assert points(found) == {**expected, "ed": 3, "flo": 1}
    assert found[-1]["kind"] == "wrong"  # a wrong answer is better than none
    assert "copied" in (tmp_path / "results.pages" / "flo.html").read_text()
    assert [row["comment"] for row in found if row["student"] == "ed"] == ["seen"]
    assert points(graded(answers, some, decided.replace(",", ";"))) == points(found)


def test_what_is_said_of_nobody_is_told(graded, capsys):
    graded({"ann.py": ("passed", 1)}, overrides="student,exercise\nanm,\nann,miror\n")
    told = capsys.readouterr().err
    assert "anm: the settings name this student, who handed in nothing" in told
    assert "miror: overrides.csv names this exercise, which is not graded" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student,point\nann,1\n", "did you mean 'points'"),
        ("student,points\nann,one\n", "points of ann in overrides.csv is 'one'"),
        ("student,points\nann,-1\n", "give a number from 0 on"),
    ],
)
def test_overrides_that_make_no_sense_are_told(tmp_path, text, said):
    (tmp_path / "overrides.csv").write_text(text)
    with pytest.raises(BadInput, match=said):
        settings.overrides_of(tmp_path / "overrides.csv")


def test_anonymous_numbers_stay_and_no_name_is_beside_them(graded, tmp_path):
    first = {"annlee_12_100_hw.py": ("passed", 1), "boli_13_101_hw.py": ("0 boli_13_101_hw.py", 1)}
    graded(first, "", "", "--anonymous")
    before = {row["name"]: row["anonymous"] for row in rows(tmp_path / "results.students.csv")}
    graded({})  # with names in between
    found = graded({"aa_14_102_hw.py": ("0", 1)}, "", "", "--anonymous")
    after = {row["name"]: row["anonymous"] for row in rows(tmp_path / "results.students.csv")}
    assert {row["student"] for row in found} == {"student 001", "student 002", "student 003"}
    assert after == {**before, "aa": "student 003"}
    shown = [
        p for p in files_of(tmp_path) if not p.match("*.students.csv") and not p.match("*.lms.csv")
    ]
    for path in shown:
        if path.suffix != ".journal":
            assert not re.search("annlee|boli|12_100|13_101", path.name + path.read_text()), path


def test_a_student_reads_what_was_told_and_where_to_read(graded, tmp_path):
    graded({"ann.py": ("0", 1)})
    page = (tmp_path / "results.pages" / "ann.html").read_text()
    assert "told 0" in page
    assert "notebook 03_threads_blocks_grids, section " in page
    assert "results,mirror,1" not in page  # notes are the instructor's
    for name in places():
        assert ", section " in where_to_read(name), name


def test_an_answer_that_is_wrong_in_one_case_keeps_the_share_of_the_others():
    exercise = find("blocks_for")
    cases = exercise.cases()

    def answer(n, block_size):
        return -(-n // block_size) + ((n, block_size) == cases[0].args)

    with pytest.raises(WrongAnswer) as told:
        examined(exercise, answer)
    assert told.value.share == 1 - 1 / len(cases)
