"""The report: findings and counters of one launch, as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from simt.core.findings import Finding
from simt.core.source import unit
from simt.errors import BadInput
from simt.observers.balance import Shares
from simt.observers.counters import Counters, Counts
from simt.observers.trace import Recorder, Steps, block_number

if TYPE_CHECKING:
    from simt.machine.execution import LaunchResult

SCHEMA = 1
Triple = tuple[int, int, int]


class Lines(dict[int, Counts]):
    """Counts by line; a line that no thread reached has zeros."""

    def __missing__(self, line: int) -> Counts:
        return Counts()


@dataclass
class Report:
    """One launch under the lens.

    `lines` maps a line of the kernel's file to its `Counts`, `arrays` the name of an array;
    `totals` sums the lines. `source` maps each line number of the kernel to its text.
    Lines of device functions from another file or cell are under `elsewhere`. `shares` tells how
    the accesses to memory are shared out among the threads.
    """

    kernel: str
    grid: Triple
    block: Triple
    findings: list[Finding]
    totals: Counts
    lines: Lines
    arrays: dict[str, Counts]
    source: dict[int, str]
    elsewhere: dict[str, Counts] = field(default_factory=dict)
    steps: Steps | None = None
    shares: Shares = field(default_factory=Shares)

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return all(f.severity != "error" for f in self.findings)

    # --- as text and HTML

    def __str__(self) -> str:
        from simt.report.text import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from simt.report.html import as_html

        return as_html(self)

    # --- saved and compared

    def to_json(self, path: str | Path | None = None) -> str:
        """The report as JSON; written to `path` as well if one is given."""
        data = {"schema": SCHEMA, "ok": self.ok, **vars(self)}
        text = json.dumps(data, indent=1, default=lambda part: part.as_dict())
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def diff(self, other: Report) -> Diff:
        """This report beside another: what changed, field by field."""
        return Diff(self, other)

    def step(self, block: int | tuple[int, ...] = 0) -> Steps:
        """The launch of one block, line by line: active lanes and addresses.

        Raises:
            BadInput: if another block was watched; `xray(kernel, block=...)` chooses it.
        """
        number = block_number(block, self.grid)
        if self.steps is None or self.steps.block != number:
            watched = "none" if self.steps is None else self.steps.block
            raise BadInput(
                f"block {block} was not watched ({watched} was): "
                f"launch again with xray(kernel, block={block})"
            )
        return self.steps


@dataclass
class Diff:
    """Two reports side by side; prints as a table of the totals that differ."""

    left: Report
    right: Report

    @property
    def changes(self) -> dict[str, tuple[int, int]]:
        """Totals that differ: name -> (left, right)."""
        pairs = {f.name: self[f.name] for f in fields(Counts)}
        return {name: (left, right) for name, (left, right) in pairs.items() if left != right}

    def __getitem__(self, name: str) -> tuple[int, int]:
        """(left, right) of one total, whether it differs or not."""
        return getattr(self.left.totals, name), getattr(self.right.totals, name)

    def __str__(self) -> str:
        from simt.report.text import diff_text

        return diff_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from simt.report.html import diff_html

        return diff_html(self)


def make_report(
    result: LaunchResult, grid: Triple, block: Triple, *, counters: Counters | None = None,
    recorder: Recorder | None = None, name: str = "kernel",
) -> Report:  # fmt: skip
    """The report of a launch; `name` is the kernel's where it has no source."""
    source = result.source
    if source is None:
        return Report(name, grid, block, result.findings, Counts(), Lines(), {}, {})
    lines: dict[int, Counts] = {}
    elsewhere: dict[str, Counts] = {}
    totals = counters.totals() if counters else Counts()
    for place, counts in (counters.lines if counters else {}).items():
        where, line = unit(place)
        if where.file == source.file:
            lines.setdefault(line, Counts()).add(counts)
        else:
            elsewhere.setdefault(f"{where.name}:{line}", Counts()).add(counts)
    return Report(
        kernel=source.name, grid=grid, block=block, findings=result.findings, totals=totals,
        lines=Lines(sorted(lines.items())), source=source.lines, elsewhere=elsewhere,
        arrays=dict(counters.arrays) if counters else {},
        steps=recorder.finish() if counters and recorder else None,
        shares=counters.balance.shares() if counters else Shares(),
    )  # fmt: skip
