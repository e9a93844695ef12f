"""Attention by heads: which rows of a fused matrix are a rank's."""

from dataclasses import dataclass

import numpy as np

from gpulearn.judge.exercise import Case
from gpulearn_lessons.tensor_parallel.layers import split_heads
from gpulearn_lessons.tensor_parallel.trial import LayerPart, SplitLayer, layer_exercise


@dataclass(frozen=True)
class FusedMatrix:
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
        positions = [
            (kind * self.heads + head) * self.d + row
            for kind in range(3)
            for head in range(own * number, own * (number + 1))
            for row in range(self.d)
        ]
        return LayerPart({"weight": weight, "heads": self.heads}, weight[positions])


def cases() -> list[Case]:
    """One head for each rank and more, one rank to eight, heads as wide as there are heads."""
    works = {
        "1 rank and 3 heads": FusedMatrix(1, 3, 2, 4),
        "2 ranks and 4 heads of 3 rows": FusedMatrix(2, 4, 3, 5),
        "2 ranks with a head each": FusedMatrix(2, 2, 5, 3),
        "3 ranks and 6 heads of 6 rows": FusedMatrix(3, 6, 6, 2),
        "4 ranks and 8 heads of 2 rows": FusedMatrix(4, 8, 2, 16),
        "8 ranks with a head of one row each": FusedMatrix(8, 8, 1, 8),
    }
    return [Case(label, (SplitLayer(work.ranks, work),)) for label, work in works.items()]


EXERCISE = layer_exercise(
    task="Return the rows of this rank's heads from a fused matrix of queries, keys and values.",
    reference=split_heads,
    cases=cases,
    real=FusedMatrix(2, 4, 3, 4),
)
