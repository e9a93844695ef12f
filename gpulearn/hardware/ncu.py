"""Runs Nsight Compute on a program that launches the cases: what the hardware counted, by case.

Options are those of "Nsight Compute CLI". What this machine's profiler does not know costs its
column, what it cannot profile costs its case; both are said in the notes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulearn.hardware import metrics, ncu_csv
from gpulearn.hardware.matching import match
from gpulearn.hardware.ncu_here import PLACES, find_ncu, known, version

__all__ = ["RAW", "Profile", "profile"]

OPTIONS = ("--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base")
ATTEMPTS = 5  # a profiler may name one metric at a time that it does not have
TRIAL, LEAST, CLOSING = 40, 5, 10  # seconds: a trial, worth starting for, to print the table in
RAW = "counters-ncu.txt"  # what the profiler printed, as it printed it
DENIED = "ERR_NVGPUCTRPERM"


@dataclass
class Profile:
    """What was measured.

    Attributes:
        cases: name of a case → metric → number; None for a metric that could not be measured.
        notes: what went wrong, a sentence each.
        version: of Nsight Compute, or "".
    """

    cases: dict[str, dict[str, float | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    version: str = ""


def profile(names: Sequence[str], folder: Path, seconds: float = 100) -> Profile:
    """Profile one launch of each case.

    Args:
        names: of cases in the catalogue, at least one; those of one kernel side by side.
        folder: where the profiler's tables and the journals of the launches are kept, as RAW.
        seconds: for everything together.
    """
    ends = time.monotonic() + seconds
    found = Profile()
    ncu = find_ncu()
    if ncu is None:
        found.notes.append(f"Nsight Compute (ncu) is neither on the path nor among {PLACES}.")
        return found
    found.version = version(ncu)
    wanted = _wanted(ncu, found)
    # two launches show what the profiler refuses, before the many wait for it
    first = sorted({names[0], names[len(names) // 2]}, key=list(names).index)
    rest = [name for name in names if name not in first]
    working = _trial(ncu, [wanted], first, folder, ends, found)
    if not working and DENIED not in " ".join(found.notes):
        groups = [tuple(name for name in group if name in wanted) for group in metrics.GROUPS]
        working = _trial(ncu, groups, first, folder, ends, found)
    for number, group in enumerate(working if rest else ()):
        if ends - time.monotonic() > LEAST:
            _run(ncu, group, rest, folder / f"ncu-{number}", ends - time.monotonic(), found)
    return found


def _trial(
    ncu: Path,
    groups: Sequence[tuple[str, ...]],
    cases: Sequence[str],
    folder: Path,
    ends: float,
    found: Profile,
) -> list[tuple[str, ...]]:
    """The groups of metrics, less what is refused, with which a launch can be profiled."""
    working = []
    for number, group in enumerate(groups):
        for attempt in range(ATTEMPTS):
            left = ends - time.monotonic()
            if left < LEAST or not group:
                break
            base = folder / f"ncu-trial-{len(groups)}-{number}-{attempt}"
            said = _run(ncu, group, cases, base, min(left, TRIAL), found)
            if any(set(group) & set(values) for values in found.cases.values()):
                working.append(group)
                break
            refused = [name for name in group if metrics.base(name) in _refused(said)]
            if not refused:
                break
            group = tuple(name for name in group if name not in refused)
    return working


def _wanted(ncu: Path, found: Profile) -> tuple[str, ...]:
    """All metrics, less those that the profiler does not list; all where it lists none."""
    every = tuple(dict.fromkeys(name for group in metrics.GROUPS for name in group))
    names = known(ncu)
    if not names:
        found.notes.append("ncu --query-metrics lists nothing; every metric is tried.")
        return every
    missing = [name for name in every if metrics.base(name) not in names]
    if missing:
        found.notes.append(f"This profiler does not list {', '.join(missing)}.")
    return tuple(name for name in every if name not in missing)


def _refused(said: Sequence[str]) -> set[str]:
    """The base names of metrics that the profiler says it does not have."""
    lines = [line for line in said if "Failed to find metric" in line]
    return set(re.findall(r"\w+", " ".join(lines)))


def _run(
    ncu: Path, names: Sequence[str], cases: Sequence[str], base: Path, left: float, found: Profile
) -> list[str]:
    """One run of the profiler; adds what it measured, returns what it complained about."""
    base.parent.mkdir(parents=True, exist_ok=True)
    table, journal, asked = (base.with_suffix(s) for s in (".csv", ".jsonl", ".txt"))
    for old in (table, journal):
        old.unlink(missing_ok=True)
    asked.write_text("\n".join(cases), encoding="utf-8")
    # the program stops launching in time for the profiler to print what it has
    limit = max(left - CLOSING, left / 2)
    child = [sys.executable, "-m", "gpulearn.hardware.profiled"]
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
        raw.write(f"$ {' '.join(command)}\n{text}\n{_journal_text(journal)}\n")
    for file in (table, journal, asked):
        file.unlink(missing_ok=True)
    measured, faults = match(ncu_csv.parse(text), entries)
    for case, values in measured.items():
        found.cases.setdefault(case, {}).update(values)
    found.notes += [note for note in (*said, *faults) if note not in found.notes]
    return said


def _watch(command: Sequence[str], left: float, found: Profile) -> str:
    """Run the profiler to its end or the limit; return what it and the program printed."""
    # numbers with the decimal point and the thousands' comma of the C locale
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
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
