"""The usual pipeline schedules: naive, GPipe, 1F1B, and interleaved."""

from __future__ import annotations

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn_lessons.pipeline_parallel.actions import Action, Schedule, schedule_of

SCHEDULES = ("naive", "GPipe", "1F1B", "interleaved")


def schedule(name: str, ranks: int, micro_batches: int, chunks: int = 1) -> Schedule:
    """One of the usual schedules of a pipeline.

    - "naive": one micro-batch is at work at a time, forwards through all ranks and back.
    - "GPipe": all forward passes, then all backward passes (Huang et al., "GPipe: efficient
      training of giant neural networks using pipeline parallelism", 2019).
    - "1F1B": each rank alternates as soon as it can, so that it holds the activations of at most
      as many micro-batches as there are ranks from it to the last (Narayanan et al.,
      "Memory-efficient pipeline-parallel DNN training", 2021, where it is PipeDream-Flush).
    - "interleaved": 1F1B with several chunks of layers on each rank (Narayanan et al.,
      "Efficient large-scale language model training on GPU clusters using Megatron-LM", 2021).

    Args:
        name: one of these four.
        ranks: p, how many ranks.
        micro_batches: m, into how many parts a batch is cut.
        chunks: v, stages on each rank, for "interleaved": rank r has stages r, r + p, r + 2·p, …

    >>> schedule("1F1B", ranks=2, micro_batches=3)
    rank  stages  order
    ----  ------  -----------------
    0     0       F0 F1 B0 F2 B1 B2
    1     1       F0 B0 F1 B1 F2 B2
    1F1B: 2 stages on 2 ranks, 3 micro-batches.
    """
    require.choice("schedule", name, SCHEDULES)
    p, m = require.whole("ranks", ranks), require.whole("micro_batches", micro_batches)
    v = require.whole("chunks", chunks)
    if name == "interleaved":
        return _interleaved(p, m, v)
    if v > 1:
        raise BadInput(f"chunks is {v}: {name} has one stage on each rank; take 'interleaved'.")
    if name == "naive":
        orders = [[(kind, micro) for micro in range(m) for kind in "FB"]] * p
    elif name == "GPipe":
        orders = [[(kind, micro) for kind in "FB" for micro in range(m)]] * p
    else:
        orders = [pipeline_schedule(rank, p, m) for rank in range(p)]
    return schedule_of(name, orders)


def _checked(args: dict[str, object]) -> None:
    p = require.whole("ranks", args["ranks"])
    require.whole("micro_batches", args["micro_batches"])
    if require.from_zero("rank", args["rank"]) >= p:
        raise BadInput(f"rank is {args['rank']}: there are {p} ranks, 0 to {p - 1}.")


@require.together(_checked)
def pipeline_schedule(rank: int, ranks: int, micro_batches: int) -> list[tuple[str, int]]:
    """The order of one rank in 1F1B: some forward passes, then backward and forward in turn.

    Rank r of p, which has stage r, begins with p − r forward passes, since its first gradient has
    to come from the last rank; after each backward pass follows one forward pass, as long as there
    are any. Returns pairs such as ("F", 0) and ("B", 0), forward and backward of micro-batch 0.

    >>> pipeline_schedule(1, ranks=2, micro_batches=2)
    [('F', 0), ('B', 0), ('F', 1), ('B', 1)]
    """
    warm = min(ranks - rank, micro_batches)
    order = [("F", micro) for micro in range(warm)]
    for micro in range(micro_batches):
        order.append(("B", micro))
        if micro + warm < micro_batches:
            order.append(("F", micro + warm))
    return order


def warm_up(rank: int, ranks: int, micro_batches: int, chunks: int) -> int:
    """Forward passes of a rank before its first backward pass when chunks are interleaved.

    The first gradient comes to rank r after p·(v−1) passes of the earlier chunks, and it must
    wait once more for each rank behind it, on the way there and on the way back. One pass more
    belongs to the first pair.
    """
    return min((ranks - rank - 1) * 2 + (chunks - 1) * ranks + 1, micro_batches * chunks)


def _interleaved(p: int, m: int, v: int) -> Schedule:
    if m % p:
        raise BadInput(
            f"micro_batches is {m}, which {p} ranks do not divide: interleaved chunks take "
            f"micro-batches in groups of as many as there are ranks; {m - m % p + p} would do."
        )
    orders: list[tuple[Action, ...]] = []
    for rank in range(p):
        # a group of p micro-batches passes all chunks before the next group begins
        passes = [
            (chunk, group + micro)
            for group in range(0, m, p)
            for chunk in range(v)
            for micro in range(p)
        ]
        forward = [Action("F", micro, rank + chunk * p) for chunk, micro in passes]
        backward = [Action("B", micro, rank + (v - 1 - chunk) * p) for chunk, micro in passes]
        warm = warm_up(rank, p, m, v)
        order = forward[:warm]
        for number, action in enumerate(backward):
            order.append(action)
            order += forward[warm + number : warm + number + 1]
        orders.append(tuple(order))
    return Schedule("interleaved", tuple(orders))
