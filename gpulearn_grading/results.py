"""Results of a grading as files: CSV, JSON and JUnit's XML."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from gpulearn_grading.grading import Grading

HEADINGS = ("student", "exercise", "passed", "kind", "seconds", "hint", "notes", "score", "of",
            "days_late")  # fmt: skip
# a cell that begins so is a formula to a spreadsheet, which a student must not write into it
FORMULA = ("=", "+", "-", "@", "\t", "\r")
UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # for XML 1.0


def write_csv(grading: Grading, file: Path) -> None:
    """One line for each student and exercise; the score stands in each line of a student."""
    with file.open("w", newline="", encoding="utf-8") as out:
        lines = csv.writer(out)
        lines.writerow(HEADINGS)
        for student in grading.students:
            for v in student.verdicts:
                cells = [
                    student.student, v.exercise, int(v.passed), v.kind, v.seconds, v.hint,
                    "; ".join(v.notes), student.points, grading.most, student.days_late,
                ]  # fmt: skip
                lines.writerow(map(_cell, cells))


def _cell(value: Any) -> Any:
    text = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if text else value


def write_json(grading: Grading, file: Path) -> None:
    """All of it, by student."""
    file.write_text(json.dumps(dataclasses.asdict(grading), indent=1) + "\n", encoding="utf-8")


def write_junit(grading: Grading, file: Path) -> None:
    """A suite for each student and a case for each exercise, as CI servers read them."""
    root = ElementTree.Element("testsuites", name="gpulearn grade")
    for student in grading.students:
        wrong = [v for v in student.verdicts if not v.passed]
        errors = sum(v.kind == "not judged" for v in wrong)
        name, seconds = _fit(student.student), sum(v.seconds for v in student.verdicts)
        suite = ElementTree.SubElement(
            root, "testsuite", name=name, tests=str(len(student.verdicts)),
            failures=str(len(wrong) - errors), errors=str(errors), time=f"{seconds:.2f}",
        )  # fmt: skip
        for v in student.verdicts:
            case = ElementTree.SubElement(
                suite, "testcase", classname=name, name=v.exercise, time=f"{v.seconds:.2f}"
            )
            if not v.passed:
                word = "error" if v.kind == "not judged" else "failure"
                ElementTree.SubElement(case, word, type=v.kind, message=_fit(v.hint))
            if v.notes:
                ElementTree.SubElement(case, "system-out").text = _fit("\n".join(v.notes))
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _fit(text: str) -> str:
    return UNFIT.sub("�", text)
