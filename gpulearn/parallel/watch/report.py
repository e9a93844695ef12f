"""From the records of all ranks to findings, and to what a person or a program reads."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpulearn.parallel.watch import collectives, files, forwards, replicas, samples
from gpulearn.parallel.watch.finding import Finding, Record, in_order
from gpulearn.require import counted


def records_in(folder: Path) -> list[list[dict[str, Any]]]:
    """The records that watches left in a folder, in order of rank; one list for each training.

    Ranks of one training share the process that started them and their number; a script that
    trains twice in the same processes is one training.
    """
    trainings: dict[Any, dict[int, dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        if (counter := path.with_suffix(".steps")).exists():  # not of another machine
            record["steps"], record["begun"] = map(int, np.fromfile(counter, np.int64))
        trainings.setdefault((record["parent"], record["size"]), {})[record["rank"]] = record
    return [[ranks[rank] for rank in sorted(ranks)] for ranks in trainings.values()]


def findings_in(folder: Path, *, failed: bool) -> list[Finding]:
    """All findings of the trainings whose records lie in a folder; `failed` if a rank did."""
    found: list[Finding] = []
    for records in records_in(folder):
        if len(records) > 1:
            found += samples.findings(records)
            found += forwards.findings(records)
            found += collectives.findings(records, failed)
            found += replicas.findings(records, failed)
            found += files.findings(records)
    return in_order(found)


def as_text(findings: Sequence[Finding], trainings: Sequence[Sequence[Record]]) -> str:
    """Findings as a terminal shows them."""
    ranks, size = sum(map(len, trainings)), sum(training[0]["size"] for training in trainings)
    errors = sum(finding.level == "error" for finding in findings)
    counts = f"{counted(len(findings), 'finding')}, {counted(errors, 'error')}"
    head = f"== {f'{ranks} of ' * (ranks < size)}{size} ranks watched: "
    return "\n".join([head + (counts if findings else "nothing to say."), *map(str, findings)])


def as_page(findings: Sequence[Finding], script: str) -> str:
    """Findings as one HTML page."""
    rows = "".join(
        f"<h2>{html.escape(f.level)}: {html.escape(f.kind)}</h2><p><code>{html.escape(f.where)}"
        f"</code></p><p>{html.escape(f.message)}</p><p><b>{html.escape(f.cure)}</b></p>"
        for f in findings
    )
    title = f"Ranks of {html.escape(script)}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><style>body{font:1rem/1.5 sans-serif;'
        "max-width:45rem;margin:2rem auto;padding:0 1rem}</style>"
        f"<h1>{title}</h1>{rows or '<p>Nothing to say.</p>'}</html>"
    )
