"""A portfolio: what a learner has tried, solved and foreseen, as one page that loads nothing."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from gpulearn.errors import BadInput
from gpulearn.judge.progress import Progress

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; width: 100%; }
th, td { border-bottom: 1px solid #bbb; padding: .25rem .6rem; text-align: left;
  vertical-align: top; }
td.n { text-align: right; }
"""


def write_portfolio(
    file: Path,
    state: Progress,
    notebooks: Mapping[str, Sequence[str]],
    where: Mapping[str, str],
    caption: str,
) -> None:
    """Write the page; its caption says what all of it comes to.

    `notebooks` has the exercises of each notebook, `where` the notebook of each prediction.
    """
    if file.suffix != ".html":
        raise BadInput(f'export is "{file}": give a file that ends in .html.')
    sections = [
        _section(notebook, names, state, where)
        for notebook, names in notebooks.items()
        if any(name in state.tried or name in state.solved for name in names)
        or any(where.get(name) == notebook for name in state.predicted)
    ]
    today = datetime.date.today().isoformat()
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>GPU programming: a portfolio</title><style>{STYLE}</style></head><body>"
        f"<h1>GPU programming: a portfolio</h1><p>{escape(caption)} As of {today}, by the record "
        "that the notebooks keep on the learner's own computer, which the learner can change.</p>"
        + "\n".join(sections or ["<p>Nothing has been tried yet.</p>"])
        + "</body></html>\n"
    )
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(f'export is "{file}", which cannot be written ({error}).') from None


def _section(notebook: str, names: Sequence[str], state: Progress, where: Mapping[str, str]) -> str:
    rows = "".join(_row(name, state) for name in names if name in state.tried | state.solved)
    foresights = [f for name, f in state.predicted.items() if where.get(name) == notebook]
    outcomes = [f.foresaw for f in foresights if f.foresaw is not None]
    foreseen = f"<p>Foresaw {sum(outcomes)} of {len(outcomes)} outcomes.</p>" if outcomes else ""
    headings = "".join(
        f'<th scope="col">{heading}</th>'
        for heading in ("exercise", "solved", "tries", "hints met")
    )
    table = f"<table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<h2>{escape(notebook)}</h2>{foreseen}{table if rows else ''}"


def _row(name: str, state: Progress) -> str:
    tried = state.tried.get(name)
    hints = "<br>".join(map(escape, tried.hints)) if tried else ""
    return (
        f'<tr><th scope="row">{escape(name)}</th>'
        f"<td>{escape(state.solved.get(name, 'not yet'))}</td>"
        f'<td class="n">{tried.count if tried else "–"}</td><td>{hints}</td></tr>'
    )
