"""How far modelled times are from recorded ones: the distribution, the order, the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.perf.recordings import Recording
from gpulearn.perf.timing import format_seconds

__all__ = ["Compared", "Comparison", "counted", "rank_correlation"]

APART = 1.2  # two recorded times are apart if one is more than 20 % longer
WORST = 10  # shown of a list


@dataclass(frozen=True)
class Compared:
    """A case's recorded and modelled seconds.

    Attributes:
        case: its name.
        recorded: seconds on the GPU.
        modelled: seconds by `gl.estimate`.
        limit: what the estimate says most of the time goes to.
        reason: the assumption of the estimate that the counters say is broken; empty where
            recording and model agree within a quarter.
    """

    case: str
    recorded: float
    modelled: float
    limit: str
    reason: str

    @property
    def ratio(self) -> float:
        """Recorded by modelled: above 1 where the GPU was slower than the estimate."""
        return self.recorded / self.modelled


@dataclass(frozen=True)
class Comparison:
    """All cases, and those that were left out with the reason for each."""

    gpu: str
    recording: Recording
    rows: tuple[Compared, ...]
    left_out: Mapping[str, str]

    @property
    def headline(self) -> str:
        """The distribution and the order in one sentence."""
        r, wrong = self.ratios, len(self.wrongly_ranked)
        return (
            f"{len(self.rows)} kernels, recorded by modelled: median {r['median']:.2f}, quartiles "
            f"{r['lower quartile']:.2f} to {r['upper quartile']:.2f}, from {r['least']:.2f} to "
            f"{r['largest']:.2f}; {self.within(1.25):.0%} within a quarter; rank correlation "
            f"{self.correlation:.2f}; {wrong:,} of {self.pairs:,} pairs ranked wrongly"
        )

    @property
    def ratios(self) -> dict[str, float]:
        """Recorded by modelled: least, lower quartile, median, upper quartile, largest."""
        found = np.quantile([row.ratio for row in self.rows], (0, 0.25, 0.5, 0.75, 1))
        names = ("least", "lower quartile", "median", "upper quartile", "largest")
        return dict(zip(names, map(float, found), strict=True))

    def within(self, factor: float) -> float:
        """The share of cases whose recorded time is within a factor of the modelled one."""
        return float(np.mean([1 / factor <= row.ratio <= factor for row in self.rows]))

    @property
    def correlation(self) -> float:
        """Spearman's: that of the ranks of recorded and modelled times; 1 for the same order."""
        return rank_correlation(
            [row.recorded for row in self.rows], [row.modelled for row in self.rows]
        )

    @property
    def wrongly_ranked(self) -> list[tuple[Compared, Compared]]:
        """Pairs of which the model says that the second is slower, when the first is.

        Only pairs whose recorded times are more than 20 % apart; the furthest apart first.
        """
        by_model = sorted(self.rows, key=lambda row: row.modelled)
        found = [
            (a, b)
            for a, b in combinations(by_model, 2)
            if a.modelled < b.modelled and a.recorded > APART * b.recorded
        ]
        return sorted(found, key=lambda pair: pair[1].recorded / pair[0].recorded)

    @property
    def pairs(self) -> int:
        """How many pairs have recorded times more than 20 % apart."""
        times = sorted(row.recorded for row in self.rows)
        return sum(b > APART * a for a, b in combinations(times, 2))

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def as_rows(self) -> list[dict[str, Any]]:
        """As the rows of a recording: a summary, then cases, wrong pairs, what was left out."""
        wrong = self.wrongly_ranked
        facts = {
            **self.ratios,
            "within a quarter": self.within(1.25),
            "correlation": self.correlation,
        }
        summary = {"what": "summary", "gpu": self.gpu, "said": self.headline, **facts}
        return [
            summary | {"pairs": self.pairs, "wrong pairs": len(wrong)},
            *({"what": "case", **vars(row)} for row in self.rows),
            *({"what": "wrong pair", "slower": a.case, "faster": b.case} for a, b in wrong),
            *({"what": "left out", "case": c, "reason": r} for c, r in self.left_out.items()),
        ]


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their mean rank.

    Where all values of one are equal there is no order to agree with: then it is 0.

    >>> rank_correlation([1, 2, 3], [10, 20, 15])
    0.5
    """
    ranks = []
    for values in (np.asarray(a, float), np.asarray(b, float)):
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(count) - (count - 1) / 2)[place])
    if any(np.ptp(places) == 0 for places in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def counted(left_out: Mapping[str, str]) -> str:
    """How often each reason for leaving a case out occurs, in words."""
    reasons = list(left_out.values())
    return "; ".join(f"{reasons.count(r)}: {require.shorten(r)}" for r in dict.fromkeys(reasons))


def _lines(found: Comparison) -> Iterator[str]:
    yield f"{found.headline} (model: {found.gpu}; {found.recording.provenance})."
    ordered = sorted(found.rows, key=lambda row: row.ratio)
    shown = ordered if len(ordered) <= 2 * WORST else [*ordered[:WORST], *ordered[-WORST:]]
    yield from _table("recorded by modelled, least and largest", shown)
    if found.wrongly_ranked:
        yield "ranked wrongly, furthest apart first:"
    for slower, faster in found.wrongly_ranked[:WORST]:
        yield (
            f"  {slower.case}: {format_seconds(slower.recorded)}, modelled as faster than "
            f"{faster.case}: {format_seconds(faster.recorded)}"
        )
    if found.left_out:
        yield f"left out: {counted(found.left_out)}."


def _table(title: str, rows: Iterable[Compared]) -> Iterator[str]:
    yield f"{title}:"
    for row in rows:
        times = f"{format_seconds(row.recorded):>8} {format_seconds(row.modelled):>8}"
        yield f"  {row.ratio:6.2f} {times} {row.limit:10} {row.case:44} {row.reason}"
