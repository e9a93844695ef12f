"""A portfolio: what a learner has tried, solved and foreseen, as one page that loads nothing."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from gpulearn.errors import BadInput
from gpulearn.judge.progress import Progress, Tries
from gpulearn.tables import table

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
    sections = ""
    for notebook, names in notebooks.items():
        rows = [_row(name, state) for name in names if name in state.tried | state.solved]
        foresights = [
            f.foresaw for name, f in state.predicted.items() if where.get(name) == notebook
        ]
        outcomes = [foresaw for foresaw in foresights if foresaw is not None]
        if rows or foresights:
            sections += f"<h2>{escape(notebook)}</h2>\n"
        if outcomes:
            sections += f"<p>Foresaw {sum(outcomes)} of {len(outcomes)} outcomes.</p>\n"
        if rows:
            sections += f"{table(rows)._repr_html_()}\n"
    page = PAGE.format(
        caption=escape(caption),
        today=datetime.date.today().isoformat(),
        sections=sections or "<p>Nothing has been tried yet.</p>\n",
    )
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(f'export is "{file}", which cannot be written ({error}).') from None


def _row(name: str, state: Progress) -> dict[str, str]:
    tries = state.tried.get(name, Tries())
    return {
        "exercise": name,
        "solved": state.solved.get(name, "not yet"),
        "tries": str(tries.count or "–"),
        "hints met": " ".join(tries.hints),
    }
