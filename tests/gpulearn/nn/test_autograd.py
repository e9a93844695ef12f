"""Variables: gradients that add up, dtypes that stay, long chains, any graph, clear complaints."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.nn.autograd import Variable, backward, topological_order


def compare(compute, *arrays, h=1e-6):
    """Hold the gradients of Σ weights · compute(…) against central differences."""
    inputs = [Variable(array) for array in arrays]
    result = compute(*inputs)
    weights = np.random.default_rng(5).normal(size=result.shape)
    result.backward(weights)
    for k, (array, variable) in enumerate(zip(arrays, inputs, strict=True)):
        assert variable.grad.shape == array.shape
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][place] += sign * h
                ends.append((compute(*map(Variable, moved)).data * weights).sum())
            slope = (ends[0] - ends[1]) / (2 * h)
            assert variable.grad[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


# what test_autograd_torch.py does not hold against torch
METHODS = {
    "root": lambda x: x**0.5,
    "both sides": lambda x: 3 - x + 2 * x / 5 - 1 / x + (1 + x) * 2,
    "reshape by a tuple": lambda x: x.reshape((3, 8)),
    "transpose": lambda x: x.T * np.arange(2),
    "transpose by axes": lambda x: x.transpose(1, -1, 0) * np.arange(2),
    "slices": lambda x: x[:, 1:, ::2],
    "mask": lambda x: x[x.data > 1],
    "layers": lambda x: x.reshape(4, 6).softmax_cross_entropy(np.array([2, 0, 1, 5])),
}


@pytest.mark.parametrize("name", METHODS)
def test_gradients_are_those_of_finite_differences(name):
    compare(METHODS[name], np.random.default_rng(3).uniform(0.5, 2, size=(2, 3, 4)))


def test_equal_elements_share_a_gradient():
    x = Variable([2.0, 1.0, 2.0])
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]
    x.zero_grad()
    x.maximum(2.0).sum().backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]


def test_zero_to_a_power_and_far_ends_warn_of_nothing():
    x = Variable([0.0, -3.0])
    (x**0 + x**2 + x**1).sum().backward()
    assert x.grad.tolist() == [1, -5]
    y = Variable([-800.0, 800.0])
    y.sigmoid().sum().backward()
    assert y.sigmoid().data.tolist() == [0, 1]
    assert y.grad.tolist() == [0, 0]
    assert Variable(-40.0).sigmoid().data == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_gradients_add_up_in_what_was_given_until_they_are_forgotten():
    x = Variable([1.0, 2.0])
    y = x * 3
    result = (y * y).sum()
    result.backward()
    result.backward()
    assert x.grad.tolist() == [36, 72]  # twice 18 · x
    assert y.grad.tolist() == [6, 12]  # once 2 · y
    x.zero_grad()
    assert x.grad is None
    result.backward()
    assert x.grad.tolist() == [18, 36]


def test_no_two_nodes_share_an_array():
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    given = np.ones(2)
    result = a + b
    result.backward(given)
    a.grad *= 5
    assert (a.grad[0], b.grad[0], result.grad[0], given[0]) == (5, 1, 1, 1)
    data = np.zeros(2)
    Variable(data).data += 1
    assert data.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_stays(dtype):
    for start in (np.array(2, dtype), np.full((2, 3), 2, dtype)):
        x = Variable(start)
        y = ((2 * x + 1) / 3 - 0.5) ** 2 + x.sigmoid() + x.maximum(1) + np.float64(2) * x
        y = y * np.ones(3, dtype) + np.arange(3) + np.array([True, False, True])
        z = y.mean() + y.max() + (1 - y).sum() + y[..., 0].sum()
        z.backward()
        assert (
            {v.data.dtype for v in (x, y, z)} == {v.grad.dtype for v in (x, y, z)} == {x.data.dtype}
        )


def test_constants():
    x, images = Variable(np.ones((3, 2))), np.ones((4, 3))
    still = Variable(images, requires_grad=False)
    for result in (images @ x, still @ x):
        result.sum().backward()
    assert x.grad.tolist() == [[8, 8]] * 3
    assert still.grad is None
    assert (still + 1).requires_grad is False
    assert (np.ones(2) - Variable([1.0, 1.0])).shape == (2,)  # not an array of two Variables


def test_a_chain_of_100_000_nodes():
    x = Variable(1.0)
    y = x
    for _ in range(50_000):
        y = y * x + x
    y.backward()
    assert y.data == 50_001
    assert x.grad == 50_001 + 50_000 * 50_001 / 2  # of x + x² + … + x⁵⁰⁰⁰¹, at 1
    assert sys.getrecursionlimit() < 10_000
    before = len(gc.get_objects())
    del y  # letting go of the chain must not recurse either
    gc.collect()
    assert len(gc.get_objects()) < before - 100_000


def test_a_wide_graph_is_walked_once():
    x = y = Variable(1.0)
    for _ in range(60):
        y = y + y  # 2⁶⁰ paths
    y.backward()
    assert x.grad == 2.0**60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Variable([1.0, 2.0]).backward(), r"from one number, and this has shape \(2,\)"),
        (lambda: Variable([1.0, 2.0]).backward([1.0]), r"gradient has shape \(1,\): give one of"),
        (lambda: (Variable(1.0, requires_grad=False) * 2).backward(), "only constants lead"),
        (lambda: Variable(np.ones((2, 3))) @ np.ones((2, 3)), r"@ on shape \(2, 3\) and \(2, 3\)"),
        (lambda: Variable(1.0) @ Variable(1.0), r"@ on shape \(\) and \(\)"),
        (lambda: Variable(np.ones((2, 3))) + np.ones(2), r"\+ on shape \(2, 3\) and \(2,\): they"),
        (lambda: Variable(np.ones(6)).reshape(4), r"reshape on shape \(6,\): cannot reshape"),
        (lambda: Variable(np.ones(6)).sum(axis=1), r"sum on shape \(6,\): axis 1 is out of bounds"),
        (lambda: Variable(np.ones(6)).sum(axis="x"), r"sum on shape \(6,\): 'str' object cannot"),
        (lambda: np.sin(Variable(1.0)), r"np.sin has no rule for a Variable here: use np.add, "),
        (lambda: np.ones(2) > Variable(1.0), "np.greater has no rule for a Variable"),
        (lambda: np.add(np.ones(2), Variable(1.0), out=np.ones(2)), r"write a = a \+ x, not a \+="),
        (lambda: np.sum(Variable([1.0])), r"np.sum takes no Variable: use a method, such as x.sum"),
        (lambda: Variable(2.0) ** Variable(2.0), r"exponent is Variable\(2.\): give a number"),
        (lambda: Variable("three"), "'three': give real numbers"),
        (lambda: Variable(1j), "give real numbers"),
        (lambda: Variable([[1.0], [2.0, 3.0]]), r"\[\[1.0\], \[2.0, 3.0\]\]: its rows differ"),
        (lambda: Variable(1.0) + None, "data is None"),
        (lambda: Variable(np.ones((2, 3))).softmax_cross_entropy([0, 3]), r"labels\[1\] is 3"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        call()


def test_numpy_functions_of_variables():
    array = np.array([[1.0, 2.0], [3.0, 5.0]])
    compare(lambda x: np.exp(-x) * np.log(x) + np.tanh(np.maximum(x, 2.5)), array)
    compare(lambda x: np.matmul(array, x) - np.divide(array, x), array.T)
    x = Variable(np.float32([1, 2]))
    for result in (np.float64(2) * x, np.multiply(2, x), np.exp(x), np.float32([3, 4]) @ x):
        assert isinstance(result, Variable)
        assert result.data.dtype == np.float32


def test_it_shows_its_values():
    assert repr(Variable(np.float32([1, 2]))) == "Variable([1., 2.])"
    assert repr(gl.nn.Variable(3)) == "Variable(3.)"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.booleans()), max_size=12))
def test_any_graph_is_ordered_and_walked(steps):
    x = Variable(0.7, "x")
    nodes, slopes = [x, Variable(1.3, requires_grad=False)], [1.0, 0.0]  # forward mode, by hand
    for first, second, product in steps:
        (a, of_a), (b, of_b) = (
            (nodes[k % len(nodes)], slopes[k % len(nodes)]) for k in (first, second)
        )
        scale = 0.5 / max(1.0, abs(float(a.data * b.data)))
        nodes.append(a * b * scale if product else a + b * 0.5)
        slopes.append((of_a * b.data + a.data * of_b) * scale if product else of_a + 0.5 * of_b)
    order = topological_order(nodes[-1])
    assert len(set(order)) == len(order)
    assert order[-1] is nodes[-1]
    for place, node in enumerate(order):
        assert all(parent in order[:place] for parent in node.parents)
    if nodes[-1].requires_grad:
        arrived = backward([node for node in order[::-1] if node.requires_grad], np.asarray(1.0))
        assert arrived[x] == pytest.approx(slopes[-1], rel=1e-9, abs=1e-12)
