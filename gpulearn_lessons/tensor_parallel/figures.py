"""One block of a decoder dealt out over ranks: its matrices, and what a rank holds and sends."""

from __future__ import annotations

from gpulearn.display import Picture, show
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.plot.controls import Explorer, choices
from gpulearn.plot.style import bare, box, centered, figure, key
from gpulearn_lessons.tensor_parallel.costs import (
    part_activation_bytes,
    part_parameters,
    tensor_parallel_bytes,
)

SHAPE = DecoderShape(vocabulary=50_304, context=2048, width=4096, heads=32, layers=32)
RANKS = (1, 2, 4, 8)
# name, rows and columns in widths, whether its rows are dealt out: torch's weight is (out, in)
MATRICES = (
    ("query", 1, 1, True),
    ("key", 1, 1, True),
    ("value", 1, 1, True),
    ("output", 1, 1, False),
    ("up", 4, 1, True),
    ("down", 1, 4, False),
)


def sentence(ranks: int, rank: int) -> str:
    """What one rank of so many holds and sends.

    >>> print(sentence(4, 1))
    Rank 1 of 4 has heads 8 to 15 of 32, a quarter of each matrix: rows of query, key, value and
    up, columns of output and down. Of 6.9 billion parameters it holds 1.7 billion, 27.6 GB with
    gradients and Adam, and 12.2 GB of activations (float32, one sequence of 2,048 tokens); it
    sends 6.54 GB in a step.
    """
    parameters = part_parameters(SHAPE, ranks)
    stored = part_activation_bytes(SHAPE, 1, ranks) / 1e9
    sent = tensor_parallel_bytes(SHAPE, 1, ranks) / ranks / 1e9
    own = SHAPE.heads // ranks
    part = {1: "all", 2: "half", 4: "a quarter", 8: "an eighth"}[ranks]
    return (
        f"Rank {rank} of {ranks} has heads {own * rank} to {own * (rank + 1) - 1} of "
        f"{SHAPE.heads}, {part} of each matrix: rows of query, key, value and up, columns of "
        f"output and down. Of {SHAPE.parameters() / 1e9:.1f} billion parameters it holds "
        f"{parameters / 1e9:.1f} billion, {16 * parameters / 1e9:.1f} GB with gradients and "
        f"Adam, and {stored:.1f} GB of activations (float32, one sequence of {SHAPE.context:,} "
        f"tokens); it sends {sent:.2f} GB in a step."
    )


def draw(ranks: int, rank: int) -> tuple[Picture, str]:
    """The six matrices of a block, with one rank's part of each filled."""
    rank = min(rank, ranks - 1)
    alt = sentence(ranks, rank)
    filled = {"facecolor": "C0", "edgecolor": "white", "hatch": "////"}
    elsewhere = {"facecolor": "0.93", "edgecolor": "white", "hatch": ""}
    with figure(9.6, 4.0) as (fig, axes):
        left = 0.0
        for name, rows, columns, by_rows in MATRICES:
            low = -rows / 2
            for part in range(ranks):
                look = filled if part == rank else elsewhere
                share = (rows if by_rows else columns) / ranks
                if by_rows:
                    top = low + rows - share * (part + 1)
                    box(axes, left, top, columns, share, linewidth=0.8, **look)
                else:
                    box(axes, left + share * part, low, share, rows, linewidth=0.8, **look)
            box(axes, left, low, columns, rows, facecolor="none", edgecolor="0.4", linewidth=1)
            centered(axes, left + columns / 2, low + rows + 0.25, name, fontsize=11)
            size = " × ".join(f"{n}w" if n > 1 else "w" for n in (rows, columns))
            centered(axes, left + columns / 2, low - 0.25, size, fontsize=9)
            left += columns + 0.7
        bare(axes, (-0.4, left - 0.3), (-2.6, 2.6), aspect="equal")
        others = elsewhere | {"edgecolor": "0.4"}
        key(fig, {f"held by rank {rank}": filled, "held by the other ranks": others})
        return show(fig, alt), alt


def tensor_parallel_explorer() -> Explorer:
    """See how a block's matrices are dealt out, for 1 to 8 ranks, and what a rank holds and sends.

    The decoder has the sizes of a model of 7 billion parameters.

    >>> tensor_parallel_explorer()
    [interactive figure: Rank 1 of 4 has heads 8 to 15 of 32, a quarter of each matrix: ...]
    """
    controls = {
        "ranks": choices("ranks", RANKS, 4, "{}"),
        "rank": choices("rank", range(max(RANKS)), 1, "{}"),
    }
    return Explorer(draw, controls)
