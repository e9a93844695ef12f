"""Reverse-mode automatic differentiation on NumPy arrays.

Every operation notes its operands and how a gradient passes back to each of them;
`topological_order` lists those notes, and `backward` walks them from the result on. Source: A.
Baydin et al., Automatic differentiation in machine learning: a survey, JMLR 18, 2018, section 3.2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.nn import gradients
from gpulearn.nn.gradients import Operation

Array = np.ndarray[Any, Any]


def _both_ways(operation: Operation) -> tuple[Callable[..., Variable], Callable[..., Variable]]:
    """The methods for `variable + other` and `other + variable`, say."""
    return lambda a, b: _applied(operation, a, b), lambda a, b: _applied(operation, b, a)


def _method(make: Callable[..., Operation]) -> Callable[..., Variable]:
    """The method for an operation on one operand, which may take arguments."""

    @functools.wraps(make)
    def method(self: Variable, *args: Any, **kwargs: Any) -> Variable:
        return _applied(make(*args, **kwargs), self)

    return method


class Variable:
    """An array that remembers how it was computed.

    `data` are real numbers of any shape; they are copied, and whole ones become float64. Other
    arrays and numbers in an operation are constants. `name` is what a picture of the graph calls
    it; `requires_grad` says whether its gradient is wanted.

    After `backward`, `grad` is ∂result/∂self, which in what was given adds up until `zero_grad`.
    `operation` and `parents` say how it was computed, and from what; "" and () if it was given.

    >>> x = Variable(3.0)
    >>> y = x * x + 2 * x
    >>> y.backward()
    >>> x.grad
    array(8.)
    """

    def __init__(self, data: Any, name: str = "", *, requires_grad: bool = True) -> None:
        self.data = require.real_array("data", data).copy()
        self.grad: Array | None = None
        self.name, self.operation, self.requires_grad = name, "", requires_grad
        self.parents: tuple[Variable, ...] = ()
        self._pulls: tuple[Callable[..., Array], ...] = ()
        self._arrays: tuple[Array, ...] = ()  # what the operation was given

    def __repr__(self) -> str:
        return f"Variable({np.array2string(self.data, separator=', ', prefix='Variable(')})"

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **more: Any) -> Variable:
        """What NumPy asks for `array @ variable` or `np.exp(variable)`."""
        plain = method == "__call__" and not more
        return _applied(gradients.rule_of(ufunc, plain), *operands)

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise BadInput(f"np.{function.__name__} takes no Variable: use a method, such as x.sum().")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `data`."""
        return tuple(self.data.shape)

    def order(self, every: bool = False) -> list[Variable]:
        """All that leads here and needs a gradient, or every operand; operands before results."""
        return [node for node in topological_order(self) if every or node.requires_grad]

    def shares(self, gradient: Any) -> list[tuple[Variable, Array]]:
        """What a gradient that arrives here means for each operand that needs one."""
        gradient = np.asarray(gradient)
        return [
            (p, gradients.fitted(pull(gradient, *self._arrays), p.data))
            for p, pull in zip(self.parents, self._pulls, strict=True)
            if p.requires_grad
        ]

    def backward(self, gradient: Any = None) -> None:
        """Find the gradient of this with respect to everything that it was computed from.

        `gradient` is what arrives here, of this shape; 1 unless given.
        """
        if not self.requires_grad:
            raise BadInput("backward has nothing to do: only constants lead to this result.")
        if gradient is None and self.data.size != 1:
            raise BadInput(
                f"backward starts from one number, and this has shape {self.shape}: take its "
                f".sum() or .mean(), or give the gradient that arrives here."
            )
        given = np.ones(self.shape) if gradient is None else gradient
        start = require.real_array("gradient", given)
        if start.shape != self.shape:
            raise BadInput(f"gradient has shape {start.shape}: give one of shape {self.shape}.")
        start = np.asarray(start, self.data.dtype)
        for node, found in backward(self.order()[::-1], start).items():
            again = node.grad is not None and not node.parents
            node.grad = np.asarray(node.grad + found if again else found)

    def zero_grad(self) -> None:
        """Forget the gradient, so that the next `backward` starts anew."""
        self.grad = None

    __add__, __radd__ = _both_ways(gradients.ADD)
    __sub__, __rsub__ = _both_ways(gradients.SUBTRACT)
    __mul__, __rmul__ = _both_ways(gradients.MULTIPLY)
    __truediv__, __rtruediv__ = _both_ways(gradients.DIVIDE)
    __matmul__, __rmatmul__ = _both_ways(gradients.MATMUL)
    __neg__ = _method(lambda: gradients.NEGATIVE)
    __pow__ = _method(gradients.power)
    exp, log = _method(lambda: gradients.EXP), _method(lambda: gradients.LOG)
    tanh, sigmoid = _method(lambda: gradients.TANH), _method(lambda: gradients.SIGMOID)
    relu = _method(lambda: gradients.RELU)
    sum, mean = _method(gradients.sum_over), _method(gradients.mean_over)
    softmax_cross_entropy = _method(gradients.softmax_cross_entropy)


def topological_order(result: Variable) -> list[Variable]:
    """A result and all that it was made from, each once, operands before results.

    It keeps a stack of its own: a long chain would exceed Python's limit on recursion. Source:
    T. Cormen et al., Introduction to Algorithms, section on topological sort.

    >>> x = Variable(3.0, "x")
    >>> [node.operation or node.name for node in topological_order(x * x + x)]
    ['x', '×', '+']
    """
    order: list[Variable] = []
    seen: set[Variable] = set()
    stack = [(result, False)]
    while stack:
        node, operands_done = stack.pop()
        if operands_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((parent, False) for parent in reversed(node.parents))
    return order


def backward(nodes: Sequence[Variable], gradient: Any) -> dict[Variable, Any]:
    """The gradients of a graph, collected from its result on.

    A node's turn comes when all that use it have sent their shares, which are added up. The nodes
    are all that leads to the result and needs a gradient, each after what uses it, so that the
    result is first; `gradient` is what arrives there. Source: Baydin et al., 2018, section 3.2.

    >>> x = Variable(3.0)
    >>> y = x * x + 2 * x
    >>> float(backward(y.order()[::-1], 1.0)[x])
    8.0
    """
    arrived = {nodes[0]: gradient}
    for node in nodes:
        for parent, share in node.shares(arrived[node]):
            arrived[parent] = arrived.get(parent, 0) + share
    return arrived


def _applied(operation: Operation, *operands: Any) -> Variable:
    """Compute, and note how."""
    like = next(operand for operand in operands if isinstance(operand, Variable))
    parents = tuple(o if isinstance(o, Variable) else _constant(o, like) for o in operands)
    arrays = tuple(parent.data for parent in parents)
    try:
        data = operation.forward(*arrays)
    except (ValueError, TypeError) as error:
        why = str(error) if isinstance(error, BadInput) or len(arrays) == 1 else "they do not fit."
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise BadInput(f"{operation.name} on shape {shapes}: {why}") from None
    result = Variable(0.0, requires_grad=any(parent.requires_grad for parent in parents))
    result.data = np.asarray(data, np.result_type(*arrays))
    result.operation, result.parents = operation.name, parents
    result._pulls, result._arrays = operation.pulls, arrays
    return result


def _constant(value: Any, like: Variable) -> Variable:
    """A constant beside a Variable; Python's numbers and whole ones take its dtype."""
    constant = Variable(value, requires_grad=False)
    if isinstance(value, Real) or np.asarray(value).dtype.kind != "f":
        constant.data = constant.data.astype(like.data.dtype)
    return constant
