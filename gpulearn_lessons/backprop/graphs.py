"""The graph of a computation, with values and gradients on its nodes, step by step."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.nn.autograd import Variable
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import centred, figure
from gpulearn.require import shown

__all__ = ["graph", "graph_player"]

Array = np.ndarray[Any, Any]
MOST = 24  # nodes that can be read in one picture


@dataclass(frozen=True)
class GraphStep:
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


def steps(result: Variable) -> list[GraphStep]:
    """What happens, in order: values from operands to results, then gradients the other way.

    Where the result is not one number, or only constants lead to it, there is no way back.

    >>> x = Variable(3.0, "x")
    >>> [step.phase for step in steps(x * x)]
    ['given', 'forward', 'backward', 'backward']
    """
    nodes = nodes_of(result)
    where = {node: number for number, node in enumerate(nodes)}
    values = frozenset(where[node] for node in nodes if not node.parents)
    found = [GraphStep("given", None, values)]
    for number, node in enumerate(nodes):
        if node.parents:
            values |= {number}
            found.append(GraphStep("forward", number, values))
    if result.data.size != 1 or not result.requires_grad:
        return found
    collected = {where[result]: np.ones_like(result.data)}
    found.append(GraphStep("backward", None, values, collected))
    rest = [node for node in result.order() if node.parents]
    while rest:
        node = rest.pop()
        shares = tuple((where[p], share) for p, share in node.shares(collected[where[node]]))
        collected = dict(collected)
        for number, share in shares:
            collected[number] = np.asarray(collected.get(number, 0) + share)
        waiting = frozenset(where[p] for one in rest for p in one.parents)
        found.append(GraphStep("backward", where[node], values, collected, shares, waiting))
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


Place = tuple[float, float]


def lay_out(
    nodes: Sequence[Variable],
) -> tuple[dict[int, Place], dict[tuple[int, int], list[Place]]]:
    """Places for nodes, in columns from operands to results, and for arrows between them.

    An arrow across several columns is given a place of its own in each, so that it passes no
    node. Source of the method: K. Sugiyama, S. Tagawa and M. Toda, Methods for visual
    understanding of hierarchical system structures, IEEE SMC 11, 1981.

    Returns:
        Node → (column, row), and (operand, result) → the points of the arrow; rows are centred
        on 0.
    """
    where = {node: k for k, node in enumerate(nodes)}
    arrows = dict.fromkeys((where[p], k) for k, node in enumerate(nodes) for p in node.parents)
    column = [0] * len(nodes)
    for operand, result in arrows:
        column[result] = max(column[result], column[operand] + 1)
    for k, node in enumerate(nodes):
        if not node.parents:  # beside what uses it first
            column[k] = min(column[result] for operand, result in arrows if operand == k) - 1
    spots: list[list[Any]] = [[] for _ in range(max(column) + 1)]
    for k, at in enumerate(column):
        spots[at].append(k)
    paths: dict[tuple[int, int], list[Any]] = {}
    for operand, result in arrows:
        between = [(operand, result, at) for at in range(column[operand] + 1, column[result])]
        for spot in between:
            spots[spot[2]].append(spot)
        paths[operand, result] = [operand, *between, result]
    row = _rows(spots, [(path, entry(nodes, *ends)) for ends, path in paths.items()])
    place = {spot: (float(c), row[spot]) for c, members in enumerate(spots) for spot in members}
    return (
        {k: place[k] for k in range(len(nodes))},
        {ends: [place[spot] for spot in path] for ends, path in paths.items()},
    )


def entry(nodes: Sequence[Variable], operand: int, result: int) -> float:
    """How far below a node's middle an arrow belongs: the first operand's comes from above."""
    parents = nodes[result].parents
    at = [k for k, parent in enumerate(parents) if parent is nodes[operand]]
    return sum(at) / len(at) - (len(parents) - 1) / 2


def _rows(spots: list[list[Any]], paths: list[tuple[list[Any], float]]) -> dict[Any, float]:
    """A row for every spot: near where its neighbours want it, at least 1 from the next."""
    beside: dict[Any, list[tuple[Any, float]]] = {spot: [] for m in spots for spot in m}
    for path, below in paths:
        for one, other in itertools.pairwise(path):
            lean = below if other == path[-1] else 0.0
            beside[one].append((other, lean))
            beside[other].append((one, -lean))
    row = {s: k - (len(m) - 1) / 2 for m in spots for k, s in enumerate(m)}
    for _ in range(24):
        for members in (*spots, *reversed(spots)):
            wish = {s: sum(row[b] + x for b, x in beside[s]) / len(beside[s]) for s in members}
            members.sort(key=lambda spot: wish[spot])
            low = -math.inf
            for spot in members:
                row[spot] = low = max(wish[spot], low + 1)
            shift = sum(row[s] - wish[s] for s in members) / len(members)
            row.update({s: row[s] - shift for s in members})
    return row


WIDE, HIGH = 0.74, 0.76  # of a node, where columns and rows are 1 apart


def draw(result: Variable, number: int) -> tuple[Picture, str]:
    """The picture of one step, counted from 0, and the sentence that says it.

    Raises:
        BadInput: there is no such step, or no graph.
    """
    every = steps(result)
    if not 0 <= number < len(every):
        raise BadInput(f"There is no step {number}: the last is {len(every) - 1}.")
    said = sentence(result, number)
    return _picture(result, every[number], said), said


def _picture(
    result: Variable, step: GraphStep, alt: str, sent: dict[Any, str] | None = None
) -> Picture:
    nodes = nodes_of(result)
    if sent is None:
        sent = sent_along([step])
    places, arrows = lay_out(nodes)
    columns = 1 + max(column for column, _ in places.values())
    ends = [row + side for _, row in places.values() for side in (-0.5, 0.5)]
    ends += [row for path in arrows.values() for _, row in path]
    height = 1.15 * (max(ends) - min(ends)) + 0.35
    with figure(max(4.0, 1.8 * columns), height) as (made, axes):
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(max(ends), min(ends))  # rows count downwards
        axes.axis("off")
        for pair, path in arrows.items():
            active = step.node == pair[1]
            way = "still" if not active else "back" if pair in sent else "there"
            _arrow(axes, path, 0.3 * entry(nodes, *pair), way, sent.get(pair, ""))
        for k, place in places.items():
            _node(axes, place, nodes, k, step)
        return show(made, alt)


def _node(axes: Any, place: Any, nodes: list[Variable], k: int, step: GraphStep) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    starts = step.node is None and set(step.collected) == {k}
    busy = starts or k in (step.node, *dict(step.shares))
    axes.add_patch(
        FancyBboxPatch((x - WIDE / 2, y - HIGH / 2), WIDE, HIGH,
                       boxstyle="round,pad=0,rounding_size=0.08",
                       facecolor="white", edgecolor="C0" if busy else "0.6",
                       linewidth=2.5 if busy else 1.0, zorder=3)
    )  # fmt: skip

    def write(height: float, text: str, **look: Any) -> None:
        longest = max(map(len, text.splitlines()))
        size = min(12.0, 165 / longest) / (1 + 0.2 * text.count("\n"))
        centred(axes, x, y + height, text, zorder=4, fontsize=size, **look)

    write(-0.22, textwrap.fill(label(nodes, k), 16), fontweight="bold")
    write(0.0, f"value {short(nodes[k].data) if k in step.values else '?'}")
    if k in step.collected:
        word = "so far" if k in step.waiting else "gradient"
        write(0.23, f"{word} {short(step.collected[k])}", color="C2")
    else:
        write(0.23, "gradient ?" if nodes[k].requires_grad else "no gradient", color="0.45")


def sent_along(every: list[GraphStep]) -> dict[tuple[int, int | None], str]:
    """What is written at each arrow, (operand, result): the gradient that goes back along it."""
    found: dict[tuple[int, int | None], str] = {}
    for step in every:
        for operand, share in step.shares:
            before = found.get((operand, step.node))
            found[operand, step.node] = f"{before} + {short(share)}" if before else short(share)
    return found


def _arrow(axes: Any, path: Any, below: float, way: str, text: str) -> None:
    """Forward, from operand to result; while a gradient is sent, dashed and back."""
    points = [(x, y) for x, y in path]
    points[0] = (points[0][0] + WIDE / 2, points[0][1])
    points[-1] = (points[-1][0] - WIDE / 2, points[-1][1] + below)
    (x0, y0), (x1, y1) = points[:2]
    if text:
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        place = (x0 + x1) / 2, (y0 + y1) / 2 - 0.15
        centred(axes, *place, text, color="C2", fontsize=11, zorder=5, bbox=ground)
    colour, width = {"still": ("0.6", 1.0), "there": ("C0", 2.2), "back": ("C2", 2.2)}[way]
    look = {"color": colour, "linewidth": width, "linestyle": "--" if way == "back" else "-"}
    if way == "back":
        points.reverse()
    for one, other in itertools.pairwise(points[:-1]):
        axes.plot(*zip(one, other, strict=True), **look)
    axes.annotate(
        "", points[-1], points[-2],
        arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **look},
    )  # fmt: skip


def graph(result: Variable) -> Picture:
    """Draw how a result was computed, with all values and, where it is one number, gradients.

    The number on an arrow is the gradient that was sent back along it.

    Args:
        result: a computed Variable of at most 24 nodes; `name=` of those given is shown.

    Raises:
        BadInput: it has no graph, or one that is too large to read.

    >>> from gpulearn.nn.autograd import Variable
    >>> x = Variable(3.0, "x")
    >>> graph(x * x)
    [figure: The graph of 2 nodes: the result is 9; its gradient with respect to x is 6.]
    """
    nodes, every = nodes_of(result), steps(result)
    last = every[-1]
    ends = [
        f"{called(nodes, k)} is {short(last.collected[k], alone=True)}"
        for k, node in enumerate(nodes)
        if not node.parents and k in last.collected
    ]
    alt = f"The graph of {len(nodes)} nodes: the result is {short(result.data, alone=True)}"
    alt += f"; its gradient with respect to {', to '.join(ends)}." if ends else "."
    return _picture(result, replace(last, node=None, shares=()), alt, sent_along(every))


def graph_player(result: Variable) -> Player:
    """Step through a computation: the values forward, then the gradients backward.

    The slider moves with the arrow keys; the play button is reached with Tab.

    Args:
        result: a computed Variable of at most 24 nodes.

    Raises:
        BadInput: it has no graph, or one that is too large to read.

    >>> from gpulearn.nn.autograd import Variable
    >>> graph_player(Variable(3.0, "x") * Variable(2.0, "w"))
    [interactive figure: Given: x is 3, w is 2.]
    """
    require.package("ipywidgets", "backprop.graph_player")
    controls = {"step": slider("step", 0, 0, len(steps(result)) - 1)}
    return Player(lambda step: draw(result, step), controls, "step", interval=1500)
