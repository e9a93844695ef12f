"""The course's Transformer decoder on several ranks, each with a part of every layer."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from gpulearn.errors import BadInput
from gpulearn.nn.transformer import Decoder, Embedding
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.tensor_parallel.layers import (
    ColumnParallel,
    RowParallel,
    VocabularyParallel,
    vocabulary_loss,
)
from gpulearn_lessons.tensor_parallel.operations import (
    copy_to_ranks,
    gather_positions,
    scatter_sums,
    sum_of_ranks,
)


class EmbeddingPart(nn.Module):
    """This rank's rows of the token table; a row that it lacks comes from the others' sum."""

    def __init__(self, whole: Embedding, by_positions: bool) -> None:
        super().__init__()
        self.by_positions = by_positions
        self.token = VocabularyParallel(whole.token.weight)
        self.place = nn.Parameter(whole.place.weight.detach().clone())

    def forward(self, tokens: Tensor) -> Tensor:
        """Look up: (b, t) → (b, t, width), or (b, t/N, width) by positions."""
        rows = self.token.rows(tokens)
        positions = self.place[: tokens.shape[1]]
        if not self.by_positions:
            return sum_of_ranks(rows) + positions
        own = scatter_sums(rows)
        first = own.shape[1] * rank()
        return own + copy_to_ranks(positions)[first : first + own.shape[1]]


class Norm(nn.Module):
    """Layer norm, whose weights every rank has; by positions, each rank sees only its own."""

    def __init__(self, whole: nn.LayerNorm, by_positions: bool) -> None:
        super().__init__()
        self.by_positions = by_positions
        self.weight = nn.Parameter(whole.weight.detach().clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """Normalize; what comes out is the same on all ranks, and its gradient is added there."""
        if not self.by_positions:
            return copy_to_ranks(
                functional.layer_norm(x, self.weight.shape, self.weight, self.bias)
            )
        weight, bias = copy_to_ranks(self.weight), copy_to_ranks(self.bias)
        return gather_positions(functional.layer_norm(x, weight.shape, weight, bias))


class TensorParallelDecoder(nn.Sequential):
    """A decoder of which this rank has its part: (b, t) of int64 → (b, t, ⌈vocabulary/N⌉).

    Its blocks run as those of `Decoder`, the same on all ranks and left as it is, with other layers
    in them. Each rank has some of the heads, some columns of the wide layer, and some rows of both
    tables; norms, positions and the biases after a sum are on all ranks, with the same gradients.
    `by_positions` splits the rows' positions over the ranks wherever the layers do not
    (sequence parallelism, arXiv 2205.05198): no rank keeps all of a norm's input.

    >>> import gpulearn as gl
    >>> import torch
    >>> from gpulearn.nn.transformer_costs import DecoderShape
    >>> shape = DecoderShape(vocabulary=5, context=4, width=8, heads=2, layers=1)
    >>> row = torch.tensor([[0, 1, 2, 3, 4]])
    >>> def loss():
    ...     return TensorParallelDecoder(Decoder(shape)).loss(row).item()
    >>> on_two = gl.launch(loss, 2, backend="simulated")
    >>> on_two[0] == on_two[1], abs(on_two[0] - Decoder(shape).loss(row).item()) < 1e-6
    (True, True)
    """

    def __init__(self, decoder: Decoder, *, by_positions: bool = False) -> None:
        if decoder.shape.heads % world_size():
            raise BadInput(
                f"there are {decoder.shape.heads} heads, which {world_size()} ranks do not divide: "
                f"take a number of ranks that does."
            )
        parts: list[Any] = list(copy.deepcopy(decoder))
        embedding, *blocks, scores = parts
        for block in blocks:
            _split_block(block, by_positions)
        scores.norm = Norm(scores.norm, by_positions)
        scores.head = VocabularyParallel(scores.head.weight)
        super().__init__(EmbeddingPart(embedding, by_positions), *blocks, scores)
        self.shape = decoder.shape

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean cross-entropy of each next token in nats, the same on all ranks: (b, t + 1)."""
        scores = self(tokens[:, :-1]).flatten(0, 1)
        first = len(scores[0]) * rank()
        return vocabulary_loss(scores, tokens[:, 1:].flatten(), first)


def _split_block(block: Any, by_positions: bool) -> None:
    """Put this rank's parts in place of a block's layers."""
    attention, feed_forward = block.attention, block.feed_forward
    for name in ("query", "key", "value"):
        setattr(attention, name, ColumnParallel(getattr(attention, name)))
    attention.output = RowParallel(attention.output, by_positions=by_positions)
    feed_forward.up = ColumnParallel(feed_forward.up)
    feed_forward.down = RowParallel(feed_forward.down, by_positions=by_positions)
    block.attention_norm = Norm(block.attention_norm, by_positions)
    block.forward_norm = Norm(block.forward_norm, by_positions)
