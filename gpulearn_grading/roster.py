"""Who handed in what: Canvas and Moodle write name and number into the files that they hand out.

Canvas calls a file `annlee_12345_678910_hw.ipynb`, or `annlee_LATE_12345_678910_hw.ipynb`: the
student's number, then the upload's, which no other file has. Moodle calls it, or a folder,
`Ann Lee_123456_assignsubmission_file_hw.ipynb`. Any other name is the student's.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpulearn_grading.plain import cell
from gpulearn_grading.submissions import Submission

CANVAS = re.compile(r"([^_]+)_(?:LATE_)?(\d+)_(\d+)_.+")
ANONYMOUS = re.compile(r"student \d{3,9}")
MOODLE = re.compile(r"([^_]+)_(\d+)_assignsubmission_[a-z]+(?:_.*)?")


@dataclass(frozen=True)
class Student:
    """Who handed in what."""

    name: str  # the only one of that name
    files: tuple[Path, ...]  # all that were handed in
    number: str = ""  # in Canvas or Moodle
    lms: str = ""  # "canvas" or "moodle", which named the files
    anonymous: str = ""  # the name in results without names, such as "student 001"

    @property
    def names(self) -> list[str]:
        """What the settings may call the student."""
        return [name for name in (self.name, self.number, self.anonymous) if name]


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
    handed_in: dict[tuple[str, str], list[Path]] = {}
    for submission in submissions:
        match = read[submission.student]
        key = (match[1], match[2]) if match else (submission.student, "")
        handed_in.setdefault(key, []).extend(submission.files)
    names = Counter(name for name, _ in handed_in)
    students = []
    for (name, number), files in handed_in.items():
        full = name if names[name] == 1 else f"{name} {number}".strip()
        students.append(Student(full, tuple(files), number, lms if number else ""))
    return students


def attempts(student: Student, folder: Path, *, apart: bool) -> list[Submission]:
    """What is judged of a student: all of it, or each file or folder in its folder apart."""
    parts: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(student.files, key=lambda path: path.stat().st_mtime):
        parts.setdefault(file.relative_to(folder).parts[:2] if apart else (), []).append(file)
    return [Submission(student.name, tuple(files)) for files in (parts or {(): []}).values()]


def numbered(students: Sequence[Student], file: Path) -> list[Student]:
    """The students with their anonymous names: those of an older list, then new ones."""
    known: dict[str, str] = {}
    if file.is_file():
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if ANONYMOUS.fullmatch(row["anonymous"])]
            known = {row["name"]: row["anonymous"] for row in rows}
    last = max((int(name.split()[1]) for name in known.values()), default=0)
    names = [str(cell(student.name)) for student in students]  # as the list has them
    new = sorted({*names} - {*known}, key=lambda name: hashlib.sha256(name.encode()).digest())
    known |= {name: f"student {last + n:03}" for n, name in enumerate(new, 1)}
    return [replace(one, anonymous=known[name]) for one, name in zip(students, names, strict=True)]
