"""An order of a graph in which everything stands after what it was made from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.nn.autograd import Variable, topological_order
from gpulearn.require import shown
from gpulearn_lessons.backprop.results import without

Nodes = list[Variable]
AGAIN = "a·a + 2·a, listed a second time"
LOOKS = 20  # at the parents of a node, in the mean; a few are enough
answers = Answers(topological_order)


@dataclass(frozen=True)
class Listed:
    """The names that an answer lists, and what is amiss with them, in one sentence."""

    names: tuple[str, ...]
    complaint: str | None


def named(node: Variable, name: str) -> Variable:
    """A node with a name by which a sentence can speak of it."""
    node.name = name
    return node


def chain() -> Variable:
    """One thing after the other."""
    a = Variable(0.5, "a")
    return named(named(a.exp(), "exp a").tanh(), "tanh exp a")


def twice(swapped: bool = False) -> Variable:
    """A value that is used twice by the same operation, and once more."""
    a = Variable(3.0, "a")
    square, double = named(a * a, "a·a"), named(2 * a, "2·a")
    return named(double + square if swapped else square + double, "a·a + 2·a")


def diamond(swapped: bool = False) -> Variable:
    """3·s + s: `s` must wait for 3·s; and the same with the operands the other way round."""
    s = named(Variable(3.0, "a") ** 2, "s")
    triple = named(3 * s, "3·s")
    return named(s + triple if swapped else triple + s, "3·s + s")


def late(swapped: bool) -> Variable:
    """A value that is used at once, and again at the end of a long way."""
    a = Variable(2.0, "a")
    way = a
    for step in range(4):
        way = named(way + 1, f"step {step}")
    return named(a * way if swapped else way * a, "the product")


def short_and_long(swapped: bool) -> Variable:
    """A product of an input and of what a chain of functions made from it."""
    a = Variable(0.5, "a")
    way = named(named(named(a.exp(), "exp a").tanh(), "tanh exp a").relu(), "relu tanh exp a")
    return named(a * way if swapped else way * a, "the product")


def ladder() -> Variable:
    """Each rung is used twice by the next: 2¹² ways from the end to the beginning."""
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
    """Two inputs with one value and no name: they are two."""
    a, b = Variable(3.0), Variable(3.0)
    return named(named(a * b, "a·b") + a, "a·b + a")


def namesakes() -> Variable:
    """Two inputs with one name and no value in common: they are two."""
    return named(Variable(2.0, "w") * Variable(3.0, "w"), "w·w")


def cases() -> list[Case]:
    """Graphs with one way and with many, in either order of the operands."""

    def case(label: str, make: Callable[[], Variable]) -> Case:
        return Case(label, (make,))

    return [
        case("tanh of exp of a", chain),
        case("a·a + 2·a", twice),
        case("2·a + a·a", lambda: twice(swapped=True)),
        case(AGAIN, twice),
        case("3·s + s", diamond),
        case("s + 3·s", lambda: diamond(swapped=True)),
        case("a product of a and what was made from it", lambda: late(swapped=True)),
        case("a product of what was made from a, and a", lambda: late(swapped=False)),
        case("a product of a and a function of a function of it", lambda: short_and_long(True)),
        case("a product of a function of a function of a, and a", lambda: short_and_long(False)),
        case("a layer", layer),
        case("two inputs of the same value", equal_values),
        case("two inputs of the same name", namesakes),
        case("twelve rungs, each used twice", ladder),
        case("a alone", lambda: Variable(3.0, "a")),
    ]


@contextmanager
def looking() -> Iterator[list[int]]:
    """What an answer asks for the parents of, one entry each time."""
    looks: list[int] = []

    def parents(node: Variable) -> Any:
        looks.append(id(node))
        return vars(node)["parents"]

    def become(node: Variable, value: Any) -> None:
        vars(node)["parents"] = value

    with patch.object(Variable, "parents", property(parents, become), create=True):
        yield looks


def run(answer: Answer, case: Case) -> Listed | None:
    """Let an answer list a graph that is made anew."""
    result = case.args[0]()
    wanted = topological_order(result)
    with without("order"), looking() as looks:
        if case.label == AGAIN:
            answer(result)
            looks.clear()
        got = answer(result)
    if got is None:
        return None
    if not isinstance(got, list | tuple):
        raise Refused(compare.odd(got) or f"it returns {shown(got)}, expected a list of Variables")
    names = {id(node): node.name or f"the unnamed {node.data:g}" for node in wanted}
    listed = tuple(names.get(id(node), shown(node)) for node in got)
    amiss = complaint(list(got), wanted, names)
    if amiss is None and len(looks) > LOOKS * len(wanted):
        amiss = (
            f"the list is right, but it asks for parents {len(looks):,} times in a graph of "
            f"{len(wanted)} nodes: it goes on from a node once for each way that leads to it. "
            "Remember where it has been"
        )
    return Listed(listed, amiss)


def complaint(got: list[Any], wanted: Nodes, names: dict[int, str]) -> str | None:
    """What is amiss with a list of nodes."""
    places = {id(node): place for place, node in enumerate(got)}
    for node in got:
        if id(node) not in names:
            return f"it lists {shown(node)}, which is no Variable of this graph"
    for node in wanted:
        name = names[id(node)]
        if id(node) not in places:
            return f"{name} is missing"
        if (count := sum(one is node for one in got)) > 1:
            return f"{name} stands there {count} times"
    for node in wanted:
        for parent in node.parents:
            if places[id(parent)] > places[id(node)]:
                return (
                    f"{names[id(node)]} stands before {names[id(parent)]}, from which it was made"
                )
    return None


def difference(got: Any, expected: Any) -> str | None:
    """What is amiss; any order in which operands stand before results is right."""
    return got.complaint if isinstance(got, Listed) else compare.NOTHING


def alike(one: Any, other: Any) -> bool:
    """Whether two answers list the same, in the same order."""
    return isinstance(one, Listed) and isinstance(other, Listed) and one.names == other.names


@answers.right
def by_calls(result: Variable) -> Nodes:
    order: Nodes = []
    seen = set()

    def visit(node: Variable) -> None:
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(result)
    return order


SEEN = "        if node not in seen:\n            seen.add(node)\n"
VISITS = """\
            for parent in node.parents:
                visit(parent)
            order.append(node)
