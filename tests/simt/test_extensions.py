"""Functions that mean in a kernel what `numba.cuda.extending.overload` says."""

import numpy as np
import pytest

import simt
from simt import cuda

from .harness import launch

extending = pytest.importorskip("numba.cuda.extending")
types = pytest.importorskip("numba.cuda.types")
errors = pytest.importorskip("numba.cuda.core.errors")


def widened(x, step=1):
    """What a CPU does."""


@extending.overload(widened)
def _widened(x, step=1):
    if isinstance(x, types.Integer):

        def body(x, step=1):
            return x + step
    elif isinstance(x, types.Float):

        def body(x, step=1):
            return x * 100 * step
    elif isinstance(x, types.Array):

        def body(x, step=1):
            total = 0.0
            for value in x:
                total += value
            return total * step
    else:
        return None
    return body


def kernel(a, out):
    i = cuda.grid(1)
    out[i] = widened(i) + widened(np.float64(a[i]), 2) + widened(a[i:], step=3)


@extending.overload_attribute(types.Array, "final")
def _final(array):
    if isinstance(array.dtype, types.Float):
        return lambda array: array[len(array) - 1]
    return lambda array: -array[len(array) - 1]


def of_arrays(a, whole, out):
    i = cuda.grid(1)
    out[i] = a[: i + 1].final + whole.final


@extending.intrinsic
def zero(context):
    return types.int64(), lambda context, builder, signature, args: context.get_constant(*args)


class Interval:
    """What only LLVM's instructions make in a kernel."""

    def __init__(self, low, high):
        self.low, self.high = low, high


@extending.type_callable(Interval)
def _made(context):
    return lambda low, high: types.UniTuple(types.float64, 2)


def calls_llvm(out):
    i = cuda.grid(1)
    out[i] = zero()


def makes_by_llvm(out):
    out[0] = Interval(1.0, 2.0)[0]


def mistaken(out):
    out[0] = widened((1, 2))


def test_an_overload_is_chosen_by_the_types_of_the_arguments() -> None:
    a, out = np.arange(4, dtype=np.float64), np.zeros(4)
    launch(kernel, 2, 2, a, out)
    i = np.arange(4)
    assert out.tolist() == (i + 1 + a * 200 + 3 * a[::-1].cumsum()[::-1]).tolist()


def test_types_without_an_overload_are_refused() -> None:
    with pytest.raises(simt.errors.KernelError, match="widened"):
        launch(mistaken, 1, 1, np.zeros(1))


def test_attributes_can_be_added_to_arrays() -> None:
    a, whole, out = np.arange(1.0, 5), np.array([3, 7]), np.zeros(4)
    launch(of_arrays, 2, 2, a, whole, out)
    assert out.tolist() == (a - 7).tolist()


@pytest.mark.parametrize(
    ("kernel", "name", "instead"),
    [(calls_llvm, "zero", "a device function"), (makes_by_llvm, "Interval", "a namedtuple")],
)
def test_what_is_llvm_text_is_refused_by_name(kernel, name, instead) -> None:
    line = kernel.__code__.co_firstlineno + (2 if kernel is calls_llvm else 1)
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(kernel, 1, 1, np.zeros(1))
    said = str(caught.value)
    assert f"line {line}: {name}() has no Python code for a kernel" in said
    assert f"Make it {instead}, or let xray(kernel, compiled=True)" in said


def scaled(x, mode="plain"):
    """What a CPU does."""


@extending.overload(scaled, prefer_literal=True)
def _scaled(x, mode="plain"):
    if isinstance(mode, types.StringLiteral) and mode.literal_value == "negated":
        return lambda x, mode="plain": -x
    if isinstance(x, types.IntegerLiteral):
        if x.literal_value > 9:
            raise errors.TypingError("too large")
        return lambda x, mode="plain": 1000 + x
    return lambda x, mode="plain": 100 * x


def only_literal(mode):
    """What a CPU does."""


@extending.overload(only_literal)
def _only_literal(mode):
    if not isinstance(mode, types.StringLiteral):
        return None
    factor = len(mode.literal_value)
    return lambda mode: factor


SEVEN = 7


def of_literals(n, out):
    once = 3
    again = other = once
    twice = 4
    if n > 2:
        twice = n
    out[0] = scaled(1)
    out[1] = scaled(-1)
    out[2] = scaled(1 + 1)
    out[3] = scaled(SEVEN)
    out[4] = scaled(again) + scaled(other)
    out[5] = scaled(twice)
    out[6] = scaled(n)
    out[7] = scaled(10)
    out[8] = scaled(n, "negated")
    out[9] = scaled(n, mode="negated")
    out[10] = only_literal("four")


def test_an_overload_that_prefers_literals_sees_what_the_text_of_a_kernel_says() -> None:
    out = np.zeros(11)
    launch(of_literals, 1, 1, 3, out)
    expected = [1001, 999, 1002, 1007, 2006, 300, 300, 1000, -3, -3, 4]
    np.testing.assert_array_equal(out, expected)
