"""What a graph of Variables costs, operation by operation: counted, and timed.

Forward, each operation reads its operands and writes its result. Backward, it reads the gradient
of its result and, for each operand whose gradient is wanted, what the rule needs, and writes one
array. Every array counts once, as in notebook 02.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn import layers
from gpulearn.nn.autograd import Variable
from gpulearn.perf.timing import now

SOFTMAX = 5  # operations for each element: compare, subtract, exponential, add, divide


@dataclass(frozen=True)
class OperationWork:
    """All nodes of a graph that do the same operation: bytes are read and written."""

    operation: str  # such as "@"
    forward_flops: int
    backward_flops: int
    forward_bytes: int
    backward_bytes: int

    @property
    def flops(self) -> int:
        """Operations of both ways."""
        return self.forward_flops + self.backward_flops

    @property
    def bytes_moved(self) -> int:
        """Bytes of both ways."""
        return self.forward_bytes + self.backward_bytes


def graph_work(result: Variable) -> list[OperationWork]:
    """Count what a computed Variable costs forward and backward, most operations first.

    A product (m, n) @ (n, p) counts 2·m·n·p operations, and as many for each operand whose
    gradient is wanted; softmax with cross-entropy 5 for each score, and one backward; everything
    else one for each element. A gradient that an addition passes on as it is costs nothing.

    >>> x, w = Variable(np.ones((2, 3)), requires_grad=False), Variable(np.ones((3, 4)))
    >>> graph_work((x @ w).relu())[0]
    OperationWork(operation='@', forward_flops=48, backward_flops=48, ...)
    """
    works: dict[str, list[tuple[int, int, int, int]]] = {}
    for node in _computed(result):
        works.setdefault(node.operation, []).append(_work(node))
    rows = [
        OperationWork(operation, *map(sum, zip(*each, strict=True)))
        for operation, each in works.items()
    ]
    return sorted(rows, key=lambda row: -row.flops)


def graph_times(result: Variable) -> dict[str, float]:
    """Time each operation of a graph by itself: operation → seconds forward and backward together.

    Every node that led to `result`, of one number, is computed anew from its operands' data, and
    passes back the gradient that arrives there; the fastest of five counts, as for
    `gpulearn.roof_point`.
    """
    nodes = _computed(result)
    result.backward()
    times: dict[str, float] = {}
    for node in nodes:
        if node.operation not in AGAIN:
            raise BadInput(
                f"{node.operation} cannot be timed by itself: these can, {', '.join(AGAIN)}."
            )
        forward = partial(AGAIN[node.operation], *(parent.data for parent in node.parents))
        for call in (forward, partial(node.shares, np.asarray(node.grad))):
            seconds = min(timeit.repeat(call, timer=now, number=1, repeat=5))
            times[node.operation] = times.get(node.operation, 0.0) + seconds
    for node in result.order():
        node.zero_grad()
    return times


def _computed(result: object) -> list[Variable]:
    if not isinstance(result, Variable) or not result.parents:
        raise BadInput(f"result is {require.shown(result)}: give a Variable that was computed.")
    return [node for node in result.order() if node.parents]


def _work(node: Variable) -> tuple[int, int, int, int]:
    """Operations forward and backward, bytes forward and backward."""
    size, nbytes = node.data.size, node.data.nbytes
    each = size * _terms(node)
    forward_bytes = nbytes + sum(parent.data.nbytes for parent in node.parents)
    flops = moved = 0
    for number, parent in enumerate(node.parents):
        same = parent.shape == node.shape
        if not parent.requires_grad or (node.operation in "+−" and same):
            continue
        flops += parent.data.size if node.operation == "softmax cross-entropy" else each
        moved += nbytes + parent.data.nbytes
        if node.operation == "@":
            moved += node.parents[1 - number].data.nbytes
        elif node.operation not in "+−":
            moved += parent.data.nbytes
    return each, flops, forward_bytes, moved


def _terms(node: Variable) -> int:
    """Operations for each number of the result."""
    first = node.parents[0]
    if node.operation == "@":
        return 2 * first.shape[-1]
    if node.operation == "softmax cross-entropy":
        return SOFTMAX * first.data.size
    return max(first.data.size // max(node.data.size, 1), 1)  # a sum reads all that it adds


AGAIN: dict[str, Callable[..., object]] = {
    "@": np.matmul,
    "+": np.add,
    "−": np.subtract,
    "×": np.multiply,
    "÷": np.divide,
    "relu": layers.relu,
    "tanh": np.tanh,
    "softmax cross-entropy": lambda x: layers.softmax_cross_entropy(x, np.zeros(len(x), int)),
}
