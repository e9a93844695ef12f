"""Runs Nsight Compute on a program that launches the cases: what the hardware counted, by case.

What this machine's profiler does not know costs its column, what it cannot profile costs its
case; both are said in the notes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools.gpu.counters import metrics
from tools.gpu.counters.ncu_here import PLACES, find_ncu, known, version
from tools.gpu.counters.ncu_run import CLOSING, RAW, Metrics, Profile, run

__all__ = ["RAW", "Metrics", "Profile", "profile"]

ROUNDS = 4
MANY, SPARED = 40, 0.2  # cases that are worth a second launch, and the part of the time for that
ATTEMPTS = 5  # a profiler may name one metric at a time that it does not have
TRIAL, LEAST = 40, 5  # seconds: for a trial, worth starting for
DENIED = "ERR_NVGPUCTRPERM"


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
