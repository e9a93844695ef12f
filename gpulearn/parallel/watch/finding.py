"""A finding: one mistake of a training on several ranks, with the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpulearn.parallel.launch.failures import location
from gpulearn.parallel.launch.messages import TraceFrame
from gpulearn.require import listed

EVEN = (
    "Give every rank as many batches (DistributedSampler pads, drop_last=True drops), or run the "
    "loop in model.join()."
)
LEVELS = ("error", "warning", "note")
Record = Mapping[str, Any]  # what one rank's watch has written down


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, on which ranks, from which step on, and what to do about it."""

    kind: str
    level: str  # "error", "warning" or "note"
    message: str
    cure: str
    where: str = ""  # "train.py, line 31"
    ranks: tuple[int, ...] = ()
    step: int | None = None  # the first optimizer step that shows it, from 0

    def __str__(self) -> str:
        place = f", {self.where}" if self.where else ""
        return f"{self.level.upper()} {self.kind}{place}: {self.message}\n  {self.cure}"


def is_split(records: Iterable[Record]) -> bool:
    """Whether ranks hold parts of a model, or send from one to one: then they are no replicas."""
    return any(
        r["sharded"] or r["messages"] or r["rpc"] or (r["splits"] and not r["wrappers"])
        for r in records
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Each once, its line as a reader knows it; errors first."""
    told = {replace(finding, where=shown(finding.where)) for finding in findings}
    return sorted(told, key=lambda finding: (LEVELS.index(finding.level), finding.kind))


def shown(place: str) -> str:
    """A file and a line as a reader knows them: `train.py, line 31`, or a notebook's cell."""
    file, _, line = place.rpartition(":")
    return location(TraceFrame(file, int(line), "")) if line else ""


def named(ranks: Sequence[int]) -> str:
    """`rank 1`, `ranks 0 and 2`, `ranks 0 to 7`."""
    if len(ranks) > 2 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"rank{'s' if ranks[1:] else ''} {listed([*map(str, ranks)])}"
