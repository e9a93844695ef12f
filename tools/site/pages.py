"""An executed notebook as a page: what a reader without a kernel should see of it.

Widgets become the static figures that they carry, predictions keep their question and get the
reasons against each choice, and an exercise that nobody has solved says so in one line.
"""

from __future__ import annotations

import ast
import base64
import copy
import hashlib
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from gpulearn.judge.catalogue import find as exercise_of
from gpulearn.judge.cells import PREDICTED, checked, has
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.prediction import Choices
from gpulearn.judge.prediction import find as prediction_of
from simt.device.selection import ENVIRONMENT_VARIABLE, decide
from tests.notebooks.harness import SOLVED
from tests.notebooks.kernel import CLOSING_CELL
from tools.links import BADGE, badge
from tools.site.browser_tab import in_the_edition, link

__all__ = ["folded", "page", "unsolved"]

EMBEDDED = re.compile(r'src="data:image/(png|jpeg|gif|svg\+xml);base64,([^"]+)"')
MIME_TYPES = ("text/html", "text/latex", "text/plain", "text/markdown")
OUTCOME = re.compile(r"<strong>(?:✓ You foresaw it|What came)</strong><br>(.*?)</div>", re.DOTALL)
WIDE = ("<table", "<pre", "white-space:pre")
OWN_PROGRESS = (
    "<p><em>Where the notebook runs, a table here shows which exercises you have solved and which "
    "outcomes you foresaw.</em></p>"
)
WIDGET_NOTE = (
    '<p class="still">Where the notebook runs, controls stand above this picture and change it.</p>'
)
WIDGET = "application/vnd.jupyter.widget-view+json"
CPU_REASON = decide({ENVIRONMENT_VARIABLE: "cpu"}).reason  # by who built the page, not its reader
BAR = re.compile(r"\[\d\d:\d\d[,<].*/s\]$")  # "1,024 ranks: 0 messages [00:00, ? messages/s]"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def page(executed: NotebookNode, name: str, address: str, pictures: Path) -> NotebookNode:
    """A copy of an executed notebook that reads without a kernel.

    Args:
        executed: as learners find it, or solved beside it (`in_both_forms`), with its outputs.
        name: its file's name without `.ipynb`.
        address: of the repository, for the links to Colab and to the file.
        pictures: the folder for the pictures that its outputs carry.
    """
    result = copy.deepcopy(executed)
    result.cells = [
        cell
        for cell in unsolved(result.cells)
        if not has(cell, "setup") and cell.source != CLOSING_CELL
    ]
    result.metadata.pop("widgets", None)
    stubs = set[str]()
    for cell in result.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace(badge(address, name), ways(address, name))
            if stray := BADGE.search(cell.source):
                raise SystemExit(f"{name} has a badge of another notebook: {stray.group()}")
        elif cell.cell_type == "code":
            cell.outputs = [shown(o, pictures) for o in cell.outputs if not is_passing(o)]
            if cell.source.rstrip().endswith("gl.progress()"):  # of whoever ran it
                cell.outputs = [new_html(OWN_PROGRESS)]
            if questions := PREDICTED.findall(cell.source):  # the question stands in the output
                cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "remove-input"]
                cell.outputs += [new_html(reasons(question)) for question in questions]
            if has(cell, "check") and (exercise := checked(cell)):
                cell.outputs = [new_html(task(exercise_of(exercise)))]
                stubs.add(exercise)
            elif cell.outputs and (left := sorted(stubs & names_in(cell.source))):
                cell.outputs += [new_html(of_a_stub(left))]
    return result


def names_in(source: str) -> set[str]:
    """The names that a cell uses."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a line for the shell
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def of_a_stub(names: Sequence[str]) -> str:
    """What must be known of an output that exercises went into which nobody has solved."""
    code = " and ".join(f"<code>{name}</code>" for name in names)
    return (
        f'<p class="still">Nobody has solved {code} for this page: what stands here comes of the '
        "cell as it is given.</p>"
    )


def unsolved(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells of a notebook without the solutions, and their checks, that a run put in."""
    solved = {number for number, cell in enumerate(cells) if has(cell, SOLVED)}
    return [
        cell
        for number, cell in enumerate(cells)
        if number not in solved and number + 1 not in solved
    ]


