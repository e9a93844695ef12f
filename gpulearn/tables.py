"""A small table that reads as text in a terminal and as HTML in a notebook."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gpulearn.display import AS_WRITTEN
from gpulearn.errors import BadInput
from gpulearn.require import shown

# a number with a short unit or sign, several of them, or none
NUMBER = re.compile(r"[–-]?|[^\w]*\d[\d.,:e+ ()×/–-]*.{0,8}")
# numbers, units and dates stay in one line
WRAP = {"left": "", "right": ";white-space:nowrap"}
# A caption in one line would make the table as wide as itself, and hide the columns on the right;
# with lines of free width it would be as narrow as a narrow table.
LINE = 90  # characters of a caption's line at most, some 640 pixels in JupyterLab
CAPTION = "caption-side:bottom;text-align:left;white-space:nowrap;padding-top:0.5em"


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings; `caption` says what they are and where from."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __repr__(self) -> str:
        columns = list(zip(self.headings, *self.rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (self.headings, *self.rows)
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, self.caption] if self.caption else lines)

    def _repr_html_(self) -> str:
        # numbers end in one line, words begin in one line, and headings stand over them
        columns = zip(*(row[1:] for row in self.rows), strict=True)
        numeric = (all(map(NUMBER.fullmatch, column)) for column in columns)
        sides = ["left", *("right" if each else "left" for each in numeric)]
        head = "".join(
            f'<th scope="col" style="text-align:{side}">{escape(cell)}</th>'
            for cell, side in zip(self.headings, sides, strict=True)
        )
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{escape(row[0])}</th>'
            + "".join(
                f'<td style="text-align:{side}{WRAP[side]}">{escape(cell)}</td>'
                for cell, side in zip(row[1:], sides[1:], strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        lines = textwrap.wrap(self.caption, LINE, break_long_words=False, break_on_hyphens=False)
        text = "<br>".join(map(escape, lines))
        caption = f'<caption style="{CAPTION}">{text}</caption>' if text else ""
        inner = f"{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        return f"<table {AS_WRITTEN}>{inner}</table>"


def table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> Table:
    """Make a table from dictionaries with the same keys, which become its headings.

    >>> table([{"n": 64, "GFLOP/s": "1.5"}])
    n   GFLOP/s
    --  -------
    64  1.5
    """
    if not isinstance(rows, Sequence) or not rows or not all(isinstance(r, Mapping) for r in rows):
        raise BadInput(f"rows is {shown(rows)}: give at least one dictionary, heading to cell.")
    headings = tuple(rows[0])
    for row in rows:
        if tuple(row) != headings:
            raise BadInput(
                f"A row has the headings {shown(list(row))}, the first {shown(list(headings))}."
            )
    cells = tuple(tuple(str(row[heading]) for heading in headings) for row in rows)
    return Table(headings, cells, caption)