"""
answers.edit(
    {"    return order": "    return order[::-1]"},
    "the result stands first: operands must stand before what was made from them. Reverse it.",
    of=by_calls,
)
answers.edit(
    {
        SEEN: (
            "        known = node.name or node\n        if known not in seen:\n"
            "            seen.add(known)\n"
        )
    },
    "Variables are told apart by their names, and two may have the same: note the Variable itself.",
    of=by_calls,
)
answers.edit(
    {SEEN: "        if True:\n"},
    "a node that is used several times is listed several times: note which ones you have seen.",
    of=by_calls,
)
answers.edit(
    {
        VISITS: """\
            order.append(node)
            for parent in node.parents:
                visit(parent)
"""
    },
    "a node is appended before its parents: append it when all of them have been visited.",
    of=by_calls,
)
answers.edit(
    {
        VISITS: """\
            order.append(node)
            for parent in node.parents:
                visit(parent)
""",
        "    return order": "    return order[::-1]",
    },
    "a list made on the way down, and reversed, is right for trees only: where two ways lead to a "
    "node, the shorter one may bring it too late. Append a node after its parents.",
    of=by_calls,
)
answers.edit(
    {
        "            order.append(node)\n": """\
            if node.parents:
                order.append(node)
"""
    },
    "what was given is left out; only computed nodes are listed. Inputs need their gradients most.",
    of=by_calls,
)
answers.edit(
    {
        "            order.append(node)\n": """\
            if node is not result:
                order.append(node)
