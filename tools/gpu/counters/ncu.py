"""Runs Nsight Compute on a program that launches the cases: what the hardware counted, by case.

What this machine's profiler does not know costs its column, what it cannot profile costs its
case; both are said in the notes. Options are those of "Nsight Compute CLI". The profiler prints
its table when the program that it watches has ended; so that program,
`tools.gpu.counters.profiled`, ends in time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.gpu.counters import matching, metrics

__all__ = [
    "CLOSING",
    "PLACES",
    "RAW",
    "Metrics",
    "Profile",
    "find_ncu",
    "known",
    "profile",
    "run",
    "version",
]

ROUNDS = 4
MANY, SPARED = 40, 0.2  # cases that are worth a second launch, and the part of the time for that
ATTEMPTS = 5  # a profiler may name one metric at a time that it does not have
TRIAL, LEAST = 40, 5  # seconds: for a trial, worth starting for
DENIED = "ERR_NVGPUCTRPERM"

OPTIONS = ("--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base")
CLOSING = 10  # seconds in which the profiler prints its table
RAW = "counters-ncu.txt"  # what the profiler printed, as it printed it
Metrics = dict[str, float | None]

# below the root of the file system
PLACES = (
    "usr/local/cuda*/bin/ncu",
    "opt/nvidia/nsight-compute/*/ncu",
    "usr/local/cuda*/nsight-compute-*/ncu",
)
# metrics of counters, of the instructions' addresses, and of the launch are listed apart
COLLECTIONS = ("profiling", "source", "launch")
CHIP = "gh100"  # asked for where the profiler cannot tell which GPU is here


def profile(
    names: Sequence[str],
    folder: Path,
    found: Profile,
    seconds: float = 100,
    differ: Callable[[Mapping[str, Metrics]], Sequence[str]] = lambda cases: (),
) -> None:
    """Profile one launch of each case, and one more of those of which more is to be known.

    Args:
        names: of cases in the catalogue, at least one; those of one kernel side by side.
        folder: where the profiler's tables and the journals of the launches are kept, as RAW.
        found: gets what was measured, as it comes.
        seconds: for everything together.
        differ: takes what was measured, returns the cases for which all metrics are wanted.
    """
    ends = time.monotonic() + seconds
    ncu = find_ncu()
    if ncu is None:
        found.notes.append(f"Nsight Compute (ncu) is neither on the path nor among {PLACES}.")
        return
    found.version = version(ncu)
    wanted = _wanted(ncu, found)
    always, *more = (tuple(n for n in group if n in wanted) for group in metrics.GROUPS)
    # two launches show what the profiler refuses, before the many wait for it
    first = sorted({names[0], names[len(names) // 2]}, key=list(names).index)
    working = _trial(ncu, [always], first, folder, ends, found)
    if not working and DENIED not in " ".join(found.notes):
        working = _trial(ncu, [always[:4], always[4:]], first, folder, ends, found)
    for number, group in enumerate(working):
        todo = [name for name in names if name not in first]
        for attempt in range(ROUNDS):  # a program that died goes on after the case that killed it
            left = ends - time.monotonic()
            if not todo or left < LEAST:
                break
            launching = left - CLOSING - seconds * SPARED
            base = folder / f"ncu-{number}-{attempt}"
            _, todo = run(ncu, group, todo, base, left, found, launching)
    if working and (cases := list(differ(found.cases))[:MANY]):
        everything = tuple(name for group in more for name in group)
        if not _trial(ncu, [everything], cases, folder, ends, found):
            _trial(ncu, more, cases, folder, ends, found)


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
            said, _ = run(ncu, group, cases, base, min(left, TRIAL), found)
            if any(set(group) & set(values) for values in found.cases.values()):
                working.append(group)
                break
            refused = [name for name in group if metrics.base(name) in _refused(said)]
            if not refused:
                break
            group = tuple(name for name in group if name not in refused)
    return working


def _wanted(ncu: Path, found: Profile) -> tuple[str, ...]:
    """All metrics, less those that the profiler does not list; all where it lists nothing."""
    every = tuple(dict.fromkeys(name for group in metrics.GROUPS for name in group))
    names = known(ncu)
    if not names & set(map(metrics.base, metrics.COMPARED.values())):
        found.notes.append("ncu --query-metrics lists none of them; every metric is tried.")
        return every
    missing = [name for name in every if metrics.base(name) not in names]
    if missing:
        found.notes.append(f"This profiler does not list {', '.join(missing)}.")
    return tuple(name for name in every if name not in missing)


def _refused(said: Sequence[str]) -> set[str]:
    """The base names of metrics that the profiler says it does not have."""
    lines = [line for line in said if "Failed to find metric" in line]
    return set(re.findall(r"\w+", " ".join(lines)))


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
    said = matching.complaints(text + "\n" + printed)
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
    measured, faults = matching.match(matching.parse(text), entries)
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


def find_ncu() -> Path | None:
    """The profiler: on the path, or the newest where NVIDIA's installers put it."""
    on_path = shutil.which("ncu")
    if on_path:
        return Path(on_path)
    found = [path for place in PLACES for path in Path("/").glob(place)]
    numbers = (tuple(int(n) for n in re.findall(r"\d+", str(path))) for path in found)
    return max(zip(numbers, found, strict=True), default=(None, None))[1]


def _ask(ncu: Path, options: Sequence[str], seconds: float) -> str:
    """What the profiler prints for a question, or "" where it has no answer in time."""
    try:
        done = subprocess.run(
            [ncu, *options], capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def version(ncu: Path) -> str:
    """The profiler's version, such as "2025.3.1.0", or "unknown"."""
    said = re.search(r"Version (\S+)", _ask(ncu, ["--version"], 10))
    return said[1] if said else "unknown"


def known(ncu: Path, seconds: float = 10) -> set[str]:
    """The base names of all metrics that the profiler has for this GPU; empty if it won't say."""
    names: set[str] = set()
    for collection in COLLECTIONS:
        # an older profiler has one list and no name for it
        which = () if collection == "profiling" else ("--query-metrics-collection", collection)
        for chip in ((), ("--chips", CHIP)):
            said = _ask(ncu, ["--query-metrics", *which, *chip], seconds)
            found = re.findall(r"^(\w+__\w+|memory_\w+)", said, re.MULTILINE)
            names |= set(found)
            if found:
                break
    return names
