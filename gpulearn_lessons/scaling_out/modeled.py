"""How a data-parallel step scales by formula: on ranks that need not be here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.costs import all_reduce_seconds
from gpulearn.parallel.links import Link
from gpulearn_lessons.scaling_out.laws import Scaling, check_kind

BACKWARD = 2 / 3  # of a step's computing: it takes two products where forward takes one
POWERS = tuple(2**k for k in range(11))


@require.positive("compute", or_zero=("size",))
@require.sizes("ranks", "buckets")
@require.checked(kind=check_kind)
def data_parallel_seconds(
    ranks: int,
    compute: float,
    size: float,
    link: Link | str,
    *,
    kind: str = "weak",
    overlap: bool = False,
    buckets: int = 1,
) -> float:
    """Seconds of one data-parallel step in the α–β model.

    A rank computes C seconds: `compute` if each has its own batch (weak), `compute` / N if one
    batch is divided (strong). The gradients travel in B buckets of S/B bytes; each takes
    a = `all_reduce_seconds("ring", N, S/B, link)`.

    One after the other: C + B·a. Overlapping: forward takes F = C/3 and backward D = 2C/3, since
    it has two products where forward has one (Narayanan et al., arXiv 2104.04473, 2021).
    Bucket k of B is full at F + k·D/B and leaves when the one before it is through, so the last
    is through at F + max(D + a, D/B + B·a): either the last bucket alone sticks out, or the
    buckets queue from the first on. With one bucket nothing overlaps, and each more pays the
    latency again. Computing and sending do not slow each other down here, and the optimizer
    takes no time.

    N are the ranks, `compute` seconds that one computes for the batch, S bytes of all gradients, B
    buckets of one size; the link, or its name, is that between any two ranks.

    >>> link = Link(latency=0.0, bandwidth=1e9)
    >>> data_parallel_seconds(2, compute=0.3, size=1e8, link=link)  # 0.1 s of communication
    0.4
    >>> round(data_parallel_seconds(2, 0.3, 1e8, link, overlap=True, buckets=4), 6)
    0.325
    """
    share = compute / ranks if kind == "strong" else compute
    each = all_reduce_seconds("ring", ranks, size / buckets, link)
    if not overlap:
        return share + buckets * each
    backward = BACKWARD * share
    return share - backward + max(backward + each, backward / buckets + buckets * each)


def _part(value: object) -> None:
    require.above_zero("least", value)
    if value > 1:  # type: ignore[operator]
        raise BadInput(f"least is {require.shown(value)}: give a part, above 0 and at most 1.")


@require.checked(least=_part)
@require.positive("compute", or_zero=("size",))
@require.sizes("batch")
def how_many_gpus(compute: float, size: float, link: Link, batch: int, least: float = 0.5) -> int:
    """The largest number of GPUs that share one batch and still compute for a part of the time.

    On N GPUs a step takes C/N seconds of computing, and then a ring all-reduce of 2(N−1)·(α +
    S/(N·β)) seconds, with the link's latency α and β bytes per second; nothing overlaps. The part
    that is computing falls as N grows. No GPU is without an image, so N is at most `batch`.

    Compute is C, the seconds in which one GPU computes the whole batch of images, size is S, the
    bytes of all gradients; `least` is the part of a step that must be computing.

    >>> how_many_gpus(compute=0.9, size=1e8, link=Link(latency=0.0, bandwidth=1e9), batch=256)
    5
    """
    gpus = 1
    while gpus < batch:
        share = compute / (gpus + 1)
        exchange = 2 * gpus * (link.latency + size / (gpus + 1) / link.bandwidth)
        if share < least * (share + exchange):
            break
        gpus += 1
    return gpus


def modeled_scaling(
    compute: float,
    size: float,
    link: Link | str,
    *,
    ranks: Sequence[int] = POWERS,
    kind: str = "weak",
    overlap: bool = False,
    buckets: int = 1,
) -> Scaling:
    """`data_parallel_seconds`, with its arguments, for several numbers of ranks.

    The numbers are ascending; 1 is added. Each rank has its own core.

    >>> run = modeled_scaling(0.1, 1e8, "100 Gbit", ranks=[8, 1024])
    >>> f"{run.efficiency(8).median:.2f}, {run.efficiency(1024).median:.2f}"
    '0.88, 0.74'
    """
    counts = sorted({1, *require.ascending("ranks", ranks)})
    step = partial(data_parallel_seconds, kind=kind, overlap=overlap, buckets=buckets)
    seconds = {count: (step(count, compute, size, link),) for count in counts}
    return Scaling(kind, seconds, source="modeled")
