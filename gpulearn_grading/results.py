"""Results of a grading as files: CSV, JSON, a page of all and one of each student.

The pages load nothing from anywhere.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

import gpulearn
from gpulearn.judge.catalogue import places
from gpulearn_grading.grading import STUDENTS, GradedStudent, Grading, Mark
from gpulearn_grading.plain import cell

PAGES = ".pages"  # folder of the students' pages, beside the results
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { border: 1px solid #bbb; padding: .25rem .6rem; text-align: left; vertical-align: top; }
thead th { background: #eee; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.passed { background: #e3f1e3; }
td.odd { background: #fbe3d6; font-weight: 600; }
"""
Row = Sequence[object]
COMMON = 5  # hints of an exercise
ABSENT = ("missing", "not solved", "not judged")  # no answer, so no wrong one
# what a learner's honest answer can come to; the others are for the instructor to look at
HONEST = ("passed", "wrong", "raises", "not solved", "missing", "unreadable")


def write(grading: Grading, output: Path) -> list[str]:
    """Write all files; what could not be written, and why, in a sentence each."""
    pages = output.with_suffix(PAGES)
    texts: dict[Path, Callable[[], str]] = {
        output: lambda: _csv(_rows(grading)),
        output.with_suffix(".json"): lambda: _json(grading),
        output.with_suffix(".html"): lambda: page(grading),
        output.with_suffix(STUDENTS): lambda: _csv(_students(grading)),
        output.with_suffix(".lms.csv"): lambda: _csv(_lms(grading)),
    }
    for student in grading.students:
        own_page = functools.partial(student_page, grading, student)
        texts[pages / f"{student.student}.html"] = own_page
    for page_of_before in pages.glob("*.html"):  # it may have a name
        page_of_before.unlink()
    faults = []
    for file, text in texts.items():
        try:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text(), encoding="utf-8", errors="backslashreplace", newline="")
        except Exception as error:  # one file must not cost the others
            faults.append(f"{file} could not be written ({type(error).__name__}: {error}).")
    return faults


