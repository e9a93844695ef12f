"""Layers of which each rank holds a part: columns, rows, and a table by its rows.

As in Megatron-LM (arXiv 1909.08053): a column-parallel layer, what works on each number alone,
and a row-parallel layer need one all-reduce forward and one backward.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import largest_over_ranks
from gpulearn_lessons.tensor_parallel.operations import (
    copy_to_ranks,
    scatter_sums,
    sum_of_ranks,
)

__all__ = [
    "ColumnParallel",
    "RowParallel",
    "VocabularyParallel",
    "column_parallel",
    "row_parallel",
    "split_heads",
    "vocabulary_loss",
]


def column_parallel(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """This rank's columns of x·Wᵀ + b; backward, x's gradient is added over the ranks.

    Args:
        x: (…, i), the same on all ranks.
        weight: (o/N, i): this rank's rows of torch's W, each of which makes a column of the result.
        bias: (o/N,), of the same columns.

    >>> import gpulearn as gl
    >>> def gradient():
    ...     x, weight = torch.ones(1, 2, requires_grad=True), torch.eye(2)[[gl.parallel.rank()]]
    ...     column_parallel(x, weight, torch.zeros(1)).sum().backward()
    ...     return x.grad.tolist()
    >>> gl.launch(gradient, 2, backend="simulated")
    [[[1.0, 1.0]], [[1.0, 1.0]]]
    """
    x = copy_to_ranks(x)
    return x @ weight.T + bias


def row_parallel(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The sum of all ranks' x·Wᵀ, then the bias, once: one all-reduce forward, none backward.

    Args:
        x: (…, i/N), this rank's columns of the input.
        weight: (o, i/N), the columns of torch's W that meet them.
        bias: (o,), the same on all ranks.

    Returns:
        (…, o), the same on all ranks.

    >>> import gpulearn as gl
    >>> def total():
    ...     part, weight = torch.ones(1, 1), torch.full((2, 1), 10.0 ** gl.parallel.rank())
    ...     return row_parallel(part, weight, torch.tensor([0.0, 0.5])).tolist()
    >>> gl.launch(total, 2, backend="simulated")
    [[[11.0, 11.5]], [[11.0, 11.5]]]
    """
    partial = x @ weight.T
    return sum_of_ranks(partial) + bias


def split_heads(weight: Tensor, heads: int) -> Tensor:
    """This rank's heads of a fused matrix: their queries', keys' and values' rows.

    Args:
        weight: (3·h·d, w), the queries' rows of head 0, of head 1 …, then the keys', then the
            values', as in GPT-2.
        heads: h, which N divides.

    Returns:
        (3·h/N·d, w): of rank r the heads r·h/N, r·h/N + 1 …, in the same order.

    >>> import gpulearn as gl
    >>> fused = torch.tensor([[1], [2], [10], [20], [100], [200]])
    >>> gl.launch(lambda: split_heads(fused, 2).flatten().tolist(), 2, backend="simulated")
    [[1, 10, 100], [2, 20, 200]]
    """
    own = heads // world_size()
    mine = slice(own * rank(), own * (rank() + 1))
    parts: Tensor = weight.unflatten(0, (3, heads, -1))
    return parts[:, mine].flatten(0, 2)


class ColumnParallel(nn.Module):
    """This rank's columns of what a linear layer makes: (…, i) → (…, o/N).

    Several layers share an input, which `copy_to_ranks` has been given once.
    """

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__()
        mine = own_part(whole.out_features)
        self.weight = _parameter(whole.weight[mine])
        self.bias = _parameter(whole.bias[mine])

    def forward(self, x: Tensor) -> Tensor:
        """Multiply by this rank's part."""
        return functional.linear(x, self.weight, self.bias)


class RowParallel(nn.Module):
    """A linear layer of which each rank multiplies its part of the input: (…, i/N) → (…, o).

    The bias is added once, after the sum. `by_positions` leaves each rank only its own
    positions of the sum, (b, t, i/N) → (b, t/N, o).
    """

    def __init__(self, whole: nn.Linear, *, by_positions: bool = False) -> None:
        super().__init__()
        self.by_positions = by_positions
        self.weight = _parameter(whole.weight[:, own_part(whole.in_features)])
        self.bias = _parameter(whole.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply, add over the ranks, add the bias."""
        if not self.by_positions:
            return row_parallel(x, self.weight, self.bias)
        # each rank sees the bias only at its own positions
        return scatter_sums(x @ self.weight.T) + copy_to_ranks(self.bias)


class VocabularyParallel(nn.Module):
    """This rank's rows of a table of tokens, (v, w), for looking up and for scores.

    Where N does not divide the vocabulary, the last ranks' tables end with rows of zeros. `weight`,
    (⌈v/N⌉, w), are this rank's rows, the first of which is of the token `first`.
    """

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.vocabulary = len(table)
        rows = math.ceil(len(table) / world_size())
        self.first = rows * rank()
        own = table[self.first : self.first + rows]
        self.weight = _parameter(functional.pad(own, (0, 0, 0, rows - len(own))))

    def rows(self, tokens: Tensor) -> Tensor:
        """Rows of the tokens that this rank has, zeros for the others: (…) → (…, w)."""
        here = tokens - self.first
        mine = (here >= 0) & (here < len(self.weight))
        return self.weight[here.where(mine, 0)] * mine[..., None]

    def forward(self, x: Tensor) -> Tensor:
        """Scores of this rank's tokens, −∞ for rows beyond the vocabulary: (…, w) → (…, ⌈v/N⌉)."""
        tokens = self.first + torch.arange(len(self.weight), device=x.device)
        return (x @ self.weight.T).masked_fill(tokens >= self.vocabulary, -math.inf)


def vocabulary_loss(scores: Tensor, targets: Tensor, first: int) -> Tensor:
    """Mean cross-entropy, in nats, where each rank has the scores of its own tokens.

    −log softmax(s)ₖ = log Σ exp(sⱼ − m) + m − sₖ with m the largest score: three all-reduces of
    one number for each place, in place of gathering the vocabulary.

    Args:
        scores: (n, v/N) on this rank, −∞ where there is no token.
        targets: (n,), the tokens that come, the same on all ranks.
        first: the token of this rank's first column.

    Returns:
        The loss, the same on all ranks.

    >>> import gpulearn as gl
    >>> def loss():
    ...     scores, me = torch.tensor([[0.0, 1.0, 2.0, 3.0]]), gl.parallel.rank()
    ...     return vocabulary_loss(scores[:, 2 * me : 2 * me + 2], torch.tensor([1]), 2 * me).item()
    >>> f"{gl.launch(loss, 2, backend='simulated')[0]:.4f}"
    '2.4402'
    >>> f"{functional.cross_entropy(torch.arange(4.0)[None], torch.tensor([1])):.4f}"
    '2.4402'
    """
    largest = largest_over_ranks(scores.detach().amax(-1))
    shifted = scores - largest[:, None]
    total = sum_of_ranks(shifted.exp().sum(-1))
    column = targets - first
    mine = (column >= 0) & (column < scores.shape[1])
    own = shifted.gather(1, column.where(mine, 0)[:, None])[:, 0]
    target = sum_of_ranks(own.where(mine, 0.0))
    return (total.log() - target).mean()


def own_part(count: int) -> slice:
    """This rank's part of so many columns or inputs, as evenly as heads are dealt out."""
    size = count // world_size()
    return slice(size * rank(), size * (rank() + 1))


def _parameter(part: Tensor) -> nn.Parameter:
    return nn.Parameter(part.detach().clone(memory_format=torch.contiguous_format))
