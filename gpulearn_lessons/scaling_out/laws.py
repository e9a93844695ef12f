"""How well more ranks pay: efficiency, and the result of a scaling study."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

check_kind = partial(require.choice, "kind", known=("strong", "weak"))


@require.positive("seconds_one", "seconds_many")
@require.sizes("ranks")
@require.checked(kind=check_kind)
def scaling_efficiency(
    seconds_one: float, seconds_many: float, ranks: int, kind: str = "strong"
) -> float:
    """The fraction of N ranks' work that is not lost; 1 is perfect.

    Strong scaling shares one problem among the ranks: T₁ / (N · T_N). Weak scaling gives each
    rank as much as one rank had alone: T₁ / T_N.

    Seconds are those of one rank and of N ranks.

    >>> scaling_efficiency(8.0, 2.5, ranks=4)
    0.8
    >>> scaling_efficiency(8.0, 10.0, ranks=4, kind="weak")
    0.8
    """
    speedup = seconds_one / seconds_many
    return speedup / ranks if kind == "strong" else speedup


class Spread(NamedTuple):
    """The median of several values and their range."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Median and range of some values."""
    return Spread(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Scaling:
    """Seconds of one training step on 1, 2, … ranks.

    >>> run = Scaling("strong", {1: (8.0, 9.0, 8.0), 2: (5.0, 5.0, 4.0)}, cores=2)
    >>> run.speedup(2)
    Spread(median=1.8, low=1.6, high=2.0)
    """

    kind: str  # "strong" (one batch is divided) or "weak" (every rank has a whole one)
    # ranks → seconds of a step, one for each repeat; a repeat's times belong together
    seconds: Mapping[int, tuple[float, ...]]
    cores: int = 0  # how many cores, or GPUs, the ranks had; 0 if each has its own
    source: str = "measured"  # "measured" or "modeled"
    unit: str = "core"  # what `cores` counts: "core" or "GPU"

    @property
    def ranks(self) -> tuple[int, ...]:
        """The numbers of ranks, ascending."""
        return tuple(sorted(self.seconds))

    def efficiency(self, ranks: int) -> Spread:
        """The fraction of the ranks' work that is not lost: `scaling_efficiency` in each repeat."""
        if ranks not in self.seconds:
            raise BadInput(f"ranks is {shown(ranks)}: choose from {shown(list(self.ranks))}.")
        pairs = zip(self.seconds[1], self.seconds[ranks], strict=True)
        return spread([scaling_efficiency(one, many, ranks, self.kind) for one, many in pairs])

    def speedup(self, ranks: int) -> Spread:
        """How many times as many images a second as one rank: N · efficiency."""
        return Spread(*(ranks * value for value in self.efficiency(ranks)))

    @property
    def places(self) -> str:
        """What the ranks had, in words."""
        return f"{self.cores} {self.unit}{'s' * (self.cores != 1)}"
