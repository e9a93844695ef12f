"""A Transformer decoder, written out: characters go in, scores for each next one come out.

Vaswani et al., "Attention is all you need", 2017, with the norms before each part and GELU, as
in GPT-2. Every matrix product is seen here, so that it can be counted, cut and moved.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.nn.transformer_costs import DecoderShape


class Embedding(nn.Module):
    """A row of numbers for each character, plus one for each place: (b, t) → (b, t, width)."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.place = nn.Embedding(shape.context, shape.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Look up what each token and each place is."""
        rows: Tensor = self.token(tokens)
        return rows + self.place.weight[: tokens.shape[1]]


class Attention(nn.Module):
    """Each place gathers from those before it: (b, t, width) → (b, t, width)."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.head_width = shape.width // shape.heads
        self.query = nn.Linear(shape.width, shape.width)
        self.key = nn.Linear(shape.width, shape.width)
        self.value = nn.Linear(shape.width, shape.width)
        self.output = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """softmax(Q·Kᵀ/√d)·V in each head, no place seeing a later one; then mixed."""
        q, k, v = (self._heads(part(x)) for part in (self.query, self.key, self.value))
        scores = q @ k.mT / math.sqrt(self.head_width)  # (b, heads, t, t)
        later = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
        shares = scores.masked_fill(later, -math.inf).softmax(-1)
        mixed: Tensor = self.output((shares @ v).transpose(1, 2).flatten(2))
        return mixed

    def _heads(self, x: Tensor) -> Tensor:
        # as many heads as there are columns for: a rank may hold only some of them
        return x.view(*x.shape[:2], -1, self.head_width).transpose(1, 2)  # (b, heads, t, d)


class FeedForward(nn.Module):
    """Each place for itself, four times as wide in between: (b, t, width) → (b, t, width)."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """Widen, bend, narrow."""
        result: Tensor = self.down(nn.functional.gelu(self.up(x)))
        return result


class DecoderBlock(nn.Module):
    """One layer: what attention and feed-forward find is added to the stream."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.forward_norm = nn.LayerNorm(shape.width)
        self.feed_forward = FeedForward(shape)

    def forward(self, x: Tensor) -> Tensor:
        """Two residual steps."""
        x = x + self.attention(self.attention_norm(x))
        result: Tensor = x + self.feed_forward(self.forward_norm(x))
        return result


class Scores(nn.Module):
    """A score for each character of the vocabulary: (b, t, width) → (b, t, vocabulary)."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize, then compare with each character's row."""
        scores: Tensor = self.head(self.norm(x))
        return scores


class Decoder(nn.Sequential):
    """Embedding, blocks and scores in a row: (b, t) of int64 → (b, t, vocabulary).

    Args:
        shape: its sizes.
        seed: of the first weights: deviation 1/√n for n inputs, 0.1 in the tables; biases 0.

    >>> decoder = Decoder(DecoderShape(vocabulary=50, context=16, width=8, heads=2, layers=3))
    >>> decoder(torch.zeros(4, 16, dtype=torch.int64)).shape
    torch.Size([4, 16, 50])
    """

    def __init__(self, shape: DecoderShape, *, seed: int = 0) -> None:
        blocks = [DecoderBlock(shape) for _ in range(shape.layers)]
        super().__init__(Embedding(shape), *blocks, Scores(shape))
        self.shape = shape
        generator = torch.Generator().manual_seed(require.from_zero("seed", seed))
        for part in self.modules():
            if isinstance(part, nn.Embedding):
                nn.init.normal_(part.weight, std=0.1, generator=generator)
            elif isinstance(part, nn.Linear):
                nn.init.normal_(part.weight, std=part.in_features**-0.5, generator=generator)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean cross-entropy of each next token, in nats: tokens is (b, t + 1)."""
        scores = self(tokens[:, :-1])
        return nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