"""
    },
    "the result itself is left out: it belongs at the end.",
    of=by_calls,
)
answers.edit(
    {"for parent in node.parents:": "for parent in node.parents[:1]:"},
    "only the first parent of each node is visited; an operation of two operands has two.",
    of=by_calls,
)
answers.edit(
    {"if node not in seen": "if node not in seen and node.requires_grad"},
    "what needs no gradient is left out. Here everything is listed; to leave that out is the "
    "next step, and easy.",
    of=by_calls,
)
answers.edit(
    {
        "node not in seen": "float(node.data.sum()) not in seen",
        "seen.add(node)": "seen.add(float(node.data.sum()))",
    },
    "two nodes of the same value are taken for one: remember the nodes, not their values.",
    of=by_calls,
)
answers.edit(
    {"seen = set()": "seen = elsewhere"},
    "what was seen in an earlier call is still there, as in a set that is made once, outside of "
    "the function or as a default: make a new one in each call.",
    of=by_calls,
    elsewhere=set(),
)


@answers.wrong(
    "the list goes level by level, and each node stands where it was first met: one that is met "
    "early may be needed by one that is met later. Append a node after its parents."
)
def by_levels(result: Variable) -> Nodes:
    order, waiting = [], deque([result])
    while waiting:
        node = waiting.popleft()
        if node not in order:
            order.append(node)
            waiting.extend(node.parents)
    return order[::-1]


@answers.wrong(
    "it looks at the parents of the result and no further: their parents belong to the list too."
)
def one_level(result: Variable) -> Nodes:
    return [*dict.fromkeys(result.parents), result]


@answers.wrong(
    "the list is made on the way down, the last parent first, and reversed: where two ways lead to "
    "a node, it may come too late. Append a node only after all of its parents."
)
def by_a_stack(result: Variable) -> Nodes:
    order, waiting = [], [result]
    while waiting:
        node = waiting.pop()
        if node not in order:
            order.append(node)
            waiting.extend(node.parents)
    return order[::-1]


@answers.wrong(
    "the list is right, and it goes along every way that leads to a node, whose number can double "
    "from layer to layer: remember what has been found of a node, and go on from it once."
)
def by_the_longest_way_without_memory(result: Variable) -> Nodes:
    def depth(node: Variable) -> int:
        return 1 + max([depth(parent) for parent in node.parents], default=0)

    found, waiting = {result}, [result]
    while waiting:
        for parent in waiting.pop().parents:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return sorted(found, key=depth)


@answers.wrong(
    "the nodes are sorted by the shortest way to an input, and what is made from an input and from "
    "a long way stands too early: it is the longest way that counts."
)
def by_the_shortest_way(result: Variable) -> Nodes:
    depth: dict[Variable, int] = {}

    def measure(node: Variable) -> int:
        if node not in depth:
            depth[node] = min((1 + measure(parent) for parent in node.parents), default=0)
        return depth[node]

    measure(result)
    return sorted(depth, key=lambda node: depth[node])


@answers.right
def when_all_users_are_done(result: Variable) -> Nodes:
    users: dict[Variable, int] = {result: 0}
    waiting = [result]
    while waiting:
        for parent in waiting.pop().parents:
            if parent not in users:
                users[parent] = 0
                waiting.append(parent)
            users[parent] += 1
    order, ready = [], [result]
    while ready:
        node = ready.pop()
        order.append(node)
        for parent in node.parents:
            users[parent] -= 1
            if users[parent] == 0:
                ready.append(parent)
    return order[::-1]


answers.edit(
    {"waiting.pop().parents": "set(waiting.pop().parents)"},
    "a result that uses a node twice, as a·a does, is counted as one use and taken off as two, so "
    "that the node comes too late in the list: count every use.",
    of=when_all_users_are_done,
)


@answers.right
def by_the_longest_way(result: Variable) -> Nodes:
    depth = {result: 0}
    waiting = [result]
    while waiting:
        node = waiting.pop()
        for parent in node.parents:
            if depth.get(parent, -1) < depth[node] + 1:
                depth[parent] = depth[node] + 1
                waiting.append(parent)
    return sorted(depth, key=lambda node: -depth[node])


EXERCISE = Exercise(
    task="List a result and all that it was made from, operands before results.",
    reference=topological_order,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(alike,),
    answers=answers,
)
