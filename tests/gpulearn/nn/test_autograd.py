"""Variables and layers: gradients that add up, dtypes that stay, long chains, clear complaints."""

import gc
import sys

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.nn.autograd import Variable
from gpulearn.nn.layers import backward_conv2d, backward_relu, conv2d, softmax_cross_entropy


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
        y = ((2 * x + 1) / 3 - 0.5) ** 2 + x.sigmoid() + np.float64(2) * x
        y = y * np.ones(3, dtype) + np.arange(3) + np.array([True, False, True])
        z = y.mean() + (1 - y).sum()
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
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.array([0, 3])),
         r"labels\[1\] is 3: with 3 columns in logits, labels run from 0 to 2"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.array([-1, 0])), r"labels\[0\] is -1"),
        (lambda: softmax_cross_entropy(np.zeros((0, 3)), np.zeros(0, int)), "of an empty batch"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.zeros(2)), "labels has dtype float64"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.zeros((2, 3), int)), r"must be \(n\)"),
        (lambda: conv2d(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 3, 2))), "3 × 2 does not fit into"),
        (lambda: conv2d(np.zeros((1, 2, 3, 3)), np.zeros((1, 1, 2, 2))), "but c is 2 in images"),
        (lambda: backward_conv2d(*[np.zeros((1, 1, 3, 3))] * 3), r"the output.s is .1, 1, 1, 1."),
        (lambda: backward_relu(np.zeros(2), np.zeros(3)), r"x has shape \(2,\), gradient has sh"),
        (lambda: backward_relu(1.0, np.zeros(3)), "x is 1.0: give an array"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        call()


def test_numpy_functions_of_variables_are_their_methods():
    array = np.array([[1.0, 2.0], [3.0, 5.0]])
    x, y = Variable(array), Variable(array)
    by_numpy = np.exp(-x) * np.log(x) + np.tanh(x)
    by_numpy = np.matmul(array, by_numpy) - np.divide(array, x)
    by_methods = array @ ((-y).exp() * y.log() + y.tanh()) - array / y
    for result in (by_numpy, by_methods):
        result.sum().backward()
    assert np.array_equal(by_numpy.data, by_methods.data)
    assert np.array_equal(x.grad, y.grad)
    x = Variable(np.float32([1, 2]))
    for result in (np.float64(2) * x, np.multiply(2, x), np.exp(x), np.float32([3, 4]) @ x):
        assert isinstance(result, Variable)
        assert result.data.dtype == np.float32


def test_it_shows_its_values():
    assert repr(Variable(np.float32([1, 2]))) == "Variable([1., 2.])"
    assert repr(gl.nn.Variable(3)) == "Variable(3.)"
