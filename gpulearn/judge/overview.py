"""The learner's view: which exercises there are, which are solved, and how one is done."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from html import escape
from pathlib import Path

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.judge import progress as _progress
from gpulearn.judge.catalogue import catalogue, find, places
from gpulearn.judge.prediction import predictions
from gpulearn.judge.stubs import cell_source
from gpulearn.tables import Table, table

PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>GPU programming: a portfolio</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #1a1a1a; background: #fff; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-bottom: 1px solid #bbb; padding: .25rem .6rem; vertical-align: top; }}
</style></head><body>
<h1>GPU programming: a portfolio</h1>
<p>{caption} As of {today}, by the record that the notebooks keep on the learner's own computer,
which the learner can change.</p>
{sections}</body></html>
"""


def exercises() -> Table:
    """All exercises of the course: name, notebook, task."""
    return table(
        [{"exercise": e.name, "notebook": e.notebook, "task": e.task} for e in catalogue().values()]
    )


def progress(of: str = "", export: str | Path | None = None) -> Table:
    """What you have solved and foreseen so far, and what is still open.

    Tries are those until an exercise was solved, hints the different ones that they met.

    Args:
        of: nothing for this notebook, "all" for a row of each notebook.
        export: where to write a page with all of it, such as "portfolio.html". The page loads
            nothing, and nothing is sent anywhere.
    """
    require.choice("progress", of or "all", ["all"])
    state = _progress.load()
    notebooks: dict[str, list[str]] = {}
    for name, topic in places().items():
        notebooks.setdefault(topic.NOTEBOOK, []).append(name)
    own = _progress.here() if of != "all" and export is None else ""
    names, asked = notebooks.get(own) or list(places()), _asked(own)
    if own in notebooks:
        rows = _own_rows(names, asked, state)
    else:
        rows = [_row(notebook, notebooks[notebook], state) for notebook in notebooks]
    done = sum(name in state.solved for name in names)
    caption = f"{done} of {len(names)} exercises solved."
    outcomes = [state.predicted[name].foresaw for name in asked if name in state.predicted]
    if foreseen := [each for each in outcomes if each is not None]:
        caption += f" You foresaw {sum(foreseen)} of {len(foreseen)} outcomes that you predicted."
    if own in notebooks:
        caption += ' gl.progress("all") shows every notebook.'
    if state.fault:
        caption = f"Progress is not known: {state.fault}. Checks work all the same."
    if export is not None:
        _write_portfolio(Path(export).expanduser(), state, notebooks, caption)
        caption += f" Written to {export}."
    return table(rows, caption)


def _asked(notebook: str) -> list[str]:
    """The predictions of a notebook, or without one, of all."""
    return [name for name, p in predictions().items() if notebook in ("", p.notebook)]


def _own_rows(
    names: list[str], asked: list[str], state: _progress.Progress
) -> list[dict[str, str]]:
    """The exercises and predictions of one notebook."""
    rows = []
    for name in names:
        tries = state.tried.get(name)
        counts = (str(tries.count), str(len(tries.hints))) if tries else ("–", "–")
        result = f"✓ {state.solved[name]}" if name in state.solved else "–"
        rows.append({"exercise": name, "solved": result, "tries": counts[0], "hints": counts[1]})
    seen = {None: "–", True: "✓ foreseen", False: "came otherwise"}
    for name in asked:
        result = seen[state.predicted[name].foresaw if name in state.predicted else None]
        rows.append({"exercise": f"prediction {name}", "solved": result, "tries": "", "hints": ""})
    return rows


def _row(notebook: str, names: list[str], state: _progress.Progress) -> dict[str, str]:
    dates = [state.solved[name] for name in names if name in state.solved]
    tried = [state.tried[name] for name in names if name in state.tried]
    hints = sum(len(tries.hints) for tries in tried)
    asked = _asked(notebook)
    foreseen = sum(bool(state.predicted[name].foresaw) for name in asked if name in state.predicted)
    return {
        "notebook": notebook,
        "solved": f"{len(dates)} of {len(names)}",
        "tries": str(sum(tries.count for tries in tried)) if tried else "–",
        "hints": str(hints) if tried else "–",
        "foreseen": f"{foreseen} of {len(asked)}" if asked else "–",
        "last": f"✓ {max(dates)}" if dates else "–",
        "still open": ", ".join(name for name in names if name not in state.solved) or "none",
    }


def _write_portfolio(
    file: Path, state: _progress.Progress, notebooks: dict[str, list[str]], caption: str
) -> None:
    """Write a page of what has been tried; its caption says what all of it comes to."""
    if file.suffix != ".html":
        raise BadInput(f'export is "{file}": give a file that ends in .html.')
    sections = ""
    for notebook, names in notebooks.items():
        exercises = [
            {
                "exercise": name,
                "solved": state.solved.get(name, "not yet"),
                "tries": str(state.tried[name].count) if name in state.tried else "–",
                "hints met": " ".join(state.tried[name].hints) if name in state.tried else "",
            }
            for name in names
            if name in state.tried | state.solved
        ]
        predicted = [state.predicted[n] for n in _asked(notebook) if n in state.predicted]
        outcomes = [each.foresaw for each in predicted if each.foresaw is not None]
        if exercises or predicted:
            sections += f"<h2>{escape(notebook)}</h2>\n"
        if outcomes:
            sections += f"<p>Foresaw {sum(outcomes)} of {len(outcomes)} outcomes.</p>\n"
        if exercises:
            sections += f"{table(exercises)._repr_html_()}\n"
    page = PAGE.format(
        caption=escape(caption),
        today=datetime.date.today().isoformat(),
        sections=sections or "<p>Nothing has been tried yet.</p>\n",
    )
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(f'export is "{file}", which cannot be written ({error}).') from None


@dataclass(frozen=True)
class Solution:
    """The source of a solution, as it could stand in the exercise's cell."""

    name: str
    source: str

    def __repr__(self) -> str:
        return self.source

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```"


def solution(name: str) -> Solution:
    """Show how an exercise is solved: the tested function of the package itself.

    Its type hints, docstring and input checks are left out, which a notebook cell does not need.
    """
    return Solution(name, cell_source(find(name).reference))
