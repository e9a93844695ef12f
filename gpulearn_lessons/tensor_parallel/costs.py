"""What a rank of a tensor-parallel decoder holds, keeps and sends, from the decoder's sizes."""

from __future__ import annotations

import math

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn.transformer_costs import DecoderShape


def part_parameters(shape: DecoderShape, ranks: int) -> int:
    """Parameters on each rank: the matrices are divided, norms and some biases are not.

    Of a block 12·w²/N in the matrices, 7·w/N biases of columns, 2·w biases after sums and 4·w in
    norms; two tables of ⌈v/N⌉·w, positions t·w, and 2·w in the last norm.

    >>> shape = DecoderShape(vocabulary=100, context=64, width=96, heads=4, layers=3)
    >>> part_parameters(shape, 1) == shape.parameters(), part_parameters(shape, 4)
    (True, 96312)
    """
    n, w = _ranks(shape, ranks), shape.width
    block = (12 * w**2 + 7 * w) // n + 6 * w
    tables = (2 * math.ceil(shape.vocabulary / n) + shape.context) * w
    return shape.layers * block + tables + 2 * w


def part_activation_bytes(
    shape: DecoderShape, rows: int, ranks: int, itemsize: int = 4, *, by_positions: bool = False
) -> int:
    """Bytes that the loss of a batch of `rows` contexts keeps on each rank for the backward pass.

    With b rows of t positions, n = b·t tokens, a block keeps 12·n·w/N numbers of what is divided,
    b·h/N·t² shares of attention and a mask of t² bytes. Input and output of its two norms, 4·n·w +
    4·n, are on every rank; `by_positions`, as of `TensorParallelDecoder`, divides the inputs too.
    The ends keep 2·n·w + 2·n likewise, the scores 2·n·⌈v/N⌉ + n, and 18·n + ⌈v/N⌉ bytes say which
    tokens are whose.
    """
    count, t, w = _ranks(shape, ranks), shape.context, shape.width
    n = require.whole("rows", rows) * t
    norm = n * w + (n * w + 2 * n) // (count if by_positions else 1)
    block = 12 * n * w // count + 2 * norm + rows * shape.heads // count * t**2
    scores = 2 * n * math.ceil(shape.vocabulary / count) + n
    numbers = shape.layers * block + norm + scores
    marks = 18 * n + math.ceil(shape.vocabulary / count)
    return require.whole("itemsize", itemsize) * numbers + shape.layers * t**2 + marks


def tensor_parallel_bytes(
    shape: DecoderShape, rows: int, ranks: int, itemsize: int = 4, *, by_positions: bool = False
) -> int:
    """Bytes that all ranks together send, forward and backward, for `rows` contexts.

    A block has two all-reduces forward and two backward, of b·t·w numbers each; the tables have
    one each way, and the loss three of b·t. Round a ring an all-reduce of S bytes sends
    2·(N−1)·S. `by_positions`, as of `TensorParallelDecoder`, each is an all-gather and a
    reduce-scatter of (N−1)·S each; gradients of norms, positions and biases after sums are added
    besides.

    >>> shape = DecoderShape(vocabulary=100, context=64, width=96, heads=4, layers=3)
    >>> tensor_parallel_bytes(shape, 16, 2)
    11034624
    """
    count, w, layers = _ranks(shape, ranks), shape.width, shape.layers
    n = require.whole("rows", rows) * shape.context
    numbers = (4 * layers + 2) * n * w + 3 * n
    if by_positions:
        numbers += (2 * layers + 1) * 2 * w + 2 * layers * w + shape.context * w
    return 2 * (count - 1) * require.whole("itemsize", itemsize) * numbers


def _ranks(shape: DecoderShape, ranks: int) -> int:
    if shape.heads % require.whole("ranks", ranks):
        raise BadInput(f"ranks is {ranks}, which does not divide {shape.heads} heads.")
    return ranks
