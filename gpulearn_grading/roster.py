"""Who handed in what: Canvas and Moodle write name and number into the files that they hand out.

Canvas calls a file `annlee_12345_678910_hw.ipynb`, or `annlee_LATE_12345_678910_hw.ipynb`: the
student's number, then the upload's, which no other file has. Moodle calls it, or a folder,
`Ann Lee_123456_assignsubmission_file_hw.ipynb`. Any other name is the student's.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpulearn_grading.plain import plain
from gpulearn_grading.submissions import Submission

CANVAS = re.compile(r"([^_]+)_(?:LATE_)?(\d+)_(\d+)_.+")
MOODLE = re.compile(r"([^_]+)_(\d+)_assignsubmission_[a-z]+(?:_.*)?")


@dataclass(frozen=True)
class Student:
    """A student, with all that was handed in."""

    name: str  # the only one of that name
    submissions: tuple[Submission, ...]
    number: str = ""  # in Canvas or Moodle
    lms: str = ""  # "canvas" or "moodle", which named the files
    anonymous: str = ""  # number in the results, in place of the name

    @property
    def names(self) -> list[str]:
        """What the student may be called; the results use the first."""
        return [name for name in (self.anonymous, self.name, self.number) if name]

    @property
    def files(self) -> list[Path]:
        """All files that were handed in."""
        return [file for submission in self.submissions for file in submission.files]


def enrolled(submissions: Sequence[Submission]) -> list[Student]:
    """The students behind submissions, in their order; one may have several."""
    read = {submission.student: MOODLE.fullmatch(submission.student) for submission in submissions}
    lms = "moodle" if any(read.values()) else "canvas"
    if lms == "canvas":
        read = {name: CANVAS.fullmatch(name) for name in read}
        found = [match for match in read.values() if match]
        uploads, numbers = {match[3] for match in found}, {match[2] for match in found}
        pairs = {(match[1], match[2]) for match in found}
        if len(uploads) < len(found) or len(numbers) < len(pairs):  # as in hw_2026_11_ann.py
            read = dict.fromkeys(read)
    students: dict[tuple[str, str], list[Submission]] = {}
    for submission in submissions:
        match = read[submission.student]
        key = (match[1], match[2]) if match else (submission.student, "")
        students.setdefault(key, []).append(submission)
    names = Counter(name for name, _ in students)
    return [
        Student(name if names[name] == 1 else f"{name} {number}".strip(), tuple(theirs), number,
                lms * bool(number))
        for (name, number), theirs in students.items()
    ]  # fmt: skip


def attempts(student: Student, folder: Path, *, apart: bool) -> list[Submission]:
    """What is judged of a student: all of it, or each file or folder in his folder for itself."""
    parts: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(student.files, key=lambda path: path.stat().st_mtime):
        parts.setdefault(file.relative_to(folder).parts[:2] if apart else (), []).append(file)
    return [Submission(student.name, tuple(files)) for files in (parts or {(): []}).values()]


def numbered(students: Sequence[Student], file: Path) -> list[Student]:
    """The students with numbers in place of their names: those of an older list, then new ones."""
    known: dict[str, str] = {}
    if file.is_file():
        with file.open(encoding="utf-8", newline="") as lines:
            known = {
                str(row.get("name")): row.get("anonymous") or "" for row in csv.DictReader(lines)
            }
    last = max((int(number) for number in known.values() if number.isdigit()), default=0)
    new = {s.name for s in students if not known.get(plain(s.name))}
    order = sorted(new, key=lambda name: hashlib.sha256(os.fsencode(name)).digest())
    numbers = known | {name: f"{last + n:03}" for n, name in enumerate(order, 1)}
    names = ((s, s.name if s.name in new else plain(s.name)) for s in students)
    return sorted(
        (replace(s, anonymous=numbers[name]) for s, name in names), key=lambda s: s.anonymous
    )
