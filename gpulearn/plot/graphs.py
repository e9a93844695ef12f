"""The graph of a computation, with values and gradients on its nodes, step by step."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.graph_layout import entry, lay_out
from gpulearn.plot.graph_steps import (
    Step,
    called,
    label,
    nodes_of,
    sentence,
    short,
    steps,
)
from gpulearn.plot.style import figure

if TYPE_CHECKING:
    from gpulearn.nn.autograd import Variable

__all__ = ["draw", "graph_player", "show_graph"]

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


def _picture(result: Variable, step: Step, alt: str, sent: dict[Any, str] | None = None) -> Picture:
    nodes = nodes_of(result)
    if sent is None:
        sent = _sent([step])
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


def _node(axes: Any, place: Any, nodes: list[Variable], k: int, step: Step) -> None:
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
        axes.text(x, y + height, text, ha="center", va="center", zorder=4, fontsize=size, **look)

    write(-0.22, textwrap.fill(label(nodes, k), 16), fontweight="bold")
    write(0.0, f"value {short(nodes[k].data) if k in step.values else '?'}")
    if k in step.collected:
        word = "so far" if k in step.waiting else "gradient"
        write(0.23, f"{word} {short(step.collected[k])}", color="C2")
    else:
        write(0.23, "gradient ?" if nodes[k].requires_grad else "no gradient", color="0.45")


def _sent(every: list[Step]) -> dict[tuple[int, int | None], str]:
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
        axes.text((x0 + x1) / 2, (y0 + y1) / 2 - 0.15, text, color="C2", fontsize=11, ha="center",
                  va="center", zorder=5,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
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


def show_graph(result: Variable) -> Picture:
    """Draw how a result was computed, with all values and, where it is one number, gradients.

    The number on an arrow is the gradient that was sent back along it.

    Args:
        result: a computed Variable of at most 24 nodes; `name=` of those given is shown.

    Raises:
        BadInput: it has no graph, or one that is too large to read.

    >>> from gpulearn.nn.autograd import Variable
    >>> x = Variable(3.0, "x")
    >>> show_graph(x * x)
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
    return _picture(result, replace(last, node=None, shares=()), alt, _sent(every))


def graph_player(result: Variable) -> Explorer:
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
    widgets = require.package("ipywidgets", "gl.plot.graph_player")
    last = len(steps(result)) - 1
    step = widgets.IntSlider(value=0, min=0, max=last, description="step")
    play = widgets.Play(value=0, min=0, max=last, interval=1500, description="play")
    widgets.jslink((play, "value"), (step, "value"))
    made = Explorer(lambda step: draw(result, step), {"step": step})
    made.widget.children = (widgets.HBox([play]), *made.widget.children)
    return made
