"""Executes a notebook as a learner finds it and as a learner leaves it, and says what fails.

Student form: as stored. Every check must report its exercise as unsolved, in one sentence;
nothing else may go wrong. Solution form: each stub is replaced by the source that
`gl.solution` shows. Nothing at all may go wrong, and every check must pass. Where no later cell
uses what a stub defines, one run shows both: each check is followed by the solution and the
same check again. Every prediction has been made: the right choice, or an impossible number.

A fault is one line. Cells are counted from 1, Markdown cells included.
"""

import ast
import copy
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from nbformat import NotebookNode

from gpulearn.judge.catalogue import catalogue
from gpulearn.judge.cells import PREDICTED, checked, has, in_solution_form, stub_name
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.overview import solution
from gpulearn.judge.prediction import Choices, Prediction, find, predictions
from tests.notebooks.kernel import Limits, Report, Run, run
from tests.notebooks.markup import pictures_without_words
from tests.support.stub_drift import altered, drift

Form = Literal["student", "solution", "both"]
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOLVED = "solved"  # the tag of a check that follows the solution
MOST_LINES = 5  # of what a finding says and its hint; a stack trace is longer
FORESEEN = "✓ You foresaw it: "
PICTURES = ("image/png", "image/jpeg", "image/svg+xml", "image/gif")


def solution_of(name: str) -> str:
    """What a learner who asks for the solution pastes over the stub."""
    return solution(name).source


def faults(
    notebook: NotebookNode,
    name: str,
    form: Form,
    folder: Path = NOTEBOOKS,
    limits: Limits | None = None,
    solve: Callable[[str], str] = solution_of,
    look: Callable[[NotebookNode], object] = lambda executed: None,
    execute: Callable[..., Run] = run,
) -> list[str]:
    """Execute a notebook in one of its forms.

    The notebook is left as it is; `folder` is the kernel's working directory, `solve` gives the
    source for an exercise's name, and `look` is shown the executed notebook. A line for each fault.
    """
    found = list(drifts(notebook))
    origin = list(range(len(notebook.cells)))
    if form == "solution":
        notebook = in_solution_form(notebook, catalogue(), solve)
    elif form == "both":
        notebook, origin = in_both_forms(notebook, solve)
    ran = execute(notebook, folder, limits or Limits(), json.dumps(predicted()))
    look(ran.notebook)
    found += ((origin[cell], text) for cell, text in unforeseen(ran.notebook))
    found += ((origin[cell], text) for cell, text in judged(ran, len(notebook.cells), form))
    return [f"{name} cell {cell + 1}: {one_line(text)}" for cell, text in sorted(found)]


@functools.cache
def predicted() -> dict[str, dict[str, object]]:
    """A file of progress in which each prediction has been made, and none was seen to come."""
    said = {one.name: {"said": right(one) or "-1"} for one in predictions().values()}
    return {"solved": {}, "predicted": said}


def right(prediction: Prediction) -> str:
    """The right choice; of a question for a number, or for what is measured, none."""
    if not isinstance(prediction, Choices):
        return ""
    return next(
        (c for c, why in prediction.choices.items() if not why), next(iter(prediction.choices))
    )


def unforeseen(executed: NotebookNode) -> Iterator[tuple[int, str]]:
    """The predictions that were not held against what came, or whose right choice was wrong."""
    waiting: list[tuple[int, Prediction]] = []
    for index, cell in enumerate(executed.cells):
        for name in PREDICTED.findall(cell.source if cell.cell_type == "code" else ""):
            waiting.append((index, find(name)))
        for output in cell.get("outputs", ()):
            text: str = output.get("data", {}).get("text/plain", "")
            if text.startswith((FORESEEN, "You predicted: ")) and waiting:
                asked, one = waiting.pop(0)
                sure = isinstance(one, Choices) and not one.measured
                if sure and not text.startswith(FORESEEN):
                    yield asked, f"{one.name} came otherwise: {text}"
    yield from ((index, f"{one.name} is never held against what came") for index, one in waiting)


def drifts(notebook: NotebookNode) -> Iterator[tuple[int, str]]:
    """The stubs that are none of the course's, or that their solution has moved away from."""
    for index, cell in enumerate(notebook.cells):
        if has(cell, "exercise"):
            name = stub_name(cell, catalogue())
            if name is None:
                yield index, "is tagged exercise, but holds no stub of a known exercise"
            elif fault := drifted(cell.source, catalogue()[name]):
                yield index, f"the stub does not fit its solution: {fault}"


def drifted(source: str, exercise: Exercise) -> str | None:
    """How what a learner starts from has moved away from the exercise, if it has."""
    given = exercise.answers.given
    return altered(source, given) if given else drift(source, exercise.reference)


