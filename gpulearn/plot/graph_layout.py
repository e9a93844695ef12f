"""Where the nodes and arrows of a computation graph stand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from gpulearn.nn.autograd import Variable

__all__ = ["entry", "lay_out"]

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
