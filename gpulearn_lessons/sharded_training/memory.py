"""The memory of sharded training by formula: what each stage keeps on a rank, and its bytes."""

from __future__ import annotations

from collections.abc import Sequence

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

STAGES = (0, 1, 2, 3)


def _stage(value: object) -> None:
    if type(value) is not int or value not in STAGES:
        raise BadInput(f"stage is {shown(value)}: give 0 (nothing is cut), 1, 2 or 3.")


def _counts(value: object) -> None:
    for count in require.several("counts", value, "[1000, 50]"):
        require.whole("an entry of counts", count)


@require.sizes("ranks")
@require.checked(counts=_counts, stage=_stage)
@require.positive(or_zero=("weights", "gradients", "state"))
def zero_memory(
    counts: Sequence[int],
    ranks: int,
    stage: int,
    *,
    weights: float = 2,
    gradients: float = 2,
    state: float = 12,
) -> tuple[float, float, float]:
    """Bytes that one rank keeps between backward and step, in ZeRO's stages.

    What is whole has all of the `counts`; what is cut has ⌈count/N⌉ of each block. Stage 1 cuts
    the optimizer's state, stage 2 the gradients too, stage 3 the weights too. Rajbhandari et
    al., arXiv 1910.02054, 2019, figure 1, whose numbers the defaults give: mixed-precision Adam,
    with weights and gradients in 16 bits and 12 bytes of state (weights, momentum and variance in
    float32). Activations are not in it.

    Args:
        counts: parameters of each block.
        ranks: N, how many ranks there are.
        stage: 0 (nothing is cut) to 3.
        weights: bytes for each parameter.
        gradients: bytes for the gradient of each.
        state: bytes that the optimizer remembers of each.

    Returns:
        Bytes of weights, of gradients and of state.

    >>> [f"{sum(zero_memory([7_500_000_000], 64, stage)) / 1e9:.1f} GB" for stage in range(4)]
    ['120.0 GB', '31.4 GB', '16.6 GB', '1.9 GB']
    """
    whole, cut = sum(counts), sum(-(-count // ranks) for count in counts)
    return (
        weights * (cut if stage >= 3 else whole),
        gradients * (cut if stage >= 2 else whole),
        state * (cut if stage >= 1 else whole),
    )


@require.sizes("ranks")
@require.checked(counts=_counts, stage=_stage)
def zero_bytes_per_rank(
    counts: Sequence[int], ranks: int, stage: int, *, itemsize: int = 4
) -> float:
    """Bytes that each rank sends in a step: (N−1)/N · S for each gather or reduce-scatter of S.

    Stage 0 is an all-reduce on a ring, 2(N−1)/N · S. Stages 1 and 2 reduce-scatter gradients and
    gather weights: the same, but for padding. Stage 3 gathers twice, forward and backward: 1.5
    times as much. `counts` are the parameters of each block, each of `itemsize` bytes.

    >>> [zero_bytes_per_rank([1000], 4, stage) for stage in range(4)]
    [6000.0, 6000.0, 6000.0, 9000.0]
    """
    rounds = (2, 2, 2, 3)[stage]
    length = sum(counts) / ranks if stage == 0 else sum(-(-count // ranks) for count in counts)
    return float(rounds * (ranks - 1) * length * itemsize)
