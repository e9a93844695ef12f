"""The report as plain text: findings first, then the source with its counters."""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

from simt.observers.counters import Counts

if TYPE_CHECKING:
    from simt.report.report import Diff, Report

LEGEND = (
    "A warp is 32 threads, its lanes; those on the same path run an instruction together. Memory "
    "moves in sectors of 32 bytes: the fewer for one load or store of a warp, the better."
)
BANKS = "A bank conflict makes a warp wait for another pass over shared memory."
# a warp that reads neighbors asks for 32 · size bytes, in sectors of 32
NEIGHBORS = "32 neighbors: 1 for uint8, 4 for float32, 8 for float64"

_SIGN = {"error": "✗", "warning": "!"}


def _ratio(value: float) -> str:
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def legend(report: Report) -> str:
    """The words that the report uses, explained: those of its own kernel only."""
    shared = report.totals.shared_load_wavefronts + report.totals.shared_store_wavefronts
    return f"{LEGEND} {BANKS}" if shared else LEGEND


def _sectors(value: float, verb: str) -> str:
    number = _ratio(value)
    return f"{number} sector{'s' * (number != '1')}/{verb}"


def notes(counts: Counts) -> list[str]:
    """The few facts about a line that matter, in words."""
    facts = []
    if counts.global_load_requests:
        facts.append(_sectors(counts.sectors_per_load, "load"))
    if counts.global_store_requests:
        facts.append(_sectors(counts.sectors_per_store, "store"))
    if passes := counts.shared_load_wavefronts + counts.shared_store_wavefronts:
        facts.append(f"{passes:,} shared pass{'es' * (passes > 1)}")
    if counts.shared_load_conflicts + counts.shared_store_conflicts:
        conflicts = counts.shared_load_conflicts + counts.shared_store_conflicts
        facts.append(f"{conflicts:,} bank conflict{'s' * (conflicts > 1)}")
    if counts.divergent_branches:
        warps = "warp diverges" if counts.divergent_branches == 1 else "warps diverge"
        facts.append(f"{counts.divergent_branches:,} {warps}")
    if counts.atomics:
        facts.append(f"{counts.atomics:,} atomics, up to {counts.atomic_contention} on one address")
    if counts.barriers:
        facts.append(f"{counts.barriers:,} barrier{'s' * (counts.barriers > 1)}")
    if counts.flops64:
        facts.append(f"{counts.flops64:,} float64 operations")
    if counts.instructions and counts.lanes_per_instruction < 31.95:
        facts.append(f"{_ratio(counts.lanes_per_instruction)} of 32 lanes active")
    return facts


def cost(counts: Counts) -> int:
    """What a line costs the memory system: its sectors and its shared-memory passes."""
    sectors = counts.global_load_sectors + counts.global_store_sectors
    return sectors + counts.shared_load_wavefronts + counts.shared_store_wavefronts


def worst_line(report: Report) -> int | None:
    """The line that costs the memory system most."""
    costs = {n: cost(c) for n, c in report.lines.items() if cost(c)}
    return max(costs, key=lambda n: costs[n], default=None)


def summary(report: Report) -> list[tuple[str, str, str]]:
    """(measure, this launch, the best there is) of the launch as a whole."""
    t = report.totals
    rows = [("active lanes", f"{_ratio(t.lanes_per_instruction)} of 32", "best: 32")]
    if t.global_load_requests:
        rows.append(("sectors per load", _ratio(t.sectors_per_load), NEIGHBORS))
    if t.global_store_requests:
        rows.append(("sectors per store", _ratio(t.sectors_per_store), NEIGHBORS))
    if t.bytes_moved:
        detail = f"the lanes asked for {t.bytes_requested:,}"
        if t.distinct_sectors:  # a sample of blocks has not counted them
            detail += f"; each sector once: {t.bytes_at_least:,}"
        rows.append(("bytes moved", f"{t.bytes_moved:,}", detail))
    if t.shared_load_wavefronts + t.shared_store_wavefronts:
        conflicts = t.shared_load_conflicts + t.shared_store_conflicts
        rows.append(("bank conflicts", f"{conflicts:,}", "best: 0"))
    if t.atomics:
        rows.append(("atomics", f"{t.atomics:,}", f"up to {t.atomic_contention} on one address"))
    if t.flops32 + t.flops64:
        text = f"{t.flops32:,} in float32, {t.flops64:,} in float64"
        rows.append(("operations", text, f"{t.arithmetic_intensity:.2f} per byte moved"))
    return rows


def _shape(triple: tuple[int, int, int]) -> str:
    x, y, z = triple
    return f"({x}, {y}, {z})" if z > 1 else f"({x}, {y})" if y > 1 else str(x)


def headline(report: Report) -> str:
    """Which kernel, how many threads, how many findings."""
    errors = sum(f.severity == "error" for f in report.findings)
    warnings = len(report.findings) - errors
    parts = []
    if errors:
        parts.append(f"{errors} error{'s' * (errors > 1)}")
    if warnings:
        parts.append(f"{warnings} warning{'s' * (warnings > 1)}")
    verdict = ", ".join(parts) or "no findings"
    shape = f"[{_shape(report.grid)}, {_shape(report.block)}]"
    return f"{report.kernel}{shape}: {verdict}"


def code_lines(report: Report) -> dict[int, str]:
    """The kernel's lines by number, without its docstring, which costs nothing."""
    lines = dict(report.source)
    try:
        (function,) = ast.parse(textwrap.dedent("\n".join(lines.values()))).body
    except (SyntaxError, ValueError):
        return lines
    first = next(iter(lines))
    if isinstance(function, ast.FunctionDef) and ast.get_docstring(function) is not None:
        text = function.body[0]
        for number in range(text.lineno, (text.end_lineno or text.lineno) + 1):
            lines.pop(first + number - 1, None)
    return lines


def as_text(report: Report) -> str:
    """The whole report, for print."""
    out = [headline(report)]
    for finding in report.findings:
        out.append(f"  {_SIGN[finding.severity]} {finding.kind}: {finding}")
    if report.totals.instructions:
        out.append("")
        rows = summary(report)
        name, value = (max(len(r[i]) for r in rows) for i in (0, 1))
        for r in rows:
            out.append(f"  {r[0]:<{name}}  {r[1]:<{value}}  ({r[2]})")
        out.append("")
        worst = worst_line(report)
        shown = code_lines(report)
        width = max((len(t) for t in shown.values()), default=0)
        for number, text in shown.items():
            counts = report.lines.get(number)
            remarks = ", ".join(notes(counts)) if counts else ""
            mark = "►" if number == worst else " "
            out.append(f"{mark}{number:>4} {text:<{width}}  {remarks}".rstrip())
        for place, counts in report.elsewhere.items():
            out.append(f"      {place.replace(':', ', line ')}: {', '.join(notes(counts))}")
        if worst is not None:
            out.append("► the line that costs the memory system most")
    return "\n".join(out)


def diff_text(diff: Diff) -> str:
    """The totals that differ, as a table."""
    a, b = diff.left, diff.right
    names = (a.kernel, b.kernel) if a.kernel != b.kernel else ("before", "after")
    rows = [("", *names, "ratio")]
    for name, (x, y) in diff.changes.items():
        rows.append((name, f"{x:,}", f"{y:,}", f"{y / x:.2f}" if x else "new"))
    if len(rows) == 1:
        return f"{names[0]} and {names[1]} cost the same"
    widths = [max(len(r[i]) for r in rows) for i in range(4)]
    return "\n".join(
        f"{r[0]:<{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]:>{widths[3]}}"
        for r in rows
    )
