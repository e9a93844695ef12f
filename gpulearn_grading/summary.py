"""Results as pages of HTML, of a class and of each student; they load nothing from anywhere."""

from __future__ import annotations

import functools
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from html import escape
from itertools import chain
from pathlib import Path

import gpulearn
from gpulearn.judge.catalogue import places
from gpulearn_grading.grading import GradedStudent, Grading

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
.wide { overflow-x: auto; }
"""
COMMON = 5  # hints of an exercise
ABSENT = ("missing", "not solved", "not judged")  # no answer, so no wrong one
# what a learner's honest answer can come to; the others are for the instructor to look at
HONEST = ("passed", "wrong", "raises", "not solved", "missing", "unreadable")


def page(grading: Grading) -> str:
    """Scores, the commonest wrong answers by hint, and what to look at."""
    return _page(
        f"Results of {len(grading.students)} submissions",
        f"<p>{escape(_in_short(grading))}</p>",
        _scores(grading),
        "<h2>The commonest wrong answers</h2>",
        *[_hints(grading, name) for name in grading.exercises],
        _to_look_at(grading),
    )


def student_page(grading: Grading, student: GradedStudent) -> str:
    """What a student has to know: what passed, what was told of the rest, and where to read."""
    rows = (
        f'<th scope="row">{escape(v.exercise)}</th>'
        f'<td class="{"passed" * v.passed}">{"✓ " * v.passed}{escape(v.kind)}</td>'
        f'<td class="n">{v.points:g}</td>'
        f"<td>{'' if v.passed else escape(v.hint)}</td>"
        f"<td>{'' if v.passed else escape(where_to_read(v.exercise))}</td>"
        f"<td>{escape(v.comment)}</td>"
        for v in student.verdicts
    )
    headings = ("exercise", "", "points", "what it does instead", "where to read", "comment")
    return _page(
        f"Results of {student.student}",
        f"<p>{_points(student, grading.most)}</p>",
        f"<p>{escape(student.comment)}</p>" * bool(student.comment),
        f'<div class="wide">{_table(headings, rows)}</div>',
    )


@functools.cache
def where_to_read(exercise: str) -> str:
    """Notebook and section that lead to an exercise of the course; "" for another."""
    topic = places().get(exercise)
    if topic is None:
        return ""
    file = Path(gpulearn.__file__).parents[1] / "notebooks" / f"{topic.NOTEBOOK}.ipynb"
    section = ""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else []
    for line in chain.from_iterable("".join(cell["source"]).splitlines() for cell in cells):
        if line.startswith("## "):
            section = f", section {line[3:]}"
        if line.endswith(f"# Exercise: {exercise}"):
            return f"notebook {topic.NOTEBOOK}{section}"
    return f"notebook {topic.NOTEBOOK}"


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


def _in_short(grading: Grading) -> str:
    middle = statistics.median(student.points for student in grading.students)
    text = f"Median score {middle:g} of {grading.most:g}."
    reported = {v.exercise for s in grading.students for v in s.verdicts if v.reported}
    if reported:
        names = ", ".join(sorted(reported))
        text += f" Tried in the answers' own processes, which tell what came out: {names}."
    if grading.lacks:
        text += (
            f" The answers ran without walls round them: {grading.lacks}. They were held by limits "
            "of time, memory and output alone, and could reach files and the network."
        )
    return text


def _table(headings: Iterable[str], rows: Iterable[str], above: str = "", below: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{below}</table>"


def _scores(grading: Grading) -> str:
    names = grading.exercises
    counts = [sum(s.verdicts[n].passed for s in grading.students) for n in range(len(names))]
    passed = "".join(f'<td class="n">{count} passed</td>' for count in counts)
    rows = (_score(student, grading.most) for student in grading.students)
    caption = "<caption>What became of each answer, and the score of each student.</caption>"
    last = f'<tfoot><tr><th scope="row">all</th>{passed}<td></td></tr></tfoot>'
    table = _table(("student", *names, "score"), rows, caption, last)
    return f'<div class="wide">{table}</div>'


def _score(student: GradedStudent, most: float) -> str:
    cells = "".join(
        f'<td class="{"passed" if v.passed else "" if v.kind in HONEST else "odd"}" '
        f'title="{escape(v.hint)}">{"✓ " if v.passed else ""}{escape(v.kind)}</td>'
        for v in student.verdicts
    )
    score = f'<td class="n">{_points(student, most)}</td>'
    return f'<th scope="row">{escape(student.student)}</th>{cells}{score}'


def _hints(grading: Grading, name: str) -> str:
    """What an exercise's wrong answers were told, the commonest first."""
    who: dict[str, list[str]] = defaultdict(list)
    for student in grading.students:
        for verdict in student.verdicts:
            if verdict.exercise == name and not verdict.passed and verdict.kind not in ABSENT:
                who[verdict.hint].append(student.student)
    if not who:
        return f"<h3>{escape(name)}</h3><p>Nobody has it wrong.</p>"
    ranked = sorted(who, key=lambda hint: -len(who[hint]))
    rows = (
        f'<td class="n">{len(who[hint])}</td><td>{escape(hint)}</td>'
        f"<td>{escape(', '.join(who[hint]))}</td>"
        for hint in ranked[:COMMON]
    )
    rest = len(who) - COMMON
    more = f"<p>{rest} more hints were given.</p>" if rest > 0 else ""
    table = _table(("answers", "they were told", "students"), rows)
    return f"<h3>{escape(name)}</h3>{table}{more}"


def _to_look_at(grading: Grading) -> str:
    """What no honest answer comes to, and what was noted of any."""
    rows = [
        (student.student, verdict.exercise, verdict.kind, "; ".join(verdict.notes) or verdict.hint)
        for student in grading.students
        for verdict in student.verdicts
        if verdict.notes or verdict.kind not in HONEST
    ]
    if not rows:
        return "<h2>To look at</h2><p>Nothing: no answer did more than answer.</p>"
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return (
        "<h2>To look at</h2><p>These answers did something that honest ones rarely do. What that "
        "means for a student's score is yours to decide.</p>"
        + _table(("student", "exercise", "kind", "what it did"), cells)
    )
