"""The graph of a computation, with values and gradients on its nodes, step by step."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.nn.autograd import Variable
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import bare, centered, figure
from gpulearn.require import shown

Array = np.ndarray[Any, Any]
Point = tuple[float, float]
MAX_NODES = 24  # that can be read in one picture
WIDE, HIGH = 0.74, 0.76  # of a node, where columns and rows are 1 apart


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

    >>> x = Variable(3.0, "x")
    >>> len(nodes_of(2 * x + 1))
    5
    """
    if not isinstance(result, Variable) or not result.parents:
        raise BadInput(f"{shown(result)} has no graph: give a Variable that was computed.")
    nodes = result.order(every=True)
    if len(nodes) > MAX_NODES:
        raise BadInput(
            f"The graph has {len(nodes)} nodes: at most {MAX_NODES} can be read in a picture."
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


def name_of(nodes: Sequence[Variable], number: int) -> str:
    place, _, how = label(nodes, number).partition(": ")
    return f"node {place} ({nodes[number].name or how})" if how else place


def short(values: Array) -> str:
    """Values as they fit into a node: a number, a short row, or a size.

    >>> short(np.array(2.5)), short(np.array([1.0, -2.0])), short(np.zeros((3, 4)))
    ('2.5', '[1, −2]', '3 × 4')
    """
    if values.ndim < 2 and values.size < 4:
        numbers = ", ".join(f"{float(v):.4g}".replace("-", "−") for v in values.ravel())
        if values.ndim == 0 or len(numbers) <= 10:
            return f"[{numbers}]" if values.ndim else numbers
    size = " × ".join(map(str, values.shape))
    return size if values.ndim > 1 else f"size {size}"


def written(values: Array) -> str:
    """Values as a sentence has them: 'an array of 3 × 4'."""
    text = short(values)
    is_size = values.ndim > 1 or text.startswith("size ")
    return f"an array of {text.removeprefix('size ')}" if is_size else text


def steps(result: Variable) -> list[GraphStep]:
    """What happens, in order: values from operands to results, then gradients the other way.

    Where the result is not one number, or only constants lead to it, there is no way back.

    >>> x = Variable(3.0, "x")
    >>> [step.phase for step in steps(x * x)]
    ['given', 'forward', 'backward', 'backward']
    """
    nodes = nodes_of(result)
    number_of = {node: number for number, node in enumerate(nodes)}
    values = frozenset(number_of[node] for node in nodes if not node.parents)
    every = [GraphStep("given", None, values)]
    for number, node in enumerate(nodes):
        if node.parents:
            values |= {number}
            every.append(GraphStep("forward", number, values))
    if result.data.size != 1 or not result.requires_grad:
        return every
    collected = {number_of[result]: np.ones_like(result.data)}
    every.append(GraphStep("backward", None, values, collected))
    rest = [node for node in result.order() if node.parents]
    while rest:
        node = rest.pop()
        number = number_of[node]
        shares = tuple((number_of[p], share) for p, share in node.shares(collected[number]))
        collected = dict(collected)
        for operand, share in shares:
            collected[operand] = np.asarray(collected.get(operand, 0) + share)
        waiting = frozenset(number_of[p] for later in rest for p in later.parents)
        every.append(GraphStep("backward", number, values, collected, shares, waiting))
    return every


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
    now, names = every[number], [name_of(nodes, k) for k in range(len(nodes))]
    if now.phase == "given":
        inputs = [f"{names[k]} is {written(nodes[k].data)}" for k in sorted(now.values)]
        return f"Given: {', '.join(inputs)}."
    same = [k for k, step in enumerate(every) if step.phase == now.phase]
    start = f"{now.phase.capitalize()}, step {same.index(number) + 1} of {len(same)}: "
    if now.node is None:
        return f"{start}the gradient of the result with respect to itself is 1."
    if now.phase == "forward":
        node, short_names = nodes[now.node], [name.partition(" (")[0] for name in names]
        operands = [f"{written(p.data)} ({short_names[nodes.index(p)]})" for p in node.parents]
        return f"{start}{names[now.node]} makes {written(node.data)} from {' and '.join(operands)}."
    sent = ", ".join(f"{written(share)} to {names[k]}" for k, share in now.shares)
    targets = [k for k, _ in now.shares]
    totals = [
        f" {names[k]} has collected {written(now.collected[k])}{' so far' * (k in now.waiting)}."
        for k in dict.fromkeys(targets)
        if k in every[number - 1].collected or targets.count(k) > 1
    ]
    gradient = written(now.collected[now.node])
    return f"{start}{names[now.node]} passes its gradient {gradient} on: {sent}.{''.join(totals)}"


def lay_out(
    nodes: Sequence[Variable],
) -> tuple[dict[int, Point], dict[tuple[int, int], list[Point]]]:
    """Node → (column, row), and (operand, result) → the points of the arrow between them.

    Columns run from operands to results; rows are centered on 0. An arrow across several columns
    is given a place of its own in each, so that it passes no node. Source of the method:
    K. Sugiyama, S. Tagawa and M. Toda, Methods for visual understanding of hierarchical system
    structures, IEEE SMC 11, 1981.
    """
    number_of = {node: k for k, node in enumerate(nodes)}
    arrows = dict.fromkeys((number_of[p], k) for k, node in enumerate(nodes) for p in node.parents)
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
    """A row for every spot: near where its neighbors want it, at least 1 from the next."""
    beside: dict[Any, list[tuple[Any, float]]] = {spot: [] for m in spots for spot in m}
    for path, below in paths:
        for spot, other in itertools.pairwise(path):
            lean = below if other == path[-1] else 0.0
            beside[spot].append((other, lean))
            beside[other].append((spot, -lean))
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


def draw(result: Variable, number: int) -> tuple[Picture, str]:
    """The picture of one step, counted from 0, and the sentence that says it."""
    step, alt, nodes = steps(result)[number], sentence(result, number), nodes_of(result)
    places, arrows = lay_out(nodes)
    sent = sent_along(step)
    columns = 1 + max(column for column, _ in places.values())
    ends = [row + side for _, row in places.values() for side in (-0.5, 0.5)]
    ends += [row for path in arrows.values() for _, row in path]
    height = 1.15 * (max(ends) - min(ends)) + 0.35
    with figure(max(4.0, 1.8 * columns), height) as (fig, axes):
        bare(axes, (-0.5, columns - 0.5), (max(ends), min(ends)))  # rows count downwards
        for (operand, target), path in arrows.items():
            text = sent.get(operand, "") if target == step.node else ""
            way = "still" if target != step.node else "back" if text else "there"
            _arrow(axes, path, 0.3 * entry(nodes, operand, target), way, text)
        for k, place in places.items():
            _node(axes, place, nodes, k, step)
        return show(fig, alt), alt


def _node(axes: Any, place: Point, nodes: list[Variable], k: int, step: GraphStep) -> None:
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
        centered(axes, x, y + height, text, zorder=4, fontsize=size, **look)

    write(-0.22, textwrap.fill(label(nodes, k), 16), fontweight="bold")
    write(0.0, f"value {short(nodes[k].data) if k in step.values else '?'}")
    if k in step.collected:
        word = "so far" if k in step.waiting else "gradient"
        write(0.23, f"{word} {short(step.collected[k])}", color="C2")
    else:
        write(0.23, "gradient ?" if nodes[k].requires_grad else "no gradient", color="0.45")


def sent_along(step: GraphStep) -> dict[int, str]:
    """What is written at the arrow of each operand: the gradient that goes back along it."""
    texts: dict[int, list[str]] = {}
    for operand, share in step.shares:
        texts.setdefault(operand, []).append(short(share))
    return {operand: " + ".join(shares) for operand, shares in texts.items()}


def _arrow(axes: Any, path: list[Point], below: float, way: str, text: str) -> None:
    """Forward, from operand to result; while a gradient is sent, dashed and back."""
    first, *between, last = path
    points = [(first[0] + WIDE / 2, first[1]), *between, (last[0] - WIDE / 2, last[1] + below)]
    if text:
        (x0, y0), (x1, y1) = points[:2]
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        place = (x0 + x1) / 2, (y0 + y1) / 2 - 0.15
        centered(axes, *place, text, color="C2", fontsize=11, zorder=5, bbox=ground)
    color, width = {"still": ("0.6", 1.0), "there": ("C0", 2.2), "back": ("C2", 2.2)}[way]
    look = {"color": color, "linewidth": width, "linestyle": "--" if way == "back" else "-"}
    if way == "back":
        points.reverse()
    for start, end in itertools.pairwise(points[:-1]):
        axes.plot(*zip(start, end, strict=True), **look)
    axes.annotate(
        "", points[-1], points[-2],
        arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **look},
    )  # fmt: skip


def graph_player(result: Variable) -> Player:
    """Step through a computation: the values forward, then the gradients backward.

    The result is a computed Variable of at most 24 nodes; the `name=` of those given is shown.
    >>> graph_player(Variable(3.0, "x") * Variable(2.0, "w"))
    [interactive figure: Given: x is 3, w is 2.]
    """
    controls = {"step": slider("step", 0, 0, len(steps(result)) - 1)}
    return Player(lambda step: draw(result, step), controls, "step", interval=1500)
