"""One linear layer, dealt out by columns or by rows."""

from dataclasses import dataclass

import numpy as np

from gpulearn.judge.exercise import Case
from gpulearn_lessons.tensor_parallel.trial import LayerPart, SplitLayer


@dataclass(frozen=True)
class _Linear:
    """x·Wᵀ + b of known numbers."""

    ranks: int  # N
    batch: tuple[int, ...]  # the leading axes of x
    inputs: int  # columns of x
    outputs: int  # columns of the result
    seed: int = 0  # of the numbers

    def numbers(self) -> tuple[np.ndarray, ...]:
        """x, W, b and the gradient of the result."""
        random = np.random.default_rng((self.ranks, self.inputs, self.outputs, self.seed))
        shapes = (
            (*self.batch, self.inputs),
            (self.outputs, self.inputs),
            (self.outputs,),
            (*self.batch, self.outputs),
        )
        return tuple(random.normal(size=shape) for shape in shapes)

    def share(self, count: int, number: int) -> slice:
        """A rank's part of so many columns."""
        size = count // self.ranks
        return slice(size * number, size * (number + 1))


class ByColumns(_Linear):
    """Each rank makes some columns of the result."""

    def __call__(self, number: int) -> LayerPart:
        """A rank's part."""
        x, weight, bias, upstream = self.numbers()
        mine = self.share(self.outputs, number)
        own = upstream[..., mine]
        return LayerPart(
            {"x": x, "weight": weight[mine], "bias": bias[mine]},
            (x @ weight.T + bias)[..., mine],
            own,
            {
                "x": upstream @ weight,
                "weight": _rows(own).T @ _rows(x),
                "bias": _rows(own).sum(0),
            },
        )


class ByRows(_Linear):
    """Each rank has some columns of the input."""

    def __call__(self, number: int) -> LayerPart:
        """A rank's part."""
        x, weight, bias, upstream = self.numbers()
        mine = self.share(self.inputs, number)
        return LayerPart(
            {"x": x[..., mine], "weight": weight[:, mine], "bias": bias},
            x @ weight.T + bias,
            upstream,
            {
                "x": (upstream @ weight)[..., mine],
                "weight": _rows(upstream).T @ _rows(x[..., mine]),
                "bias": _rows(upstream).sum(0),
            },
        )


def cases(dealt: type[ByColumns | ByRows]) -> list[Case]:
    """One rank to eight, one column each and more, two axes and three."""
    works = {
        "1 rank": dealt(1, (3,), 4, 2),
        "2 ranks": dealt(2, (3,), 4, 6),
        "2 ranks and batches of rows": dealt(2, (2, 3), 6, 4),
        "3 ranks": dealt(3, (5,), 6, 9),
        "4 ranks with one column each": dealt(4, (2,), 4, 4),
        "8 ranks": dealt(8, (1, 2), 16, 8),
    }
    return [Case(label, (SplitLayer(work.ranks, work),)) for label, work in works.items()]


def _rows(table: np.ndarray) -> np.ndarray:
    return table.reshape(-1, table.shape[-1])
