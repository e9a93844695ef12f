"""What an answer may use and see; settings name limits on systems too that cannot keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one answer may use."""

    seconds: float = 20.0  # for all cases of an exercise, as long as it has a core
    memory_mib: float = 2048.0  # of all its processes together
    processes: float = 64.0  # at any time
    disk_mib: float = 64.0  # in its home, which is in memory
    output_mib: float = 4.0  # that it may print


class Confinement(NamedTuple):
    """Where an answer runs, from the grader down to the process that has it."""

    hidden: list[Path]  # folders and files that look empty to it
    box: Path  # an empty folder, in which it finds its home
    limits: Limits
    seen: tuple[Path, ...] = ()  # what lies in hidden folders and is seen all the same