def _csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows of the same columns, of which there is at least one."""
    text = io.StringIO(newline="")
    first, *others = ({column: cell(value) for column, value in row.items()} for row in rows)
    writer = csv.DictWriter(text, first.keys())
    writer.writeheader()
    writer.writerows([first, *others])
    return text.getvalue()


def _rows(grading: Grading) -> Iterable[Mapping[str, object]]:
    """A line for each student and exercise; what is said of all answers stands in each."""
    for student in grading.students:
        for v in student.verdicts:
            yield {
                "student": student.student,
                "exercise": v.exercise,
                "passed": int(v.passed),
                "kind": v.kind,
                "seconds": v.seconds,
                "hint": v.hint,
                "notes": "; ".join(v.notes),
                "score": student.points,
                "of": grading.most,
                "days_late": v.days_late,
                "points": v.points,
                "comment": "; ".join(filter(None, (v.comment, student.comment))),
            }


def _students(grading: Grading) -> Iterable[Mapping[str, object]]:
    """Who handed in what, and which name results without names use."""
    for student in grading.roster:
        files = "; ".join(file.name for file in student.files)
        names = {"name": student.name, "file": files, "anonymous": student.anonymous}
        yield {"id": student.number, **names}


def _lms(grading: Grading) -> Iterable[Mapping[str, object]]:
    """The columns that the import of grades reads, of Canvas or Moodle if one named the files."""
    lms = max(student.lms for student in grading.roster)
    for student, graded in zip(grading.roster, grading.students, strict=True):
        name, number, points = student.name, student.number, graded.points
        if lms == "canvas":
            yield {"Student": name, "ID": number, "Section": "", "Points": points}
        elif lms == "moodle":
            identifier = f"Participant {number}"
            yield {"Identifier": identifier, "Grade": points, "Last modified (grade)": ""}
        else:
            yield {"student": name, "points": points}


def _json(grading: Grading) -> str:
    """All of it, by student; without names where the results have numbers."""
    hidden = ("roster", "left_out") if grading.anonymous else ("roster",)
    data = {name: value for name, value in vars(grading).items() if name not in hidden}
    return json.dumps(data, indent=1, default=dataclasses.asdict) + "\n"


def page(grading: Grading) -> str:
    """Scores, the commonest wrong answers by hint, and what to look at."""
    names, students = grading.exercises, grading.students
    passed = [sum(s.verdicts[n].passed for s in students) for n in range(len(names))]
    middle = statistics.median(student.points for student in students)
    walls = (
        f"The answers ran without walls round them: {grading.lacks}. They were held by limits of "
        f"time, memory and output alone, and could reach files and the network."
    ) * bool(grading.lacks)
    scores = _table(
        ("student", *names, "score"),
        [(s.student, *s.verdicts, _points(s, grading.most)) for s in students],
        "What became of each answer, and the score of each student.",
        ("all", *(f"{count} passed" for count in passed), ""),
    )
    looked_at = [
        (student.student, verdict.exercise, verdict.kind, "; ".join(verdict.notes) or verdict.hint)
        for student in students
        for verdict in student.verdicts
        if verdict.notes or verdict.kind not in HONEST
    ]
    return _page(
        f"Results of {len(students)} submissions",
        _text(f"Median score {middle:g} of {grading.most:g}. {grading.reported} {walls}"),
        scores,
        "<h2>The commonest wrong answers</h2>",
        *(_hints(grading, name) for name in names),
        "<h2>To look at</h2>",
        _text(
            "These answers did something that honest ones rarely do. What that means for a "
            "student's score is yours to decide."
            if looked_at
            else "Nothing: no answer did more than answer."
        ),
        _table(("student", "exercise", "kind", "what it did"), looked_at) if looked_at else "",
    )


def student_page(grading: Grading, student: GradedStudent) -> str:
    """What a student has to know: what passed, what was told of the rest, and where to read."""
    rows = [
        (v.exercise, v, v.points, *(("", "") if v.passed else (v.hint, where_to_read(v.exercise))),
         v.comment)
        for v in student.verdicts
    ]  # fmt: skip
    headings = ("exercise", "", "points", "what it does instead", "where to read", "comment")
    return _page(
        f"Results of {student.student}",
        _text(_points(student, grading.most)),
        _text(student.comment) if student.comment else "",
        _table(headings, rows),
    )


@functools.cache
def where_to_read(exercise: str) -> str:
    """Notebook and section that lead to an exercise of the course; "" for another."""
    topic = places().get(exercise)
    if topic is None:
        return ""
    file = Path("notebooks", f"{topic.NOTEBOOK}.ipynb")  # where the package or we are
    file = next(filter(Path.is_file, (Path(gpulearn.__file__).parents[1] / file, file)), Path())
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"] if file.name else []
    text = "\n".join("".join(each["source"]) for each in cells)
    before, found, _ = text.partition(f"# Exercise: {exercise}\n")
    sections = re.findall("^## (.+)", before, re.MULTILINE)
    section = f", section {sections[-1]}" if found and sections else ""
    return f"notebook {topic.NOTEBOOK}{section}"


def _page(title: str, *parts: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        + "\n".join([f"<h1>{escape(title)}</h1>", *parts])
        + "</body></html>\n"
    )


def _points(student: GradedStudent, most: float) -> str:
    late = f" ({student.days_late} days late)" if student.days_late else ""
    return f"{student.points:g} of {most:g}{late}"


def _text(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(
    headings: Sequence[str], rows: Iterable[Row], caption: str = "", foot: Row | None = None
) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    below = f"<tfoot>{_row(foot)}</tfoot>" if foot else ""
    body = "".join(map(_row, rows))
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{below}</table>"


def _row(values: Row) -> str:
    first, *others = values
    return f'<tr><th scope="row">{escape(str(first))}</th>{"".join(map(_cell, others))}</tr>'


def _cell(value: object) -> str:
    """A verdict by its kind, with its hint where one points at it; numbers to the right."""
    if isinstance(value, Mark):
        look = "passed" if value.passed else "" if value.kind in HONEST else "odd"
        text = f"{'✓ ' * value.passed}{escape(value.kind)}"
        return f'<td class="{look}" title="{escape(value.hint)}">{text}</td>'
    if isinstance(value, float):
        return f'<td class="n">{value:g}</td>'
    return f"<td>{escape(str(value))}</td>"


def _hints(grading: Grading, name: str) -> str:
    """What an exercise's wrong answers were told, the commonest first."""
    who: dict[str, list[str]] = defaultdict(list)
    for student in grading.students:
        for verdict in student.verdicts:
            if verdict.exercise == name and not verdict.passed and verdict.kind not in ABSENT:
                who[verdict.hint].append(student.student)
    title = f"<h3>{escape(name)}</h3>"
    if not who:
        return title + _text("Nobody has it wrong.")
    ranked = sorted(who, key=lambda hint: -len(who[hint]))
    rows = [(len(who[hint]), hint, ", ".join(who[hint])) for hint in ranked[:COMMON]]
    rest = len(who) - COMMON
    more = _text(f"{rest} more hints were given.") if rest > 0 else ""
    return title + _table(("answers", "they were told", "students"), rows) + more
