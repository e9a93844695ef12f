"""Results of a grading as texts: CSV, JSON, JUnit's XML, a page of all and one of each student."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from gpulearn_grading.grading import STUDENTS, Grading
from gpulearn_grading.plain import cell
from gpulearn_grading.summary import page, student_page

HEADINGS = ("student", "exercise", "passed", "kind", "seconds", "hint", "notes", "score", "of",
            "days_late", "points", "comment")  # fmt: skip
PAGES = ".pages"  # folder of the students' pages, beside the results
# who named the files → the columns that its import of grades reads, of a name, a number and points
LMS: dict[str, tuple[Sequence[str], Callable[[str, str, float], Sequence[Any]]]] = {
    "canvas": (("Student", "ID", "Section", "Points"),
               lambda name, number, points: (name, number, "", points)),
    "moodle": (("Identifier", "Grade", "Last modified (grade)"),
               lambda name, number, points: (f"Participant {number}", points, "")),
    "": (("student", "points"), lambda name, number, points: (name, points)),
}  # fmt: skip


def write(grading: Grading, output: Path) -> list[str]:
    """Write all files; what could not be written, and why, in a sentence each."""
    faults = []
    for page_of_before in output.with_suffix(PAGES).glob("*.html"):  # it may have a name
        page_of_before.unlink()
    for name, text in _texts(grading).items():
        file = output.with_suffix(Path(name).parts[0]).joinpath(*Path(name).parts[1:])
        try:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text(), encoding="utf-8", errors="backslashreplace", newline="")
        except Exception as error:  # one file must not cost the others
            faults.append(f"{file} could not be written ({type(error).__name__}: {error}).")
    return faults


def _texts(grading: Grading) -> dict[str, Callable[[], str]]:
    """What each file has in place of the ending .csv, and what makes its text."""
    texts: dict[str, Callable[[], str]] = {
        ".csv": lambda: _csv(HEADINGS, _rows(grading)),
        ".json": lambda: _json(grading),
        ".xml": lambda: _junit(grading),
        ".html": lambda: page(grading),
        STUDENTS: lambda: _students(grading),
        ".lms.csv": lambda: _lms(grading),
    }
    for student in grading.students:
        texts[f"{PAGES}/{student.student}.html"] = functools.partial(student_page, grading, student)
    return texts


def _csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([headings, *([cell(value) for value in row] for row in rows)])
    return text.getvalue()


def _rows(grading: Grading) -> Iterable[Sequence[object]]:
    """A line for each student and exercise; what is said of all answers stands in each."""
    for student in grading.students:
        for v in student.verdicts:
            comment = "; ".join(filter(None, (v.comment, student.comment)))
            yield (
                student.student, v.exercise, int(v.passed), v.kind, v.seconds, v.hint,
                "; ".join(v.notes), student.points, grading.most, v.days_late, v.points, comment,
            )  # fmt: skip


def _students(grading: Grading) -> str:
    """Who handed in what, and which name results without names use."""
    rows = (
        (one.number, one.name, "; ".join(file.name for file in one.files), one.anonymous)
        for one in grading.roster
    )
    return _csv(("id", "name", "file", "anonymous"), rows)


def _lms(grading: Grading) -> str:
    headings, row = LMS[max((one.lms for one in grading.roster), default="")]
    both = zip(grading.roster, grading.students, strict=True)
    return _csv(headings, (row(one.name, one.number, marks.points) for one, marks in both))


def _json(grading: Grading) -> str:
    """All of it, by student; without names where the results have numbers."""
    hidden = ("roster", "left_out") if grading.anonymous else ("roster",)
    data = {name: value for name, value in vars(grading).items() if name not in hidden}
    return json.dumps(data, indent=1, default=dataclasses.asdict) + "\n"


def _junit(grading: Grading) -> str:
    """A suite for each student and a case for each exercise, as CI servers read them."""
    root = ElementTree.Element("testsuites", name="gpulearn grade")
    for student in grading.students:
        wrong = [v for v in student.verdicts if not v.passed]
        errors = sum(v.kind == "not judged" for v in wrong)
        seconds = sum(v.seconds for v in student.verdicts)
        suite = ElementTree.SubElement(
            root, "testsuite", name=student.student, tests=str(len(student.verdicts)),
            failures=str(len(wrong) - errors), errors=str(errors), time=f"{seconds:.2f}",
        )  # fmt: skip
        for v in student.verdicts:
            case = ElementTree.SubElement(
                suite, "testcase", classname=student.student, name=v.exercise,
                time=f"{v.seconds:.2f}",
            )  # fmt: skip
            if not v.passed:
                word = "error" if v.kind == "not judged" else "failure"
                ElementTree.SubElement(case, word, type=v.kind, message=v.hint)
            if v.notes:
                ElementTree.SubElement(case, "system-out").text = "\n".join(v.notes)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode")
