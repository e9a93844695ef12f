"""Nsight Compute's table: read, and matched with the cases by order and the kernel's name.

The table has two layouts. The page "raw" has a row per launch, a column per metric, and a row of
units below the header; the page "details" has a row per launch and metric. Lines of the
profiler's own ("==PROF== …") and of the profiled program may stand before, between and behind.
Which launch is which case is never guessed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from simt.core.registry import python_function
from tools.gpu.case import Case

__all__ = ["Launch", "complaints", "kernel_name", "kernel_of", "match", "parse"]

KERNEL = "Kernel Name"

Metrics = dict[str, float | None]


@dataclass
class Launch:
    """One profiled launch: process, kernel as Nsight Compute names it, shape, and its metrics.

    A metric that was asked for and could not be measured is None.
    """

    process: str
    kernel: str
    shape: tuple[str, str]
    metrics: dict[str, float | None] = field(default_factory=dict)


def parse(text: str) -> list[Launch]:
    """The launches in the order in which they ran.

    >>> table = '''"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
    ... "0","7","copy","smsp__inst_executed.sum","inst","7,124"'''
    >>> parse(table)[0].metrics
    {'smsp__inst_executed.sum': 7124.0}
    """
    found: dict[tuple[str, str], Launch] = {}
    for row in _rows(text):
        key = row.get("Process ID", ""), row["ID"]
        launch = found.get(key)
        if launch is None:
            shape = row.get("Grid Size", ""), row.get("Block Size", "")
            launch = found[key] = Launch(key[0], row[KERNEL], shape)
        if "Metric Name" in row:
            launch.metrics[row["Metric Name"]] = _number(row["Metric Value"])
        else:
            columns = (name for name in row if "__" in name or name.startswith("memory_"))
            launch.metrics |= {name: _number(row[name]) for name in columns}
    return list(found.values())


def _rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of the table as header → cell, without the units."""
    header: list[str] = []
    for line in text.splitlines():
        if not line.startswith('"'):
            continue
        cells = next(csv.reader([line]))
        if "ID" in cells and KERNEL in cells:
            header = cells
        elif header and len(cells) <= len(header) and cells[header.index("ID")].isdigit():
            # a row may be shorter than the header, which ends with columns of rules
            cells += [""] * (len(header) - len(cells))
            yield dict(zip(header, cells, strict=True))


def _number(cell: str) -> float | None:
    """A cell as a number; thousands may be separated by commas."""
    try:
        return float(cell.replace(",", ""))
    except ValueError:  # "n/a", "(!) n/a", or nothing
        return None


def kernel_name(printed: str) -> str:
    """The Python name of a kernel from the name that Numba gave its machine code.

    >>> kernel_name("_ZN8gpulearn7kernels6copies12copy_stridedB2v1B12cw51cXTLSUwvE5ArrayIfLi1E")
    'copy_strided'
    >>> kernel_name("_ZN7kernels6shared12_3clocals_3e11shared_readB2v1E5ArrayIiLi1E1C7mutable")
    'shared_read'
    >>> kernel_name("gpulearn::kernels::copies::copy_strided[abi:v1](Array<float, 1, C>, long)")
    'copy_strided'
    """
    if printed.startswith("_ZN"):
        place, name = 3, ""
        while number := re.match(r"\d+", printed[place:]):
            start = place + number.end()
            place = start + int(number[0])
            name = printed[start:place]
        return name
    return re.split(r"[\[(<]", printed, maxsplit=1)[0].rpartition("::")[2].strip()


def complaints(text: str) -> list[str]:
    r"""What the profiler says went wrong, a sentence each and each once.

    >>> complaints("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user may not.\n")
    ['ERR_NVGPUCTRPERM - The user may not.']
    """
    found = re.findall(r"^==(?:ERROR|WARNING)== *(.+)$", text, re.MULTILINE)
    return list(dict.fromkeys(line.strip() for line in found))


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