def ways(address: str, name: str) -> str:
    """How to run a notebook: links in place of the badge, which would be fetched from elsewhere."""
    path = address.removeprefix("https://github.com/")
    file = f"blob/main/notebooks/{name}.ipynb"
    colab = f"https://colab.research.google.com/github/{path}/{file}"
    raw = f"https://raw.githubusercontent.com/{path}/main/notebooks/{name}.ipynb"
    links = f"[Open in Colab]({colab}) · [See it on GitHub]({address}/{file}) · [Download]({raw})"
    if in_the_edition(name):
        links += " · " + link(name, "Open in a browser tab, experimental", up="../")
    return links


def shown(output: NotebookNode, pictures: Path) -> NotebookNode:
    """An output as a page can show it."""
    if output.output_type == "error":
        traceback = ANSI.sub("", "\n".join(output.traceback)).strip()
        return new_html(f'<pre class="stopped">{escape(traceback)}</pre>')
    if "data" not in output:
        if "text" in output:
            output.text = output.text.replace(CPU_REASON, "no GPU was used")
        return output
    data = {kind: text for kind, text in output.data.items() if kind in MIME_TYPES}
    if match := OUTCOME.search(data.get("text/html", "")):
        return new_html(f'<p class="came"><strong>What came:</strong> {match[1]}</p>')
    if "text/html" in data:
        if WIDGET in output.data and 'role="status"' in data["text/html"]:
            data["text/html"] = WIDGET_NOTE + data["text/html"]
        data["text/html"] = scrolled(
            EMBEDDED.sub(lambda m: f'src="{filed(m[1], m[2], pictures)}"', data["text/html"])
        )
    result: NotebookNode = new_output("display_data", data=data)
    return result


def is_passing(output: NotebookNode) -> bool:
    """Whether an output is a progress bar, which a notebook takes away at its end, or a script."""
    data = output.get("data", {})
    return "application/javascript" in data or bool(BAR.search(data.get("text/plain", "")))


def scrolled(markup: str) -> str:
    """Markup that may be wider than a phone, so that it can be scrolled."""
    if not any(wide in markup for wide in WIDE):
        return markup
    return f'<div class="wide">{markup}</div>'


def filed(kind: str, encoded: str, pictures: Path) -> str:
    """Where a page finds a picture that its output carried, now a file of its own."""
    content = base64.b64decode(encoded)
    name = f"{hashlib.sha256(content).hexdigest()[:16]}.{kind.partition('+')[0]}"
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / name).write_bytes(content)
    return f"../_static/{pictures.name}/{name}"


def new_html(markup: str) -> NotebookNode:
    """An output of HTML."""
    output: NotebookNode = new_output("display_data", data={"text/html": markup, "text/plain": ""})
    return output


def reasons(name: str) -> str:
    """What would have to be true for each choice of a prediction that does not come."""
    prediction = prediction_of(name)
    if not isinstance(prediction, Choices):
        return ""
    rows = [f"<li>{escape(c)}: {escape(why)}</li>" for c, why in prediction.misconceptions.items()]
    # of what is measured, nobody knows beforehand which choice is right
    measured = len(rows) == len(prediction.choices)
    title = "What each choice would take" if measured else "If you chose otherwise"
    return folded(title, f"<ul>{''.join(rows)}</ul>")


def task(exercise: Exercise) -> str:
    """An exercise below its cell: how it is judged, and what it would say to wrong answers."""
    rows = "".join(f"<li>{escape(hint)}</li>" for hint in exercise.answers.hints)
    tab = ", Colab or a browser tab" if in_the_edition(exercise.notebook) else " or Colab"
    return (
        f'<p class="exercise">Run this cell in JupyterLab{tab}, and your answer is judged. '
        f'The check of <a href="../exercises.html#{exercise.name}">{exercise.name}</a> tells '
        f"{len(exercise.answers.wrongs)} wrong answers apart.</p>"
        + folded(f"Hints for {exercise.name}", f"<ol>{rows}</ol>")
    )


def folded(title: str, markup: str) -> str:
    """Markup that a reader opens."""
    return f"<details><summary>{escape(title)}</summary>{markup}</details>"
