"""Counters of several launches side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.tables import Table, table

if TYPE_CHECKING:
    from simt.report.report import Report


def compare_reports(
    reports: Mapping[str, Report], *columns: str, array: str | None = None, caption: str = ""
) -> Table:
    """A table of launches: one row per report, one column per counter.

    Args:
        reports: what each launch is called → its report.
        columns: names of `Counts`, such as "sectors_per_load" or "barriers"; "findings"
            gives their kinds.
        array: count this array's traffic alone, not the whole launch's.
        caption: a sentence below the table.
    """
    from simt.observers.counters import Counts

    require.named("reports", reports, '{"name": report, …}')
    require.each(reports, "totals", "the report that gl.xray(kernel)[grid, block](…) returns")
    known = [name for name in dir(Counts) if not name.startswith("_")]
    known = sorted({*known, "findings"} - {"add", "as_dict"})
    if not columns:
        raise BadInput(f"compare_reports needs a column: choose from {', '.join(known)}.")
    chosen = [require.choice("column", column, known) for column in columns]
    return table(
        [
            {"launch": name} | {c.replace("_", " "): _cell(report, c, array) for c in chosen}
            for name, report in reports.items()
        ],
        caption,
    )


def _cell(report: Report, column: str, array: str | None) -> str:
    if column == "findings":
        return ", ".join(sorted({f.kind for f in report.findings})) or "none"
    counts = report.totals
    if array is not None:
        counts = report.arrays[require.choice("array", array, report.arrays)]
    value = getattr(counts, column)
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}"
