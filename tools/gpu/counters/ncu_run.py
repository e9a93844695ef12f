"""One run of Nsight Compute: its options, its limit, and which case each of its numbers is of.

Options are those of "Nsight Compute CLI". The profiler prints its table when the program that
it watches has ended; so that program, `tools.gpu.counters.profiled`, ends in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.gpu.counters import ncu_csv
from tools.gpu.counters.matching import match

__all__ = ["CLOSING", "RAW", "Metrics", "Profile", "run"]

OPTIONS = ("--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base")
CLOSING = 10  # seconds in which the profiler prints its table
RAW = "counters-ncu.txt"  # what the profiler printed, as it printed it
Metrics = dict[str, float | None]


@dataclass
class Profile:
    """What was measured.

    Attributes:
        cases: name of a case → metric → number; None for a metric that could not be measured.
        notes: what went wrong, a sentence each.
        version: of Nsight Compute, or "".
    """

    cases: dict[str, Metrics] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    version: str = ""


def run(
    ncu: Path,
    names: Sequence[str],
    cases: Sequence[str],
    base: Path,
    left: float,
    found: Profile,
    launching: float | None = None,
) -> tuple[list[str], list[str]]:
    """One run of the profiler.

    Args:
        ncu: the profiler.
        names: of the metrics.
        cases: to launch, in this order.
        base: the beginning of the names of its files; what they held goes into RAW beside it.
        left: seconds after which the profiler is ended, and its table is lost.
        found: gets what was measured.
        launching: seconds after which no further case is launched; what leaves the profiler
            the time for its table, if not said.

    Returns:
        What it complained about, and the cases that are still to be launched if it died.
    """
    base.parent.mkdir(parents=True, exist_ok=True)
    table, journal, asked = (base.with_suffix(s) for s in (".csv", ".jsonl", ".txt"))
    for old in (table, journal):
        old.unlink(missing_ok=True)
    asked.write_text("\n".join(cases), encoding="utf-8")
    limit = max(left - CLOSING if launching is None else launching, left / 2)
    child = [sys.executable, "-m", "tools.gpu.counters.profiled"]
    command = [
        str(ncu), *OPTIONS, "--print-kernel-base", "mangled", "--target-processes", "all",
        "--metrics", ",".join(names), "--log-file", str(table),
        *child, str(asked), str(journal), f"{limit:.1f}",
    ]  # fmt: skip
    printed = _watch(command, left, found)
    text = table.read_text(encoding="utf-8", errors="replace") if table.exists() else ""
    if not text:  # with an error in its options it prints to the terminal
        text = printed
        table.write_text(text, encoding="utf-8")
    said = ncu_csv.complaints(text + "\n" + printed)
    entries = _entries(journal)
    for entry in entries:
        if "why" in entry:
            said.append(f"{entry.get('failed') or entry.get('stopped')}: {entry['why']}.")
    with (base.parent / RAW).open("a", encoding="utf-8") as raw:
        # without the places of this machine: it is published
        raw.write(f"$ ncu {' '.join(OPTIONS)} --metrics {','.join(names)}\n")
        raw.write(f"{text}\n{_journal_text(journal)}\n")
    for file in (table, journal, asked):
        file.unlink(missing_ok=True)
    measured, faults = match(ncu_csv.parse(text), entries)
    for case, values in measured.items():
        found.cases.setdefault(case, {}).update(values)
    found.notes += [note for note in (*said, *faults) if note not in found.notes]
    if entries and ("end" in entries[-1] or "stopped" in entries[-1]):
        return said, []
    begun = {entry.get("launch") or entry.get("failed") for entry in entries}
    return said, [case for case in cases if case not in begun] if len(begun) > 1 else []


def _watch(command: Sequence[str], left: float, found: Profile) -> str:
    """Run the profiler to its end or the limit; return what it and the program printed."""
    # numbers with the decimal point and the thousands' comma of the C locale
    places = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"LC_ALL": "C", "PYTHONPATH": os.pathsep.join(filter(None, places))}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        found.notes.append(f"ncu does not start: {error}.")
        return ""
    try:
        said, _ = process.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # the profiler and the program that it started
        said, _ = process.communicate()
        found.notes.append(f"ncu did not end within {left:.0f} s and was ended.")
        return said
    if process.returncode:
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
        found.notes.append(f"ncu ended with code {process.returncode}: {last}")
    return said


def _journal_text(journal: Path) -> str:
    """The journal as it stands."""
    return journal.read_text(encoding="utf-8") if journal.exists() else ""


def _entries(journal: Path) -> list[dict[str, Any]]:
    """What the program wrote; a last line may be cut off."""
    found = []
    for line in _journal_text(journal).splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found
