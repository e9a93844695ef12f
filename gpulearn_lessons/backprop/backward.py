"""The backward pass from a result to the inputs, which adds up the shares."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.nn.autograd import Variable, backward
from gpulearn.require import shown
from gpulearn_lessons.backprop.results import without

AGAIN = "the graph of 3·s + s, passed back a second time"
ACCUMULATED = "3·s + s with s = a·a, where .grad is 7 from before"


@dataclass(frozen=True)
class Gradients:
    """The gradient that an answer gave each node, in order; `more` counts its other entries.

    `again` is the first node that it asked for shares more than once, if any.
    """

    names: tuple[str, ...]
    gradients: tuple[Any, ...]
    more: int
    again: str | None = None


def square() -> Variable:
    """(w·x + b)², as a product of a number with itself."""
    w, b = Variable(2.0, "w"), Variable(1.0, "b")
    e = w * Variable(3.0, "x", requires_grad=False) + b
    return e * e


def shared() -> Variable:
    """3·s + s with s = a·a: a computed value and an input are each used twice."""
    a = Variable(3.0, "a")
    s = a * a
    s.name = "s"
    return 3 * s + s


def two_sums() -> Variable:
    """Additions pass the same array to both operands."""
    a, b = Variable([1.0, -2.0], "a"), Variable([4.0, 0.5], "b")
    return (a + b) + a * 2 + (a + b)


def chain() -> Variable:
    """A value that is used right away and five steps later."""
    a = Variable([0.5, -1.5, 2.0], "a")
    late = a.exp().tanh() * 3 - 1
    return late * a + a


def layer() -> Variable:
    """Two layers on a batch; biases are repeated over it, and weights are used twice."""
    rng = np.random.default_rng(5)
    x = Variable(rng.normal(size=(4, 3)), "x", requires_grad=False)
    w, b = Variable(rng.normal(size=(3, 3)), "w"), Variable(rng.normal(size=3), "b")
    return ((x @ w + b).tanh() @ w + b).relu()


def stopped() -> Variable:
    """A ReLU that passes nothing: zero arrives before it, and zero is a gradient, too."""
    a, b = Variable([2.0, -1.0], "a"), Variable([3.0, 1.0], "b")
    return (a - b - 1).relu() * b


def cases() -> list[Case]:
    """Graphs in which values are used once, twice and late; gradients that are not 1."""

    def case(make: Callable[[], Variable], gradient: Any, label: str) -> Case:
        return Case(label, (make, np.asarray(gradient, float)))

    return [
        case(lambda: 2 * Variable(3.0, "a") + 1, 1.0, "2·a + 1"),
        case(square, 1.0, "e·e with e = w·x + b"),
        case(shared, 1.0, "3·s + s with s = a·a"),
        case(shared, 1.0, AGAIN),
        case(shared, -2.5, "3·s + s with s = a·a, and −2.5 arriving"),
        case(shared, 1.0, ACCUMULATED),
        case(two_sums, [1.0, 10.0], "(a + b) + a·2 + (a + b)"),
        case(chain, [1.0, -1.0, 0.5], "late·a + a, where late is computed from a"),
        case(layer, np.arange(12.0).reshape(4, 3) - 5, "two layers with the same weights"),
        case(lambda: Variable(3.0, "a"), 4.0, "a by itself"),
        case(stopped, [1.0, 2.0], "relu(a − b − 1)·b, where ReLU passes nothing"),
    ]


def run(answer: Answer, case: Case) -> Gradients | None:
    make, gradient = case.args
    nodes = make().order()[::-1]
    seed, handed = gradient.copy(), list(nodes)
    for node in nodes:
        node.grad = np.full(node.shape, 7.0) if case.label == ACCUMULATED else None
    before = [copy.copy(node.grad) for node in nodes]
    visited: list[Variable] = []

    def noted(node: Variable, *gradients: Any) -> Any:
        visited.append(node)
        return shares(node, *gradients)

    shares = Variable.shares
    with without("backward"), patch.object(Variable, "shares", noted):
        if case.label == AGAIN:
            answer(list(nodes), seed)
            visited.clear()
        result = answer(handed, seed)
    if result is None:
        return None
    if not isinstance(result, dict):
        raise Violation(
            compare.odd(result)
            or f"it returns {shown(result)}, expected a dictionary of nodes and gradients"
        )
    if not np.array_equal(seed, gradient):
        raise Violation(
            "it changes the gradient that it was given: an addition passes that same array on to "
            "its parents, so a += into a share may write into it. Write a = a + share"
        )
    if len(handed) != len(nodes) or any(a is not b for a, b in zip(handed, nodes, strict=True)):
        raise Violation("it changes the list of nodes that it was given; work on a copy")
    if not all(map(np.array_equal, (node.grad for node in nodes), before)):
        raise Violation("it writes into the .grad of the nodes: only return the gradients")
    names = tuple(node.name or f"the result of {node.operation}" for node in nodes)
    more = [key for key in result if not any(key is node for node in nodes)]
    again = next((n for n, node in zip(names, nodes, strict=True) if visited.count(node) > 1), None)
    return Gradients(names, tuple(_copied(result.get(node)) for node in nodes), len(more), again)


def _copied(value: Any) -> Any:
    return np.array(value) if compare.is_number(value) or isinstance(value, np.ndarray) else value


def difference(got: Any, expected: Gradients) -> str | None:
    if not isinstance(got, Gradients):
        return compare.NOTHING
    for name, one, other in zip(got.names, got.gradients, expected.gradients, strict=True):
        if one is None:
            return f"{name} has no gradient"
        if not isinstance(one, np.ndarray):
            return f"the gradient of {name} is {shown(one)}, expected numbers"
        if one.shape != other.shape:
            return f"the gradient of {name} has shape {one.shape}, expected {other.shape}"
        if not compare.alike(one, other).all():
            where = tuple(int(i) for i in np.argwhere(~compare.alike(one, other))[0])
            place = f"[{', '.join(map(str, where))}]" if where else ""
            return (
                f"the gradient of {name}{place} is {compare.told_apart(one[where], other[where])}"
            )
    if got.more:
        return "the dictionary has keys that are not in nodes"
    if got.again:
        return f"the gradients are right, but {got.again} is asked for its shares more than once"
    return None


def alike(one: Any, other: Any) -> bool:
    """Whether two answers gave every node the same gradient, or none to the same nodes."""
    if not isinstance(one, Gradients) or not isinstance(other, Gradients) or one.more != other.more:
        return False
    if (one.again is None) != (other.again is None):
        return False
    return all(
        mine is theirs
        if mine is None or theirs is None
        else mine.shape == theirs.shape and bool(compare.alike(mine, theirs).all())
        for mine, theirs in zip(one.gradients, other.gradients, strict=True)
    )


EXERCISE = Exercise(
    task="Go through a graph from its result, and return the gradient of every node.",
    reference=backward,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(alike,),
)
