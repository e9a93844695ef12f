"""The results of a program's launches: each finding once, and a report of each kernel."""

import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from simt.core.findings import Finding
from simt.report.report import Report


class Launches:
    """Listens to every launch; `in_detail` counts what the first one of each kernel moves.

    `tell` hears the sentence of each new finding at once.
    """

    def __init__(self, in_detail: bool, tell: Callable[[str], object] | None = None) -> None:
        self.in_detail = in_detail
        self._tell, self._folder = tell, Path.cwd()
        self._findings: dict[tuple[Any, ...], tuple[str, Finding]] = {}
        self._reports: dict[Any, Report] = {}
        self.notes: list[str] = []  # what is no mistake, and worth a sentence

    def wants_detail(self, kernel: Any) -> bool:
        """Whether the next launch of a kernel is to be counted."""
        return self.in_detail and kernel not in self._reports

    def hear(self, kernel: Callable[..., Any], report: Report) -> None:
        """A kernel was launched."""
        self.keep(kernel, report)
        file = getattr(getattr(kernel, "__code__", None), "co_filename", "")
        for finding in report.findings:
            if finding.kind != "unchecked":  # which is what the program asked for
                self.add(file, finding)

    def keep(self, kernel: Any, report: Report) -> None:
        """The report of a launch, of which there is one for each kernel."""
        earlier = self._reports.setdefault(kernel, report)
        if earlier.ok and not report.ok and not self.in_detail:
            self._reports[kernel] = report

    def add(self, file: str, finding: Finding) -> None:
        """Something wrong in a file."""
        other = finding.other_line if finding.kind == "stream-race" else None
        where = (finding.file or file, finding.line, finding.function)
        key = (*where, finding.kind, finding.array, other)
        if key not in self._findings:
            self._findings[key] = file, finding
            if self._tell is not None:
                self._tell(self._sentence(file, finding))

    @property
    def reports(self) -> list[Report]:
        """One of each kernel, in the order in which they were first launched."""
        return [*self._reports.values()]

    hear_race = add  # nothing orders two operations on streams

    @property
    def findings(self) -> list[Finding]:
        """Each finding once."""
        return [finding for _, finding in self._findings.values()]

    @property
    def errors(self) -> int:
        """How many different findings are errors."""
        return sum(finding.severity == "error" for finding in self.findings)

    def sentences(self) -> list[str]:
        """Each finding with its file and line."""
        return [self._sentence(*found) for found in self._findings.values()] + self.notes

    def _sentence(self, file: str, finding: Finding) -> str:
        if finding.file is not None and not Path(finding.file).is_file():  # a cell
            return f"{self._short(file)}: {finding}"
        line = f":{finding.line}" if finding.line else ""
        return f"{self._short(finding.file or file)}{line}: {finding.message}"

    def _short(self, file: str) -> str:
        """A path from where the program began; the name of a notebook's cell as it is."""
        if not Path(file).is_absolute():
            return file
        relative = os.path.relpath(file, self._folder)
        return file if relative.startswith("..") else relative

    def write(self, target: Path) -> None:
        """The report of each kernel: a page each in a folder, or all on one page."""
        pages = [(kernel.__name__, report) for kernel, report in self._reports.items()]
        if target.suffix.lower() in (".html", ".htm"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_page(pages), encoding="utf-8")
            return
        target.mkdir(parents=True, exist_ok=True)
        names: dict[str, int] = {}
        for name, report in pages:
            number = names[name] = names.get(name, 0) + 1
            file = f"{name}.html" if number == 1 else f"{name}_{number}.html"
            (target / file).write_text(_page([(name, report)]), encoding="utf-8")


def _page(pages: list[tuple[str, Report]]) -> str:
    body = "\n".join(f"<h2>{escape(name)}</h2>\n{r._repr_html_()}" for name, r in pages)
    title = escape(", ".join(name for name, _ in pages) or "no kernel was launched")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'</head><body style="font-family:sans-serif;margin:2em">\n{body}\n</body></html>\n'
    )