def in_both_forms(
    notebook: NotebookNode, solve: Callable[[str], str] = solution_of
) -> tuple[NotebookNode, list[int]]:
    """A copy in which each check is followed by the solution and the check again.

    Also the number of the stored cell that each of its cells is or belongs to.
    """
    both = copy.deepcopy(notebook)
    stubs_seen: dict[str, NotebookNode] = {}
    cells, origin = [], []
    for index, cell in enumerate(both.cells):
        cells.append(cell)
        origin.append(index)
        if has(cell, "exercise") and (name := stub_name(cell, catalogue())):
            stubs_seen[name] = cell
        elif has(cell, "check") and (stub := stubs_seen.get(checked(cell) or "")) is not None:
            solved, again = copy.deepcopy(stub), copy.deepcopy(cell)
            solved.source = solve(checked(cell) or "")
            again.metadata["tags"] = [*again.metadata.get("tags", ()), SOLVED]
            cells += [solved, again]
            origin += [index, index]
    for number, cell in enumerate(cells):  # a notebook has each identity once
        cell["id"] = f"cell-{number}"
    both.cells = cells
    return both, origin


def needs_two_runs(notebook: NotebookNode) -> bool:
    """Whether a later cell uses what a stub defines, so that the forms differ there too."""
    for index, cell in enumerate(notebook.cells):
        if has(cell, "exercise") and (name := stub_name(cell, catalogue())):
            later = (c for c in notebook.cells[index + 1 :] if c.cell_type == "code")
            if any(uses(c, name) for c in later if not has(c, "check")):
                return True
    return False


def uses(cell: NotebookNode, name: str) -> bool:
    """Whether a code cell names something; one that cannot be read might."""
    if name not in cell.source:  # to read all cells for all names would take seconds
        return False
    try:
        nodes = ast.walk(ast.parse(cell.source))
    except SyntaxError:
        return True
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


def judged(ran: Run, count: int, form: Form) -> Iterator[tuple[int, str]]:
    """What is wrong with an executed notebook of `count` cells: numbers of cells, and why."""
    for index, cell in enumerate(ran.notebook.cells[:count]):
        reports = [report for report in ran.reports if report.cell == index]
        reached = index < ran.last_cell or (index == ran.last_cell and not ran.ended)
        if reached and has(cell, "check"):
            passed = any(shows_passed(output, checked(cell)) for output in cell.outputs)
            if cannot_judge(checked(cell)):
                told = [(r.error, r.lines <= MOST_LINES) for r in reports]
                if told != [("MissingPackage", True)]:
                    yield index, "does not say in one sentence what is missing to judge an answer"
                reports = []
            elif form == "student" or (form == "both" and not has(cell, SOLVED)):
                yield from ((index, text) for text in unsolved(reports, passed))
                reports = [r for r in reports if r.error != "NotSolvedYet"]
            elif not passed and not reports:
                yield index, f"does not show '✓ {checked(cell)}' for the solution"
        yield from ((index, described(report)) for report in reports)
    # what threads and subprocesses said after the last cell had ended
    yield from ((count - 1, described(r)) for r in ran.reports if r.cell >= count)
    yield from {(cell, text) for cell, data in ran.shown for text in wordless(data)}
    if ran.ended:
        yield min(max(ran.last_cell, 0), count - 1), ran.ended


def cannot_judge(name: str | None) -> bool:
    """Whether this computer lacks what an exercise needs to be judged."""
    return name in catalogue() and catalogue()[name].missing() is not None


def shows_passed(output: NotebookNode, name: str | None) -> bool:
    """Whether an output is what `gl.check` returns for a right answer."""
    text: str = output.get("data", {}).get("text/plain", "")
    return text.startswith(f"✓ {name} ")


def unsolved(reports: list[Report], passed: bool) -> Iterator[str]:
    """What is wrong with how the check of an untouched stub reports."""
    errors = [report for report in reports if report.kind == "error"]
    if passed:
        yield "the check passes before anything is solved"
    elif not errors:
        yield "the unsolved exercise reports nothing: NotSolvedYet is expected"
    elif len(errors) > 1:
        yield f"the unsolved exercise reports {len(errors)} errors: one is expected"
    elif errors[0].error != "NotSolvedYet":
        yield f"the unsolved exercise reports {errors[0].error}: NotSolvedYet is expected"
    elif errors[0].lines > MOST_LINES:
        yield (
            f"the unsolved exercise reports in {errors[0].lines} lines: a sentence is expected, "
            f"no stack trace"
        )


def described(report: Report) -> str:
    """A report as the text of a fault."""
    said = {"error": "raises ", "stderr": "writes to stderr: ", "network": "tried to "}
    return said[report.kind] + report.text


def wordless(data: dict[str, str]) -> Iterator[str]:
    """The pictures in what is shown that a reader who cannot see them learns nothing from."""
    # JupyterLab drops every alternative text of these; only an <img alt> in HTML survives.
    for kind in PICTURES:
        if kind in data:
            yield f"shows {kind} without alternative text: use gl.show(fig, alt=…)"
    for picture in pictures_without_words(data.get("text/html", "")):
        yield f"shows {picture} without alternative text"


def one_line(text: str) -> str:
    """A text as one line; of a traceback or a warning, the last line says most."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) <= 1:
        return "".join(lines)
    head = lines[0] if len(lines[0]) <= 120 else f"{lines[0][:119]}…"
    return f"{head} … {lines[-1]}"
