"""The operations of `gpulearn.nn.autograd`: each beside the rule by which a gradient passes it.

A pull takes the gradient of the result and the operands, and returns the gradient of one operand
as far as the formula says: of an operand that was repeated (broadcast), in the shape of the
result. `fitted` sums that up.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gpulearn.errors import BadInput
from gpulearn.nn import layers
from gpulearn.require import shown

Array = np.ndarray[Any, Any]
Axes = int | tuple[int, ...] | None


class Operation(NamedTuple):
    """A function of arrays, and for each of its operands how a gradient passes back to it."""

    name: str
    forward: Callable[..., Any]
    pulls: tuple[Callable[..., Array], ...]


def fitted(gradient: Array, operand: Array) -> Array:
    """A gradient in its operand's dtype, summed over the axes along which it was repeated.

    >>> fitted(np.ones((2, 3)), np.zeros((3,), np.float32))
    array([2., 2., 2.], dtype=float32)
    """
    more = gradient.ndim - operand.ndim
    sizes = (1,) * more + operand.shape
    repeated = tuple(i for i, n in enumerate(sizes) if n == 1 != gradient.shape[i] or i < more)
    summed = gradient.sum(repeated).reshape(operand.shape) if repeated else gradient
    return np.asarray(summed, operand.dtype)


def _sigmoid(x: Array) -> Any:
    """1 / (1 + exp(−x)), accurate at both ends and without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def _to_left(g: Array, x: Array, y: Array) -> Array:
    """∂/∂x of x @ y, the product of matrices; a vector is a row on the left, else a column."""
    if y.ndim == 1:
        return g[..., None] * y
    return (y @ g[..., None])[..., 0] if x.ndim == 1 else g @ y.swapaxes(-1, -2)


def _to_right(g: Array, x: Array, y: Array) -> Array:
    if x.ndim == 1:
        return x * g if y.ndim == 1 else x[:, None] * g[..., None, :]
    return (g[..., None, :] @ x)[..., 0, :] if y.ndim == 1 else x.swapaxes(-1, -2) @ g


ADD = Operation("+", np.add, (lambda g, x, y: g, lambda g, x, y: g))
SUBTRACT = Operation("−", np.subtract, (lambda g, x, y: g, lambda g, x, y: -g))
MULTIPLY = Operation("×", np.multiply, (lambda g, x, y: g * y, lambda g, x, y: g * x))
DIVIDE = Operation("÷", np.divide, (lambda g, x, y: g / y, lambda g, x, y: -g * x / y / y))
MATMUL = Operation("@", np.matmul, (_to_left, _to_right))
NEGATIVE = Operation("−", np.negative, (lambda g, x: -g,))
EXP = Operation("exp", np.exp, (lambda g, x: g * np.exp(x),))
LOG = Operation("log", np.log, (lambda g, x: g / x,))
TANH = Operation("tanh", np.tanh, (lambda g, x: g * (1 - np.tanh(x) ** 2),))
SIGMOID = Operation("sigmoid", _sigmoid, (lambda g, x: g * _sigmoid(x) * _sigmoid(-x),))
RELU = Operation("relu", layers.relu, (lambda g, x: layers.backward_relu(x, g),))


def power(exponent: Any) -> Operation:
    """Each element to a number; the slope of x⁰ is 0 at x = 0 as well."""
    if not isinstance(exponent, Real):
        raise BadInput(f"The exponent is {shown(exponent)}: give a number.")
    lower = exponent - 1 if exponent else 0
    pull = (lambda g, x: g * exponent * x**lower,)
    return Operation(f"^{exponent:g}", lambda x: x**exponent, pull)


def _spread(g: Array, x: Array, axis: Axes) -> Array:
    """A reduction's gradient, repeated over all elements that were reduced to one."""
    reduced = range(x.ndim) if axis is None else [i % x.ndim for i in np.atleast_1d(axis)]
    shape = [1 if i in reduced else n for i, n in enumerate(x.shape)]
    return np.broadcast_to(g.reshape(shape), x.shape)


def sum_over(axis: Axes = None, keepdims: bool = False) -> Operation:
    """The sum over axes."""
    pull = (lambda g, x: _spread(g, x, axis),)
    return Operation("sum", lambda x: x.sum(axis, keepdims=keepdims), pull)


def mean_over(axis: Axes = None, keepdims: bool = False) -> Operation:
    """The mean over axes."""
    pull = (lambda g, x: _spread(g, x, axis) * (g.size / x.size),)
    return Operation("mean", lambda x: x.mean(axis, keepdims=keepdims), pull)


def softmax_cross_entropy(labels: Any) -> Operation:
    """The mean loss of logits (n, classes) under labels (n,)."""
    slope: list[Array] = []  # found together with the loss

    def forward(x: Array) -> Any:
        loss, gradient = layers.softmax_cross_entropy(x, np.asarray(labels))
        slope.append(gradient)
        return loss

    return Operation("softmax cross-entropy", forward, (lambda g, x: g * slope[0],))


_UFUNCS: dict[Any, Operation] = {  # by the NumPy function that each is
    operation.forward: operation
    for operation in (ADD, SUBTRACT, MULTIPLY, DIVIDE, MATMUL, NEGATIVE, EXP, LOG, TANH)
}


def rule_of(ufunc: Any, plain: bool) -> Operation:
    """The operation that a NumPy function is, as in `np.exp(variable)`."""
    if not plain:  # array += variable comes as np.add(..., out=array)
        raise BadInput(f"np.{ufunc.__name__} makes a new Variable: write a = a + x, not a += x.")
    if ufunc not in _UFUNCS:
        known = ", ".join(f"np.{function.__name__}" for function in _UFUNCS)
        raise BadInput(f"np.{ufunc.__name__} has no rule for a Variable here: use {known}.")
    return _UFUNCS[ufunc]
