"""What an all-reduce costs by formula: messages, bytes, and seconds in the α–β model.

N ranks reduce S bytes over links with latency α and 1/β bytes per second; a rank sends one
message at a time and, at the same time, receives one. Arithmetic costs nothing here.
Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
Int. J. of High Performance Computing Applications 19(1), 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulearn import require
from gpulearn.parallel.links import Link, as_link

__all__ = ["Cost", "all_reduce_cost", "all_reduce_seconds", "ring_bytes_per_rank"]


@require.sizes("ranks")
@require.positive(or_zero=("size",))
def ring_bytes_per_rank(ranks: int, size: float) -> float:
    """Bytes that each rank sends in a ring all-reduce: 2(N−1)/N · S.

    Args:
        ranks: N, the number of ranks.
        size: S, the tensor's size in bytes.

    Raises:
        BadInput: `ranks` is no whole number above zero, or `size` is below zero.

    >>> ring_bytes_per_rank(ranks=4, size=1000)
    1500.0
    """
    return 2 * (ranks - 1) / ranks * size


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
    """The cost of one of our four all-reduces.

    Args:
        algorithm: "root", "tree", "doubling" or "ring".
        ranks: N, the number of ranks; any, not powers of two alone.
        size: S, the tensor's size in bytes; for the ring a multiple of N elements, or large.

    Raises:
        BadInput: the algorithm is not known, or a number is out of range.

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

    Via one root 2(N−1)(α + Sβ); tree 2⌈log₂N⌉(α + Sβ); recursive doubling log₂N(α + Sβ), with
    two more rounds where N is no power of two; ring 2(N−1)α + 2(N−1)/N · Sβ.

    Args:
        algorithm: "root", "tree", "doubling" or "ring".
        ranks: N, the number of ranks.
        size: S, the tensor's size in bytes.
        link: the link between any two of them, or its name.

    Raises:
        BadInput: the algorithm or the link is not known, or a number is out of range.

    >>> all_reduce_seconds("ring", ranks=1024, size=1e9, link=Link(10e-6, 10e9))
    0.2202646875
    """
    return all_reduce_cost(algorithm, ranks, size).seconds(as_link(link))


def _root(ranks: int, size: float) -> Cost:
    steps = 2 * (ranks - 1)
    most = (ranks - 1) * size
    return Cost(steps, steps * size, steps, steps * size, most)


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


_COSTS = {"root": _root, "tree": _tree, "doubling": _doubling, "ring": _ring}
