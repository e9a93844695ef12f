"""What a Transformer decoder costs: parameters, operations and memory from its sizes."""

from dataclasses import dataclass, fields

from gpulearn import require
from gpulearn.errors import BadInput


@dataclass(frozen=True)
class DecoderShape:
    """The sizes of a decoder.

    >>> DecoderShape(vocabulary=100, context=64, width=96, heads=4, layers=3).parameters()
    361056
    """

    vocabulary: int  # how many different tokens there are, v
    context: int  # how many tokens it sees at most, t
    width: int  # numbers for each token, w
    heads: int  # of attention; the width is divided among them
    layers: int  # how many blocks, l

    def __post_init__(self) -> None:
        for field in fields(self):
            require.whole(field.name, getattr(self, field.name))
        if self.width % self.heads:
            raise BadInput(
                f"width is {self.width}, which {self.heads} heads do not divide: each head gets "
                f"as many columns as the others."
            )

    def parameters(self) -> int:
        """Of l blocks, two tables of v·w and one of t·w, and 2·w in the last norm.

        A block has 12·w² in its six matrices, 9·w biases and 4·w in its two norms.
        """
        block = 12 * self.width**2 + 13 * self.width
        tables = (2 * self.vocabulary + self.context) * self.width
        return self.layers * block + tables + 2 * self.width

    def flops_per_token(self) -> int:
        """Operations of matrix products in one forward pass, for each token of a row of t.

        2 for each weight of a matrix, and 4·t·w in each block for Q·Kᵀ and shares·V, which are
        computed for later places too. Forward and backward take three times as many.
        """
        block = 24 * self.width**2 + 4 * self.context * self.width
        return self.layers * block + 2 * self.vocabulary * self.width

    def activation_bytes(self, rows: int) -> int:
        """Bytes that the loss of a batch keeps for the backward pass, parameters left out.

        With n = b·t tokens a block keeps 16·n·w + 4·n numbers, b·h·t² shares of attention and a
        mask of t² bytes. Of the 16, 8 are of width w (the input and output of each norm; queries,
        keys, values and what they make), the others are the 4·w on both sides of GELU. The last
        norm keeps 2·n·w + 2·n, the loss n·v + 1. Numbers are float32; tokens and targets have 8
        bytes each. The rows, b, are two or more, each of a whole context and one target more.
        """
        if require.whole("rows", rows) < 2:
            raise BadInput(f"rows is {rows}: give a batch of two rows or more.")
        t, w = self.context, self.width
        n = rows * t
        block = 16 * n * w + 4 * n + rows * self.heads * t**2
        ends = 2 * n * w + 2 * n + n * self.vocabulary + 1
        return 4 * (self.layers * block + ends) + self.layers * t**2 + 8 * (2 * n + rows)
