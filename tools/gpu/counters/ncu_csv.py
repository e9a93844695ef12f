"""Reads the table that Nsight Compute prints as CSV.

It has two layouts. The page "raw" has a row per launch, a column per metric, and a row of units
below the header; the page "details" has a row per launch and metric. Lines of the profiler's own
("==PROF== …") and of the profiled program may stand before, between and behind.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Launch", "complaints", "kernel_name", "parse"]

KERNEL = "Kernel Name"


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
