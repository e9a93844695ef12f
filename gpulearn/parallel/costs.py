"""The α–β model of an all-reduce: its cost by formula, and α and β from measurements.

N ranks reduce S bytes over links with latency α and 1/β bytes per second; a rank sends one
message at a time and, at the same time, receives one. Arithmetic costs nothing here.
Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
Int. J. of High Performance Computing Applications 19(1), 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.links import Link, as_link
from gpulearn.require import shown


@require.sizes("ranks")
@require.positive(or_zero=("size",))
def ring_bytes_per_rank(ranks: int, size: float) -> float:
    """Bytes that each of N ranks sends in a ring all-reduce of S bytes: 2(N−1)/N · S.

    >>> ring_bytes_per_rank(ranks=4, size=1000)
    1500.0
    """
    return 2 * (ranks - 1) / ranks * size


@require.sizes("ranks")
@require.positive(or_zero=("size",))
def halving_doubling_cost(ranks: int, size: float, link: Link) -> tuple[int, float, float]:
    """What recursive halving and doubling costs, for a power of two of ranks.

    log₂N exchanges of S/2, S/4 … S/N bytes with which the sums are made, and as many with which
    they are handed back, for a tensor of S bytes.

    Returns:
        Rounds one after another, 2·log₂N; bytes that each rank sends, 2(N−1)/N · S; and seconds,
        rounds · α + bytes · β.

    >>> halving_doubling_cost(4, 1000, Link(latency=1e-6, bandwidth=1e9))
    (4, 1500.0, 5.5e-06)
    """
    if ranks & (ranks - 1):
        raise BadInput(f"ranks is {ranks}: give a power of two.")
    rounds = 2 * (ranks.bit_length() - 1)
    sent = 2 * (ranks - 1) / ranks * size
    return rounds, sent, rounds * link.latency + sent / link.bandwidth


class Cost(NamedTuple):
    """What an all-reduce costs on any link."""

    rounds: int  # messages one after another, on the longest way: each costs α
    path_bytes: float  # bytes one after another, on the longest way: each costs β

    def seconds(self, link: Link) -> float:
        """Seconds on this link: rounds · α + path_bytes · β."""
        return self.rounds * link.latency + self.path_bytes / link.bandwidth


@require.sizes("ranks")
@require.positive(or_zero=("size",))
def all_reduce_cost(algorithm: str, ranks: int, size: float) -> Cost:
    """The cost of one of our all-reduces: "root", "tree", "doubling", "ring" or "halving".

    For any number of ranks and a tensor of S bytes; for "ring" and "halving" a multiple of N
    elements, or large.

    >>> all_reduce_cost("ring", ranks=4, size=1000)
    Cost(rounds=6, path_bytes=1500.0)
    """
    around = 2 * (ranks - 1)
    up_and_down = 2 * (ranks - 1).bit_length()
    exchanges = ranks.bit_length() - 1
    core = 1 << exchanges
    beyond = 2 if ranks > core else 0  # the others hand theirs to a partner, and get the result
    costs = {
        "root": Cost(around, around * size),
        "tree": Cost(up_and_down, up_and_down * size),
        "doubling": Cost(exchanges + beyond, (exchanges + beyond) * size),
        "ring": Cost(around, around / ranks * size),
        "halving": Cost(2 * exchanges + beyond, 2 * (core - 1) / core * size + beyond * size),
    }
    return costs[require.choice("algorithm", algorithm, costs)]


def all_reduce_seconds(algorithm: str, ranks: int, size: float, link: Link | str) -> float:
    """Seconds of an all-reduce in the α–β model, for ranks that need not be here.

    For a tensor of S bytes. Via one root 2(N−1)(α + Sβ); tree 2⌈log₂N⌉(α + Sβ); recursive doubling
    log₂N(α + Sβ), with two more rounds where N is no power of two; ring 2(N−1)α + 2(N−1)/N · Sβ;
    recursive halving and doubling as `halving_doubling_cost`, with two more rounds of S bytes where
    N is no power of two. `link` lies between any two ranks, and may be a name.

    >>> all_reduce_seconds("ring", ranks=1024, size=1e9, link=Link(10e-6, 10e9))
    0.2202646875
    """
    return all_reduce_cost(algorithm, ranks, size).seconds(as_link(link))


def _measured(args: dict[str, Any]) -> None:
    sizes, seconds = (require.real_array(name, args[name]) for name in ("sizes", "seconds"))
    if not (np.isfinite(sizes) & (sizes >= 0)).all() or np.unique(sizes).size < 2:
        raise BadInput(
            f"sizes is {shown(args['sizes'])}: give at least two different ones, in bytes."
        )
    if not (np.isfinite(seconds) & (seconds > 0)).all():
        raise BadInput(f"seconds is {shown(args['seconds'])}: each time must be above zero.")


@require.same_length("sizes", "seconds")
@require.together(_measured)
def fit_alpha_beta(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Fit seconds = α + β · size to measured times, by least squares.

    Each point counts by its relative error: times span many orders of magnitude, and the
    error of the longest alone would else be larger than α.

    Returns:
        α in seconds and β in seconds per byte. Either can come out below zero where the times
        do not follow the model.

    >>> alpha, beta = fit_alpha_beta([1000, 2000, 8000], [11e-6, 12e-6, 18e-6])
    >>> f"{alpha:.2g} s, {1 / beta:.2g} bytes per second"
    '1e-05 s, 1e+09 bytes per second'
    """
    weights = 1 / np.asarray(seconds, dtype=float)
    terms = np.stack([np.ones(len(sizes)), np.asarray(sizes, dtype=float)], axis=1)
    scale = terms.max(axis=0)  # both columns of one order, or the fit loses digits
    rows = terms / scale * weights[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(rows, np.ones(len(sizes)))
    return float(alpha / scale[0]), float(beta / scale[1])
