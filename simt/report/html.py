"""The report in a notebook: the kernel's own source with its costs beside each line.

Nothing here depends on color or on a mouse: an error and the worst line carry a mark and words,
bars repeat numbers that are printed, and the table reads line by line.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from simt.report.text import code_lines, cost, headline, legend, notes, summary, worst_line

if TYPE_CHECKING:
    from simt.report.report import Diff, Report

_CELL = "padding:1px 8px;text-align:left;vertical-align:top;border:0;background:none"
_PRE = "margin:0;background:none;white-space:pre"
_COUNT = _CELL.replace("left", "right")
_NUMBER = _COUNT + ";opacity:.65"  # of a line
# white on red and black on yellow can be read on a light page and on a dark one
_SEVERE = {"error": "background:#c62828;color:#fff", "warning": "background:#ffd54f;color:#000"}


def _bold(text: str, severity: str) -> str:
    return f'<b style="{_SEVERE[severity]};padding:0 4px">{escape(text)}</b>'


def _findings(report: Report) -> str:
    rows = []
    for finding in report.findings:
        word = "✗ error" if finding.severity == "error" else "! warning"
        rows.append(
            f'<li style="margin:2px 0">{_bold(f"{word}: {finding.kind}", finding.severity)} - '
            f"{escape(str(finding))}</li>"
        )
    if not rows:
        return ""
    return f'<ul style="margin:4px 0;list-style:none;padding-left:0">{"".join(rows)}</ul>'


def _facts(report: Report) -> str:
    items = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:600">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value)}</td>'
        f'<td style="{_CELL};opacity:.65">{escape(best)}</td></tr>'
        for name, value, best in summary(report)
    )
    return f'<table style="margin:4px 0;border:0">{items}</table>' if items else ""


def _source(report: Report) -> str:
    worst = worst_line(report)
    most = max((cost(c) for c in report.lines.values()), default=0)
    wrong = {f.other_line: f for f in report.findings if f.other_line is not None}
    wrong.update({f.line: f for f in report.findings if f.line is not None})
    rows = []
    for number, text in code_lines(report).items():
        counts = report.lines.get(number)
        remarks = ", ".join(notes(counts)) if counts else ""
        bar = ""
        if counts and most and cost(counts):
            share = 100 * cost(counts) / most
            bar = (
                f'<div aria-hidden="true" style="height:3px;width:{share:.0f}%;'
                'background:currentColor;opacity:.45"></div>'
            )
        mark, extra = "", ""
        if number in wrong:
            mark = "✗" if wrong[number].severity == "error" else "!"
            extra = _bold(wrong[number].kind, wrong[number].severity) + (" " if remarks else "")
        elif number == worst:
            mark, extra = "►", "<b>costs most</b>: " if remarks else "<b>costs most</b>"
        edge = ";border-left:3px solid currentColor" if mark else ""
        rows.append(
            f'<tr><td style="{_NUMBER}">{number}</td>'
            f'<td style="{_CELL}{edge}">{mark}</td>'
            f'<td style="{_CELL}"><pre style="{_PRE}">{escape(text) or " "}</pre></td>'
            f'<td style="{_CELL}">{extra}{escape(remarks)}{bar}</td></tr>'
        )
    for place, counts in report.elsewhere.items():
        name, _, number_there = place.partition(":")
        rows.append(
            f'<tr><td style="{_NUMBER}">{number_there}</td><td style="{_CELL}"></td>'
            f'<td style="{_CELL}">in {escape(name)}</td>'
            f'<td style="{_CELL}">{escape(", ".join(notes(counts)))}</td></tr>'
        )
    head = "".join(
        f'<th scope="col" style="{_CELL};font-weight:600">{name}</th>'
        for name in ("line", "", "source", "what it cost")
    )
    return (
        '<table style="border:0;border-collapse:collapse;margin:4px 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def as_html(report: Report) -> str:
    """The report as one block of HTML."""
    parts = [f'<p style="margin:4px 0"><b>{escape(headline(report))}</b></p>', _findings(report)]
    if report.totals.instructions:
        parts.append(_facts(report))
        parts.append(f'<p style="margin:4px 0;opacity:.75"><small>{legend(report)}</small></p>')
    if report.source:
        parts.append(_source(report))
    return f'<div role="group" aria-label="kernel report">{"".join(parts)}</div>'


def diff_html(diff: Diff) -> str:
    """Two reports side by side."""
    a, b = diff.left, diff.right
    names = (a.kernel, b.kernel) if a.kernel != b.kernel else ("before", "after")
    head = "".join(
        f'<th scope="col" style="{_COUNT}">{escape(n)}</th>' for n in ("", *names, "ratio")
    )
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:600">{name.replace("_", " ")}</th>'
        f'<td style="{_COUNT}">{x:,}</td><td style="{_COUNT}">{y:,}</td>'
        f'<td style="{_COUNT}">{f"{y / x:.2f}" if x else "new"}</td></tr>'
        for name, (x, y) in diff.changes.items()
    )
    if not rows:
        return f"<p>{escape(names[0])} and {escape(names[1])} cost the same</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
