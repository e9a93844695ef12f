"""What happens in a computation graph step by step, as plain data and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from gpulearn.nn.autograd import Variable
from gpulearn.require import shown

__all__ = ["MOST", "Step", "called", "label", "nodes_of", "sentence", "short", "steps"]

Array = np.ndarray[Any, Any]
MOST = 24  # nodes that can be read in one picture


@dataclass(frozen=True)
class Step:
    """One moment: `phase` is "given", "forward" or "backward"; nodes are counted as they run.

    `values` holds the nodes whose value is known, `collected` the gradient that has arrived at
    a node so far, and `waiting` those nodes to which more will come. `node` is at work; `shares`
    is what it sends to each of its operands.
    """

    phase: str
    node: int | None
    values: frozenset[int]
    collected: dict[int, Array] = field(default_factory=dict)
    shares: tuple[tuple[int, Array], ...] = ()
    waiting: frozenset[int] = frozenset()


def nodes_of(result: Variable) -> list[Variable]:
    """All nodes of a result's graph, constants too, operands before results.

    Raises:
        BadInput: it is no Variable, nothing was computed, or there are too many nodes to draw.

    >>> x = Variable(3.0, "x")
    >>> len(nodes_of(2 * x + 1))
    5
    """
    if not isinstance(result, Variable) or not result.parents:
        raise BadInput(f"{shown(result)} has no graph: give a Variable that was computed.")
    nodes = result.order(every=True)
    if len(nodes) > MOST:
        raise BadInput(
            f"The graph has {len(nodes)} nodes: at most {MOST} can be read in a picture."
        )
    return nodes


def label(nodes: Sequence[Variable], number: int) -> str:
    """What stands over a node: its name, or the operation and its place in the order.

    >>> nodes = nodes_of(2 * Variable(3.0, "x"))
    >>> [label(nodes, number) for number in range(3)]
    ['constant', 'x', '1: ×']
    """
    node = nodes[number]
    if not node.parents:
        return node.name or ("given" if node.requires_grad else "constant")
    how = f"{node.name} ({node.operation})" if node.name else node.operation
    return f"{sum(bool(n.parents) for n in nodes[: number + 1])}: {how}"


def called(nodes: Sequence[Variable], number: int) -> str:
    """What a sentence calls a node."""
    place, _, how = label(nodes, number).partition(": ")
    return f"node {place} ({nodes[number].name or how})" if how else place


def short(values: Array, alone: bool = False) -> str:
    """Values as they fit into a node: a number, a short row, or a size.

    Args:
        values: of any shape.
        alone: whether it must be clear by itself that a size is one.

    >>> short(np.array(2.5)), short(np.array([1.0, -2.0])), short(np.zeros((3, 4)))
    ('2.5', '[1, −2]', '3 × 4')
    >>> short(np.zeros((3, 4)), alone=True)
    'an array of 3 × 4'
    """
    if values.ndim < 2 and values.size < 4:
        numbers = ", ".join(f"{float(v):.4g}".replace("-", "−") for v in values.ravel())
        if values.ndim == 0 or len(numbers) <= 10:
            return f"[{numbers}]" if values.ndim else numbers
    size = " × ".join(map(str, values.shape))
    return f"an array of {size}" if alone else size if values.ndim > 1 else f"size {size}"


def steps(result: Variable) -> list[Step]:
    """What happens, in order: values from operands to results, then gradients the other way.

    Where the result is not one number, or only constants lead to it, there is no way back.

    >>> x = Variable(3.0, "x")
    >>> [step.phase for step in steps(x * x)]
    ['given', 'forward', 'backward', 'backward']
    """
    nodes = nodes_of(result)
    where = {node: number for number, node in enumerate(nodes)}
    values = frozenset(where[node] for node in nodes if not node.parents)
    found = [Step("given", None, values)]
    for number, node in enumerate(nodes):
        if node.parents:
            values |= {number}
            found.append(Step("forward", number, values))
    if result.data.size != 1 or not result.requires_grad:
        return found
    collected = {where[result]: np.ones_like(result.data)}
    found.append(Step("backward", None, values, collected))
    rest = [node for node in result.order() if node.parents]
    while rest:
        node = rest.pop()
        shares = tuple((where[p], share) for p, share in node.shares(collected[where[node]]))
        collected = dict(collected)
        for number, share in shares:
            collected[number] = np.asarray(collected.get(number, 0) + share)
        waiting = frozenset(where[p] for one in rest for p in one.parents)
        found.append(Step("backward", where[node], values, collected, shares, waiting))
    return found


def sentence(result: Variable, number: int) -> str:
    """What happens in step `number`, counted from 0.

    >>> x = Variable(3.0, "x")
    >>> sentence(x * x, 1)
    'Forward, step 1 of 1: node 1 (×) makes 9 from 3 (x) and 3 (x).'
    >>> sentence(x * x, 3)
    'Backward, step 2 of 2: node 1 (×) passes its gradient 1 on: 3 to x, 3 to x. x has
    collected 6.'
    """
    nodes, every = nodes_of(result), steps(result)
    this, where = every[number], {node: k for k, node in enumerate(nodes)}
    if this.phase == "given":
        given = [f"{called(nodes, k)} is {_said(nodes[k].data)}" for k in sorted(this.values)]
        return f"Given: {', '.join(given)}."
    same = [k for k, step in enumerate(every) if step.phase == this.phase]
    start = f"{this.phase.capitalize()}, step {same.index(number) + 1} of {len(same)}: "
    if this.node is None:
        return f"{start}the gradient of the result with respect to itself is 1."
    name = called(nodes, this.node)
    if this.phase == "forward":
        node = nodes[this.node]
        taken = [f"{_said(p.data)} ({_brief(nodes, where[p])})" for p in node.parents]
        return f"{start}{name} makes {_said(node.data)} from {' and '.join(taken)}."
    sent = ", ".join(f"{_said(share)} to {called(nodes, k)}" for k, share in this.shares)
    targets = [k for k, _ in this.shares]
    summed = [
        k
        for k in dict.fromkeys(targets)
        if k in every[number - 1].collected or targets.count(k) > 1
    ]
    totals = [
        f" {called(nodes, k)} has collected {_said(this.collected[k])}"
        f"{' so far' * (k in this.waiting)}."
        for k in summed
    ]
    passed = _said(this.collected[this.node])
    return f"{start}{name} passes its gradient {passed} on: {sent}.{''.join(totals)}"


def _said(values: Array) -> str:
    return short(values, alone=True)


def _brief(nodes: Sequence[Variable], number: int) -> str:
    return called(nodes, number).partition(" (")[0]
