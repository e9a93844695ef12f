"""The graph player: its steps end in what `backward` finds, and its nodes stand apart."""

import itertools

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.nn.autograd import Variable
from gpulearn_lessons.backprop import graph_player
from gpulearn_lessons.backprop.graphs import (
    draw,
    label,
    lay_out,
    name_of,
    nodes_of,
    sent_along,
    sentence,
    short,
    steps,
)


def neuron():
    x, w, b = Variable(3.0, "x"), Variable(2.0, "w"), Variable(-4.0, "b")
    return ((x * w + b).relu() - 1) ** 2 + w * w


def network():
    x = Variable(np.ones((2, 3)), "X", requires_grad=False)
    w, b = Variable(np.ones((3, 4)), "W"), Variable(np.zeros(4), "b")
    return (x @ w + b).relu().softmax_cross_entropy([0, 1])


def tangle():
    x = y = Variable([1.0, 2.0], "x")
    for _ in range(4):
        y = y * x + y.tanh()
    return y.sum()


GRAPHS = [neuron, network, tangle]


@pytest.mark.parametrize("make", GRAPHS)
def test_steps_end_in_what_backward_finds(make):
    result = make()
    nodes, every = nodes_of(result), steps(result)
    result.backward()
    for number, node in enumerate(nodes):
        collected = every[-1].collected.get(number)
        if node.grad is None:
            assert collected is None
        else:
            np.testing.assert_array_equal(collected, node.grad)


@pytest.mark.parametrize("make", GRAPHS)
def test_order_of_the_steps(make):
    result = make()
    nodes, every = nodes_of(result), steps(result)
    forward = [step.node for step in every if step.phase == "forward"]
    backward = [step.node for step in every if step.phase == "backward"]
    assert forward == [k for k, node in enumerate(nodes) if node.parents]
    assert backward[0] is None
    wanted = [k for k in reversed(forward) if nodes[k].requires_grad]
    assert sorted(backward[1:], reverse=True) == wanted
    for step, later in itertools.pairwise(every):
        assert step.values <= later.values
        if later.phase == "forward":  # every operand is known
            operands = {nodes.index(p) for p in nodes[later.node].parents}
            assert operands <= step.values
        if later.shares:  # all of its gradient has arrived
            final = every[-1].collected[later.node]
            np.testing.assert_array_equal(step.collected[later.node], final)
        for k in later.collected.keys() - later.waiting:
            np.testing.assert_array_equal(later.collected[k], every[-1].collected[k])
    assert all(node.grad is None for node in nodes)  # looking changes nothing


@pytest.mark.parametrize("make", GRAPHS)
def test_nodes_and_arrows_stand_apart(make):
    nodes = nodes_of(make())
    places, arrows = lay_out(nodes)
    spots = [*places.values(), *(spot for path in arrows.values() for spot in path[1:-1])]
    assert len(spots) == len({(c, round(r, 6)) for c, r in spots})
    for (c, r), (other, row) in itertools.combinations(spots, 2):
        assert c != other or abs(r - row) > 0.999
    for (operand, result), path in arrows.items():
        assert (path[0], path[-1]) == (places[operand], places[result])
        assert [after[0] - before[0] for before, after in itertools.pairwise(path)] == [1] * (
            len(path) - 1
        )
    assert len(arrows) == len({(id(p), id(n)) for n in nodes for p in n.parents})


def test_the_first_operand_stands_above():
    for result, pairs in ((neuron(), 3), (network(), 2)):
        nodes = nodes_of(result)
        places, _ = lay_out(nodes)
        rows = [
            [places[nodes.index(p)][1] for p in n.parents] for n in nodes if len(set(n.parents)) > 1
        ]
        assert len(rows) >= pairs
        assert all(first < second for first, second in rows)


def test_sentences():
    result = neuron()
    every = [sentence(result, k) for k in range(len(steps(result)))]
    assert every[0] == "Given: x is 3, w is 2, b is −4, constant is 1."
    assert every[2] == "Forward, step 2 of 7: node 2 (+) makes 2 from 6 (node 1) and −4 (b)."
    assert every[8].endswith("step 1 of 8: the gradient of the result with respect to itself is 1.")
    assert every[10].endswith("on: 2 to w, 2 to w. w has collected 4 so far.")
    assert every[-1] == (
        "Backward, step 8 of 8: node 1 (×) passes its gradient 2 on: 4 to x, 6 to w. "
        "w has collected 10."
    )
    assert "node 1 (@) makes an array of 2 × 4 from an array of 2 × 3 (X) and" in sentence(
        network(), 1
    )


def test_what_is_written_at_the_arrows():
    result = neuron()
    nodes = nodes_of(result)
    texts = {
        name_of(nodes, step.node): {name_of(nodes, k): s for k, s in sent_along(step).items()}
        for step in steps(result)
        if step.shares
    }
    assert texts["node 6 (×)"]["w"] == "2 + 2"
    assert texts["node 1 (×)"]["w"] == "6"
    assert sum(map(len, texts.values())) == 10  # every arrow but the constant's


def test_names():
    x = Variable(2.0)
    z = x * 3
    z.name = "z"
    nodes = nodes_of(z + 1)
    assert [label(nodes, k) for k in range(5)] == [
        "given",
        "constant",
        "1: z (×)",
        "constant",
        "2: +",
    ]
    assert [name_of(nodes, k) for k in (0, 2, 4)] == ["given", "node 1 (z)", "node 2 (+)"]
    assert short(np.array([0.333333, 0.25, 0.125])) == "size 3"
    assert short(np.array([[2.0]])) == "1 × 1"


def test_without_a_way_back():
    assert {step.phase for step in steps(Variable([1.0, 2.0]) * 2)} == {"given", "forward"}


@pytest.mark.parametrize("make", GRAPHS)
def test_every_step_is_drawn(make):
    result = make()
    for number in (0, len(steps(result)) // 2, len(steps(result)) - 1):
        picture, text = draw(result, number)
        assert picture.alt == text == sentence(result, number)
        assert picture.png.startswith(b"\x89PNG")


def test_bad_input():
    long = Variable(1.0)
    for _ in range(24):
        long = long.tanh()
    with pytest.raises(gl.errors.BadInput, match="The graph has 25 nodes: at most 24"):
        graph_player(long)
    with pytest.raises(gl.errors.BadInput, match=r"Variable\(1.\) has no graph"):
        graph_player(Variable(1.0))
    with pytest.raises(gl.errors.BadInput, match="3 has no graph"):
        graph_player(3)
