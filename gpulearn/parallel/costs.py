"""The α–β model of an all-reduce: its cost by formula, and α and β from measurements.

N ranks reduce S bytes over links with latency α and 1/β bytes per second; a rank sends one
message at a time and, at the same time, receives one. Arithmetic costs nothing here.
Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
Int. J. of High Performance Computing Applications 19(1), 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Cost:
    """What an all-reduce costs on any link.

    Attributes:
        rounds: messages one after another, on the longest way: each costs α.
        path_bytes: bytes one after another, on the longest way: each costs β.
        messages: messages in all.
        total_bytes: bytes in all.
        busiest_bytes: the most bytes that one rank sends.
    """

    rounds: int
    path_bytes: float
    messages: int
    total_bytes: float
    busiest_bytes: float

    def seconds(self, link: Link) -> float:
        """Seconds on this link: rounds · α + path_bytes · β."""
        return self.rounds * link.latency + self.path_bytes / link.bandwidth


def all_reduce_cost(algorithm: str, ranks: int, size: float) -> Cost:
    """The cost of one of our all-reduces: "root", "tree", "doubling", "ring" or "halving".

    For any number of ranks and a tensor of S bytes; for "ring" and "halving" a multiple of N
    elements, or large.

    >>> all_reduce_cost("ring", ranks=4, size=1000)
    Cost(rounds=6, path_bytes=1500.0, messages=24, total_bytes=6000.0, busiest_bytes=1500.0)
    """
    chosen = require.choice("algorithm", algorithm, _COSTS)
    ranks = require.whole("ranks", ranks)
    if size != 0:
        require.above_zero("size", size)
    return _COSTS[chosen](ranks, size)


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


def _root(ranks: int, size: float) -> Cost:
    steps = 2 * (ranks - 1)
    return Cost(steps, steps * size, steps, steps * size, (ranks - 1) * size)


def _tree(ranks: int, size: float) -> Cost:
    depth = (ranks - 1).bit_length()
    messages = 2 * (ranks - 1)
    return Cost(2 * depth, 2 * depth * size, messages, messages * size, depth * size)


def _doubling(ranks: int, size: float) -> Cost:
    depth = ranks.bit_length() - 1
    core = 1 << depth
    beyond = ranks - core  # ranks that hand theirs to a partner, and get the result back
    rounds = depth + (2 if beyond else 0)
    messages = core * depth + 2 * beyond
    busiest = depth + (1 if beyond else 0)
    return Cost(rounds, rounds * size, messages, messages * size, busiest * size)


def _ring(ranks: int, size: float) -> Cost:
    steps = 2 * (ranks - 1)
    each = ring_bytes_per_rank(ranks, size)
    return Cost(steps, each, ranks * steps, ranks * each, each)


def _halving(ranks: int, size: float) -> Cost:
    depth = ranks.bit_length() - 1
    core = 1 << depth
    beyond = ranks - core
    each = ring_bytes_per_rank(core, size)
    whole = 2 * size if beyond else 0  # there and back
    return Cost(
        2 * depth + (2 if beyond else 0),
        each + whole,
        core * 2 * depth + 2 * beyond,
        core * each + 2 * beyond * size,
        each + whole / 2,
    )


_COSTS = {
    "root": _root, "tree": _tree, "doubling": _doubling, "ring": _ring, "halving": _halving,
}  # fmt: skip


def _need_sizes(sizes: object) -> None:
    values = _numbers("sizes", sizes)
    if values.ndim != 1 or np.any(values < 0) or np.unique(values).size < 2:
        raise BadInput(f"sizes is {shown(sizes)}: give at least two different ones, in bytes.")


def _need_seconds(seconds: object) -> None:
    values = _numbers("seconds", seconds)
    if np.any(values <= 0):
        raise BadInput(f"seconds is {shown(seconds)}: each time must be above zero.")


def _numbers(name: str, values: object) -> NDArray[Any]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.all(np.isfinite(numbers)):
        raise BadInput(f"{name} is {shown(values)}: give a list of numbers.")
    return numbers


@require.same_length("sizes", "seconds")
@require.checked(sizes=_need_sizes, seconds=_need_seconds)
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


@require.same_length("ranks", "sizes", "seconds")
def fit_link(
    algorithm: str, ranks: Sequence[int], sizes: Sequence[float], seconds: Sequence[float]
) -> Link:
    """The link that explains measured all-reduces best; it predicts those not measured.

    Solves rounds · α + path_bytes · β = seconds by least squares of the relative errors, over
    all measurements at once; neither α nor β can come out below zero. Each measurement has its
    number of ranks, at least 2, its bytes of the tensor and its seconds.

    >>> from gpulearn.parallel.costs import all_reduce_seconds
    >>> true = Link(20e-6, 2e9)
    >>> seconds = [all_reduce_seconds("ring", 4, size, true) for size in (1e3, 1e5, 1e7)]
    >>> print(fit_link("ring", [4, 4, 4], [1e3, 1e5, 1e7], seconds))
    fitted to ring (20 µs, 2 GB/s)
    """
    _need_seconds(seconds)
    if any(require.whole("an entry of ranks", count) < 2 for count in ranks):
        raise BadInput(f"ranks is {shown(list(ranks))}: one rank alone sends nothing.")
    costs = [all_reduce_cost(algorithm, n, s) for n, s in zip(ranks, sizes, strict=True)]
    terms = np.array([[cost.rounds, cost.path_bytes] for cost in costs], dtype=float)
    scale = terms.max(axis=0, initial=0.0)
    rows = terms / np.where(scale > 0, scale, 1) / np.asarray(seconds, dtype=float)[:, None]
    if len(costs) < 2 or np.linalg.matrix_rank(rows, tol=1e-9 * np.abs(rows).max()) < 2:
        raise BadInput(
            f"sizes is {shown(list(sizes))}: give at least two different ones, in bytes."
        )
    alpha, beta = _not_below_zero(rows) / scale
    if beta == 0:
        raise BadInput(
            f"seconds is {shown(list(seconds))}: they do not grow with the size; measure "
            f"larger ones."
        )
    return Link(float(alpha), float(1 / beta), f"fitted to {algorithm}", "measured")


def _not_below_zero(rows: NDArray[Any]) -> NDArray[Any]:
    """Least squares of rows · x = 1 with no x below zero: for two unknowns, try each alone."""
    ones = np.ones(len(rows))
    best: NDArray[Any] = np.linalg.lstsq(rows, ones)[0]
    if np.all(best >= 0):
        return best
    scales = [max(0.0, float(values @ ones) / float(values @ values)) for values in rows.T]
    return min(np.diag(scales), key=lambda x: float(np.sum((rows @ x - 1) ** 2)))
