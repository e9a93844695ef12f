"""Every operation passes gradients as finite differences find them, whatever is broadcast."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.nn.autograd import Variable, backward, topological_order

SEEDS = st.integers(0, 999)


def compare(compute, *arrays, h=1e-6):
    """Hold the gradients of Σ weights · compute(…) against central differences."""
    inputs = [Variable(array) for array in arrays]
    result = compute(*inputs)
    weights = np.random.default_rng(5).normal(size=result.shape)
    result.backward(weights)
    for k, (array, one) in enumerate(zip(arrays, inputs, strict=True)):
        assert one.grad.shape == array.shape
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][place] += sign * h
                ends.append((compute(*map(Variable, moved)).data * weights).sum())
            slope = (ends[0] - ends[1]) / (2 * h)
            assert one.grad[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@st.composite
def broadcast_pair(draw):
    """Two shapes that NumPy broadcasts to one."""
    full = draw(st.lists(st.integers(1, 3), max_size=3))
    shapes = []
    for _ in range(2):
        kept = [1 if draw(st.booleans()) else n for n in full]
        shapes.append(tuple(kept[draw(st.integers(0, len(full))) :]))
    return shapes


TWO = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "maximum": lambda a, b: a.maximum(b),
}


@pytest.mark.parametrize("operation", TWO)
@settings(max_examples=25, deadline=None)
@given(broadcast_pair(), SEEDS)
def test_two_operands(operation, shapes, seed):
    rng = np.random.default_rng(seed)
    signs = [
        np.asarray(rng.choice([-1.0, 1.0], size=shape)) for shape in shapes
    ]  # away from 0, for ÷
    compare(TWO[operation], *(np.asarray(s * rng.uniform(0.5, 2, size=s.shape)) for s in signs))


ONE = {
    "neg": lambda x: -x,
    "power": lambda x: x**3,
    "root": lambda x: x**0.5,
    "inverse": lambda x: x**-2,
    "constant power": lambda x: x**0,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: (x - 1).relu(),
    "both sides": lambda x: 3 - x + 2 * x / 5 - 1 / x + (1 + x) * 2,
    "used twice": lambda x: x * x + x,
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(axis=1),
    "sum over axes, kept": lambda x: x.sum(axis=(0, -1), keepdims=True),
    "mean": lambda x: x.mean(),
    "mean over an axis, kept": lambda x: x.mean(axis=-1, keepdims=True),
    "max": lambda x: x.max(),
    "max over an axis": lambda x: x.max(axis=1),
    "max over axes, kept": lambda x: x.max(axis=(0, 2), keepdims=True),
    "reshape": lambda x: x.reshape(4, -1) * np.arange(6),
    "reshape by a tuple": lambda x: x.reshape((3, 8)),
    "transpose": lambda x: x.T * np.arange(2),
    "transpose by axes": lambda x: x.transpose(1, -1, 0) * np.arange(2),
    "slice": lambda x: x[:, 1:, ::2],
    "element": lambda x: x[1, 2, 3],
    "repeated index": lambda x: x[[0, 1, 0]],
    "mask": lambda x: x[x.data > 1],
}


@pytest.mark.parametrize("operation", ONE)
def test_one_operand(operation):
    compare(ONE[operation], np.random.default_rng(3).uniform(0.5, 2, size=(2, 3, 4)))


MATRICES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)),
            ((3,), (5, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
            ((1, 2, 3), (4, 3, 2)), ((2, 1, 2, 3), (4, 3, 2))]  # fmt: skip


@pytest.mark.parametrize("shapes", MATRICES, ids=str)
def test_matrix_products(shapes):
    rng = np.random.default_rng(4)
    compare(lambda a, b: a @ b, *(rng.normal(size=shape) for shape in shapes))


def test_layers():
    rng = np.random.default_rng(6)
    labels = np.array([2, 0, 1])
    compare(lambda x: x.softmax_cross_entropy(labels), rng.normal(size=(3, 4)))
    compare(lambda x, k: x.conv2d(k), rng.normal(size=(2, 2, 4, 3)), rng.normal(size=(3, 2, 2, 2)))


def test_whole_network():
    rng = np.random.default_rng(7)
    images, labels = rng.normal(size=(3, 1, 4, 4)), np.array([1, 0, 1])

    def loss(kernels, bias, weights):
        seen = (Variable(images, requires_grad=False).conv2d(kernels) + bias).tanh()
        pooled = seen.reshape(3, 2, 1, 2, 1, 2).max(axis=(3, 5)) if seen.shape[2] == 2 else seen
        return (pooled.reshape(3, -1) @ weights).softmax_cross_entropy(labels)

    arrays = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(2, 1, 1)), rng.normal(size=(2, 2))
    compare(loss, *arrays)


def test_equal_ones_share():
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
    ("call", "said"),
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
def test_bad_input(call, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        call()


def test_numpy_functions_of_variables():
    array = np.array([[1.0, 2.0], [3.0, 5.0]])
    compare(lambda x: np.exp(-x) * np.log(x) + np.tanh(np.maximum(x, 2.5)), array)
    compare(lambda x: np.matmul(array, x) - np.divide(array, x), array.T)
    x = Variable(np.float32([1, 2]))
    for made in (np.float64(2) * x, np.multiply(2, x), np.exp(x), np.float32([3, 4]) @ x):
        assert isinstance(made, Variable)
        assert made.data.dtype == np.float32


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
