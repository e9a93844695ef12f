"""What a Transformer decoder costs: parameters, operations and memory from its sizes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = ["DecoderShape"]


@dataclass(frozen=True)
class DecoderShape:
    """The sizes of a decoder.

    Attributes:
        vocabulary: how many different tokens there are, v.
        context: how many tokens it sees at most, t.
        width: numbers for each token, w.
        heads: of attention; the width is divided among them.
        layers: how many blocks, l.

    Raises:
        BadInput: one is not a whole number above zero, or the heads do not divide the width.

    >>> DecoderShape(vocabulary=100, context=64, width=96, heads=4, layers=3).parameters()
    361056
    """

    vocabulary: int
    context: int
    width: int
    heads: int
    layers: int

    def __post_init__(self) -> None:
        for field in fields(self):
            require.whole(field.name, getattr(self, field.name))
        if self.width % self.heads:
            raise BadInput(
                f"width is {self.width}, which {self.heads} heads do not divide: each head gets "
                f"as many columns as the others."
            )

    def block_parameters(self) -> int:
        """Of one block: 12·w² in its six matrices, 9·w biases and 4·w in its two norms."""
        return 12 * self.width**2 + 13 * self.width

    def parameters(self) -> int:
        """Of all: l blocks, two tables of v·w and one of t·w, and 2·w in the last norm."""
        tables = (2 * self.vocabulary + self.context) * self.width
        return self.layers * self.block_parameters() + tables + 2 * self.width

    def flops_per_token(self, tokens: int | None = None) -> int:
        """Operations of matrix products in one forward pass, for each token of a row of t.

        2 for each weight of a matrix, and 4·t·w in each block for Q·Kᵀ and shares·V, which are
        computed for later places too. Forward and backward take three times as many.

        Args:
            tokens: t, the length of a row; the context if None.
        """
        length = self.context if tokens is None else require.whole("tokens", tokens)
        block = 24 * self.width**2 + 4 * length * self.width
        return self.layers * block + 2 * self.vocabulary * self.width
