"""The instructor's guide: of each notebook its minutes and goals, misconceptions, solutions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpulearn.judge.catalogue import places
from gpulearn.judge.cells import PREDICTED
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.prediction import Choices, Prediction
from gpulearn.judge.prediction import find as prediction_of
from gpulearn.judge.stubs import cell_source
from gpulearn_grading.course.forms import counted
from gpulearn_grading.course.selection import Assignment

MAX_HINTS = 5  # of an exercise; some have more than a hundred
OPENING = "## What you will do"
MINUTES = re.compile(r"- \*\*Time:\*\* about (\d+) minutes")
ABOUT = f"""\
# Instructor's guide

For each notebook: what students are told they will do, how long it takes, which predictions they \
make and what a wrong one means, the exercises with their hints and solutions. Minutes are for a \
student who meets the subject for the first time, with all exercises of the notebook.

An exercise knows wrong answers, each with the hint that it gets. Up to {MAX_HINTS} \
hints of each stand here, first those that most of its known wrong answers get. Which mistakes \
*your* students make is counted on the page that `python -m gpulearn grade` writes.
"""


def guide(assignments: Sequence[Assignment]) -> str:
    """The guide to a pack, as Markdown."""
    text = [ABOUT, "| notebook | minutes | exercises that count | points |", "|---|---|---|---|"]
    for a in assignments:
        minutes = MINUTES.search(_opening(a)) or ("", "–")
        exercises = ", ".join(a.exercises) or "none"
        text.append(f"| {a.title} | {minutes[1]} | {exercises} | {a.most:g} |")
    for assignment in assignments:
        text += ["", f"## {assignment.title}", ""]
        if opening := _opening(assignment).splitlines():
            text += [*(f"> {line}".rstrip() for line in opening), ""]
        if predictions := list(_predictions(assignment)):
            text += ["### Predictions", "", *predictions]
        text += ["### Exercises", ""]
        for name, exercise in {**assignment.exercises, **assignment.optional}.items():
            text += _exercise(exercise, assignment.points.get(name))
    return "\n".join(text).rstrip() + "\n"


def _opening(assignment: Assignment) -> str:
    """What a notebook tells its learners at the beginning; "" where it tells nothing."""
    sources = (str(cell["source"]) for cell in assignment.notebook["cells"])
    opening = next((source for source in sources if source.startswith(OPENING)), "")
    return opening.removeprefix(OPENING).strip()


def _predictions(assignment: Assignment) -> Iterator[str]:
    """The questions of a notebook in their order, with what wrong answers to them would need."""
    for cell in assignment.notebook["cells"]:
        if cell["cell_type"] == "code" and PREDICTED.match(cell["source"]):
            nodes = ast.walk(ast.parse(cell["source"]))
            call = next(node for node in nodes if isinstance(node, ast.Call))
            name, question = (
                ast.literal_eval(arg) if isinstance(arg, ast.Constant) else ast.unparse(arg)
                for arg in call.args
            )
            prediction = prediction_of(name)
            yield from (f"**{question}** {_right(prediction)}", "")
            yield from (f"- *{wrong}*: {why}" for wrong, why in prediction.misconceptions.items())
            yield ""


def _right(prediction: Prediction) -> str:
    if not isinstance(prediction, Choices):
        return "(A number; the next cell computes it.)"
    right = [answer for answer, why in prediction.choices.items() if not why]
    return f"Right: *{right[0]}*." if right else "(What is right is measured by the next cell.)"


def _exercise(exercise: Exercise, points: float | None) -> Iterator[str]:
    counts = "optional" if points is None else counted(points, "point")
    hints = exercise.answers.hints
    ranked = sorted(hints, key=lambda hint: -hints[hint])[:MAX_HINTS]
    above = f"All hints that its {len(exercise.answers.wrongs)} known wrong answers get:"
    if len(ranked) < len(hints):
        folder = Path(exercise.file).parent
        if not exercise.file:
            folder = Path(*places()[exercise.name].__name__.split("."))
        where = folder / f"{exercise.name}.hints"
        above = f"{len(ranked)} of {len(hints)} hints; all stand in `{where.as_posix()}`:"
    yield from (f"#### {exercise.name} ({counts})", "", literal(exercise.task), "")
    if ranked:
        yield from (above, "", *(f"- {literal(hint)}" for hint in ranked), "")
    yield from ("Solution:", "", "```python", cell_source(exercise.reference), "```", "")


def literal(sentence: str) -> str:
    """A sentence of the package as Markdown that says the same."""
    return re.sub(r"([\\*_<\[\]$|])", r"\\\1", sentence)
