"""Attention by heads: which rows of a fused matrix are a rank's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.model_parallel.tensor_parallel.layers import split_heads
from gpulearn_lessons.model_parallel.trial import LayerPart, SplitLayer, layer_exercise


@dataclass(frozen=True)
class Fused:
    """A fused matrix, (3·heads·d, width), of known numbers."""

    ranks: int
    heads: int
    d: int
    width: int

    def __call__(self, number: int) -> LayerPart:
        """What a rank is given, and its rows."""
        rows = 3 * self.heads * self.d
        weight = np.arange(rows * self.width, dtype=np.float64).reshape(rows, self.width)
        own = self.heads // self.ranks
        places = [
            (kind * self.heads + head) * self.d + row
            for kind in range(3)
            for head in range(own * number, own * (number + 1))
            for row in range(self.d)
        ]
        return LayerPart({"weight": weight, "heads": self.heads}, weight[places])


def cases() -> list[Case]:
    """One head for each rank and more, one rank to eight, heads as wide as there are heads."""
    works = {
        "1 rank and 3 heads": Fused(1, 3, 2, 4),
        "2 ranks and 4 heads of 3 rows": Fused(2, 4, 3, 5),
        "2 ranks with a head each": Fused(2, 2, 5, 3),
        "3 ranks and 6 heads of 6 rows": Fused(3, 6, 6, 2),
        "4 ranks and 8 heads of 2 rows": Fused(4, 8, 2, 16),
        "8 ranks with a head of one row each": Fused(8, 8, 1, 8),
    }
    return [Case(label, (SplitLayer(work.ranks, work),)) for label, work in works.items()]


answers = Answers(split_heads)

MINE = "mine = slice(own * rank(), own * (rank() + 1))"
UNFLATTEN = "weight.unflatten(0, (3, heads, -1))"
PARTS = "parts[:, mine].flatten(0, 2)"

answers.edit(
    {UNFLATTEN: "weight.tensor_split(world_size())[rank()]", PARTS: "parts"},
    "rows one after another: the first rank gets queries alone and the last one values alone. "
    "All queries come first, then all keys, then all values: a head needs its rows of all three.",
)
answers.edit(
    {MINE: "mine = slice(rank(), None, world_size())"},
    "heads r, r + N, r + 2·N … are dealt out like cards: here rank r has h/N heads in a row, which "
    "meet the columns of `output` that it has.",
)
answers.edit(
    {MINE: "mine = slice(heads - own * (rank() + 1), heads - own * rank())"},
    "those are another rank's heads: rank 0 has the first ones, the last rank the last ones.",
)
answers.edit(
    {MINE: "mine = [rank()]"},
    "a rank gets one head: it has h/N of them.",
)
answers.edit(
    {UNFLATTEN: "weight.unflatten(0, (3, -1, heads))", PARTS: "parts[..., mine, :].flatten(0, 2)"},
    "a part of every head is cut off: the rows of a head lie together, so the axis of heads comes "
    "before that of the rows in a head.",
)
answers.edit(
    {PARTS: "parts[0, mine].flatten(0, 1)"},
    "the queries' rows alone: keys and values have rows of each head too.",
)
answers.edit(
    {PARTS: "parts.flatten(0, 2)"},
    "all heads are returned: select this rank's, in each of the three.",
)
answers.edit(
    {PARTS: "parts[:, mine].transpose(0, 1).flatten(0, 2)"},
    "the right rows in another order: head by head. Whoever takes them apart expects all queries, "
    "then all keys, then all values.",
)
answers.edit(
    {PARTS: "parts[:, mine].flatten(1, 2)"},
    "the three stand on an axis of their own: make one matrix of them.",
)
answers.edit(
    {PARTS: "torch.cat([parts[0, mine].flatten(0, 1), parts[1:].flatten(0, 2)])"},
    "of the queries the right rows are returned, and all rows of keys and values: select this "
    "rank's heads in each of the three.",
    torch=torch,
)


@answers.wrong(
    "the width is cut: the columns of this matrix meet all of x, which every rank has. It is rows "
    "that make heads."
)
def columns(weight: Any, heads: int) -> Any:
    return weight.tensor_split(world_size(), dim=1)[rank()]


@answers.wrong(
    "d is taken to be width / heads, which it need not be: it is the number of rows by 3·heads."
)
def square(weight: Any, heads: int) -> Any:
    width, own = weight.shape[1], heads // world_size()
    d = width // heads
    first, end = rank() * own * d, (rank() + 1) * own * d
    return torch.cat([weight[kind * width :][first:end] for kind in range(3)])


@answers.right
def three_parts(weight: Any, heads: int) -> Any:
    parts = []
    for kind in weight.chunk(3):
        size = len(kind) // world_size()
        parts.append(kind[rank() * size : (rank() + 1) * size])
    return torch.cat(parts)


@answers.right
def by_numbers(weight: Any, heads: int) -> Any:
    d, own = len(weight) // (3 * heads), heads // world_size()
    rows = [
        kind * heads * d + head * d + row
        for kind in range(3)
        for head in range(rank() * own, (rank() + 1) * own)
        for row in range(d)
    ]
    return weight[torch.tensor(rows)]


EXERCISE = layer_exercise(
    task="Return this rank's heads' rows of a matrix that makes queries, keys and values.",
    reference=split_heads,
    cases=cases,
    answers=answers,
    real=Fused(2, 4, 3, 4),
)
