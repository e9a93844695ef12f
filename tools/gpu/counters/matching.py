"""Which profiled launch is which case: by order and by the kernel's name, never by a guess."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from gpulearn.simt.core.registry import python_function
from tools.gpu.case import Case
from tools.gpu.counters.ncu_csv import Launch, kernel_name

__all__ = ["kernel_of", "match"]

Metrics = dict[str, float | None]


def kernel_of(case: Case) -> str:
    """The Python name of a case's kernel."""
    return str(getattr(python_function(case.kernel), "__name__", case.name))


def match(
    launches: Sequence[Launch], journal: Sequence[dict[str, Any]]
) -> tuple[dict[str, Metrics], list[str]]:
    """The metrics of each case, and a sentence for each case that has none.

    Launches of one kernel one after the other are matched if there are as many in the table as
    in the journal; if one is missing, nobody knows which, and none of them counts.

    Args:
        launches: from the profiler's table.
        journal: what the profiled program wrote.

    >>> table = [Launch("7", "_ZN1k4copyE", ("", ""), {"a": 1.0})]
    >>> match(table, [{"process": 7}, {"launch": "copy, reversed", "kernel": "copy"}])
    ({'copy, reversed': {'a': 1.0}}, [])
    """
    own = next((str(entry["process"]) for entry in journal if "process" in entry), "")
    processes = {launch.process for launch in launches}
    if own in processes:  # a probe or a tool that the program starts is another process
        launches = [launch for launch in launches if launch.process == own]
    failed = {entry["failed"] for entry in journal if "failed" in entry}
    meant = [e for e in journal if "launch" in e and e["launch"] not in failed]
    found = _aligned(launches, meant)
    if meant and meant[-1]["launch"] not in found:
        # a program that died in its last launch: the table may end before it
        found |= _aligned(launches, meant[:-1])
    faults = [
        f"{entry['launch']}: no launch in the profiler's table can be matched with it."
        for entry in meant
        if entry["launch"] not in found
    ]
    if faults:
        there = _runs([kernel_name(launch.kernel) for launch in launches])
        seen = ", ".join(f"{count} of {name}" for name, count, _ in there) or "none"
        faults.append(f"The profiler's table has these launches, in this order: {seen}.")
    return found, faults


def _aligned(launches: Sequence[Launch], meant: Sequence[dict[str, Any]]) -> dict[str, Metrics]:
    """The metrics of the cases whose run of equal kernels is as long in the table."""
    there = _runs([kernel_name(launch.kernel) for launch in launches])
    wanted = _runs([entry["kernel"] for entry in meant])
    blocks = SequenceMatcher(
        None, [run[:2] for run in there], [run[:2] for run in wanted], autojunk=False
    ).get_matching_blocks()
    found: dict[str, Metrics] = {}
    for block in blocks:
        for k in range(block.size):
            _, count, first = wanted[block.b + k]
            start = there[block.a + k][2]
            for i in range(count):
                found[meant[first + i]["launch"]] = launches[start + i].metrics
    return found


def _runs(names: Sequence[str]) -> list[tuple[str, int, int]]:
    """Equal neighbours as (name, how many, position of the first)."""
    found, place = [], 0
    for name, same in groupby(names):
        count = len(list(same))
        found.append((name, count, place))
        place += count
    return found
