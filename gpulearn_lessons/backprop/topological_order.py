"""An order of a graph in which every node comes after its parents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.nn.autograd import Variable, topological_order
from gpulearn.require import shown
from gpulearn_lessons.backprop.results import without

Nodes = list[Variable]
AGAIN = "a·a + 2·a, listed a second time"
LOOKS = 20  # at the parents of a node, on average; a few are enough


@dataclass(frozen=True)
class NodeList:
    """The names that an answer lists, and what is wrong with the list, in one sentence."""

    names: tuple[str, ...]
    complaint: str | None


def named(node: Variable, name: str) -> Variable:
    node.name = name
    return node


def chain() -> Variable:
    """One operation after another."""
    a = Variable(0.5, "a")
    return named(named(a.exp(), "exp a").tanh(), "tanh exp a")


def twice(swapped: bool = False) -> Variable:
    """A value that is used twice by the same operation, and once more."""
    a = Variable(3.0, "a")
    square, double = named(a * a, "a·a"), named(2 * a, "2·a")
    return named(double + square if swapped else square + double, "a·a + 2·a")


def diamond(swapped: bool = False) -> Variable:
    """3·s + s: `s` must wait for 3·s; or the same with the operands swapped."""
    s = named(Variable(3.0, "a") ** 2, "s")
    triple = named(3 * s, "3·s")
    return named(s + triple if swapped else triple + s, "3·s + s")


def late(swapped: bool) -> Variable:
    """A value that is used right away, and again at the end of a long path."""
    a = Variable(2.0, "a")
    way = a
    for step in range(4):
        way = named(way + 1, f"step {step}")
    return named(a * way if swapped else way * a, "the product")


def short_and_long(swapped: bool) -> Variable:
    """A product of an input and a chain of functions of it."""
    a = Variable(0.5, "a")
    way = named(named(named(a.exp(), "exp a").tanh(), "tanh exp a").relu(), "relu tanh exp a")
    return named(a * way if swapped else way * a, "the product")


def ladder() -> Variable:
    """Each rung is used twice by the next: 2¹² paths from the end to the beginning."""
    a = Variable(1.0, "a")
    for rung in range(12):
        a = named(a + a, f"rung {rung}")
    return a


def layer() -> Variable:
    """A layer, with data that needs no gradient, and a loss."""
    x = Variable([[1.0, 2.0]], "x", requires_grad=False)
    w, b = Variable([[1.0], [1.0]], "w"), Variable([0.5], "b")
    z = named(named(x @ w, "x·w") + b, "z")
    return named(named(z.relu(), "relu z") * z, "loss")


def equal_values() -> Variable:
    """Two inputs with the same value and no name: they are two nodes."""
    a, b = Variable(3.0), Variable(3.0)
    return named(named(a * b, "a·b") + a, "a·b + a")


def namesakes() -> Variable:
    """Two inputs with the same name and different values: they are two nodes."""
    return named(Variable(2.0, "w") * Variable(3.0, "w"), "w·w")


def cases() -> list[Case]:
    """Graphs with one path and with many, in either order of the operands."""
    graphs: dict[str, Callable[[], Variable]] = {
        "tanh of exp of a": chain,
        "a·a + 2·a": twice,
        "2·a + a·a": lambda: twice(swapped=True),
        AGAIN: twice,
        "3·s + s": diamond,
        "s + 3·s": lambda: diamond(swapped=True),
        "a product of a and what was computed from it": lambda: late(swapped=True),
        "a product of what was computed from a, and a": lambda: late(swapped=False),
        "a product of a and a function of a function of it": lambda: short_and_long(True),
        "a product of a function of a function of a, and a": lambda: short_and_long(False),
        "a layer": layer,
        "two inputs of the same value": equal_values,
        "two inputs of the same name": namesakes,
        "twelve rungs, each used twice": ladder,
        "a by itself": lambda: Variable(3.0, "a"),
    }
    return [Case(label, (make,)) for label, make in graphs.items()]


@contextmanager
def looking() -> Iterator[list[int]]:
    """The nodes whose parents an answer asks for, one entry each time."""
    looks: list[int] = []

    def parents(node: Variable) -> Any:
        looks.append(id(node))
        return vars(node)["parents"]

    def become(node: Variable, value: Any) -> None:
        vars(node)["parents"] = value

    with patch.object(Variable, "parents", property(parents, become), create=True):
        yield looks


def run(answer: Answer, case: Case) -> NodeList | None:
    result = case.args[0]()
    order = topological_order(result)
    with without("order"), looking() as looks:
        if case.label == AGAIN:
            answer(result)
            looks.clear()
        out = answer(result)
    if out is None:
        return None
    if not isinstance(out, list | tuple):
        raise Violation(
            compare.odd(out) or f"it returns {shown(out)}, expected a list of Variables"
        )
    names = {id(node): node.name or f"the unnamed {node.data:g}" for node in order}
    listed = tuple(names.get(id(node), shown(node)) for node in out)
    fault = complaint(list(out), order, names)
    if fault is None and len(looks) > LOOKS * len(order):
        fault = (
            f"the list is right, but it asks for parents {len(looks):,} times in a graph of "
            f"{len(order)} nodes: it continues from a node once for each path that leads to it. "
            "Remember which nodes it has seen"
        )
    return NodeList(listed, fault)


def complaint(got: list[Any], want: Nodes, names: dict[int, str]) -> str | None:
    places = {id(node): place for place, node in enumerate(got)}
    for node in got:
        if id(node) not in names:
            return f"it lists {shown(node)}, which is not a Variable of this graph"
    for node in want:
        name = names[id(node)]
        if id(node) not in places:
            return f"{name} is missing"
        if (count := sum(entry is node for entry in got)) > 1:
            return f"{name} is listed {count} times"
    for node in want:
        for parent in node.parents:
            if places[id(parent)] > places[id(node)]:
                one, other = names[id(node)], names[id(parent)]
                return f"{one} comes before {other}, from which it was computed"
    return None


def difference(got: Any, expected: Any) -> str | None:
    """What is wrong; any order in which operands come before results is right."""
    return got.complaint if isinstance(got, NodeList) else compare.NOTHING


def alike(one: Any, other: Any) -> bool:
    """Whether two answers list the same in the same order, or both in an order that is right.

    An answer that keeps nodes in a set lists those of one depth as their addresses have it.
    """
    if not (isinstance(one, NodeList) and isinstance(other, NodeList)):
        return False
    return one.names == other.names or (one.complaint is None and other.complaint is None)


EXERCISE = Exercise(
    task="List a result and everything it was computed from, operands before results.",
    reference=topological_order,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(alike,),
)
