"""The matrix product C = A·B with three loops."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from gpulearn.judge import compare, stubs
from gpulearn.judge.answers import where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.matmul import matmul_loops

Matrix = np.ndarray[Any, Any]
NOT_THREE = (
    "the result is right, but your own lines do not take n³ steps: something else runs over k, "
    "such as np.dot, np.sum or a whole row at a time. Write that loop too: three loops are what "
    "everything else is compared with."
)


def cases() -> list[Case]:
    """Products in which no two sizes, rows or columns can stand in for one another."""
    rng = np.random.default_rng(1)
    cases = []
    for m, n, p in ((2, 3, 4), (4, 4, 4), (5, 2, 3), (1, 6, 1), (3, 1, 5), (1, 1, 1)):
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        cases.append(Case(f"A of shape ({m}, {n}) and B of shape ({n}, {p})", (a, b)))
    whole = [rng.integers(-9, 9, size=s) for s in ((3, 4), (4, 2))]
    cases.append(Case("A and B of integers, (3, 4) and (4, 2)", tuple(whole)))
    whole_a = rng.integers(-9, 9, size=(2, 3)), rng.normal(size=(3, 4))
    cases.append(Case("A of integers (2, 3) and B with fractions (3, 4)", whole_a))
    whole_b = rng.normal(size=(4, 2)), rng.integers(-9, 9, size=(2, 3))
    cases.append(Case("A with fractions (4, 2) and B of integers (2, 3)", whole_b))
    single = [rng.normal(size=s).astype(np.float32, order="F") for s in ((3, 7), (7, 2))]
    cases.append(Case("float32 A (3, 7) and B (7, 2) in Fortran order", tuple(single)))
    return cases


@where_it_runs
def products_in(answer: Callable[..., Any]) -> list[str]:
    """Which of a library's matrix products an answer lets do the work."""
    products: list[str] = []

    class Spy(np.ndarray[Any, Any]):
        """An array that notes when a whole matrix product is done for it."""

        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
        ) -> Any:
            if ufunc is np.matmul and any(np.ndim(x) == 2 for x in inputs):
                products.append("NumPy's matmul (@)")
            if out is not None:
                kwargs["out"] = tuple(plain(x) for x in out)
            result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
            return result.view(Spy) if type(result) is np.ndarray else result

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            has_matrix = any(isinstance(x, Spy) and x.ndim == 2 for x in args)
            if func in (np.dot, np.einsum, np.tensordot, np.inner) and has_matrix:
                products.append(f"NumPy's {func.__name__}")
            return super().__array_function__(func, types, args, kwargs)

        def dot(self, *args: Any, **kwargs: Any) -> Any:
            if self.ndim == 2:
                products.append("NumPy's dot")
            return plain(self).dot(*args, **kwargs)

    def plain(x: Any) -> Any:
        return x.view(np.ndarray) if isinstance(x, Spy) else x

    try:
        answer((np.eye(3) + 1.0).view(Spy), np.arange(6.0).reshape(3, 2).view(Spy))
    except Exception:
        products.clear()  # an answer that does not take this kind of array has nothing to hide
    return products


def hidden_loops(answer: Callable[..., Any], outcomes: Sequence[Any]) -> str | None:
    """Whether a library's matrix product did the work that the loops were to do."""
    if products := products_in(answer):
        return (
            f"the result is right, but {products[0]} did the work. "
            f"Write the loops yourself: they are what everything else is compared with."
        )
    return None if loops_thrice(answer) else NOT_THREE


def same_mistake(one: Any, other: Any) -> bool:
    """Whether two products agree, whatever precision their sums were done in."""
    return compare.arrays(one.astype(np.float32), other.astype(np.float32)) is None


@where_it_runs
def loops_thrice(answer: Callable[..., Any]) -> bool:
    """Whether an answer's own lines take a number of steps that grows with n³.

    What it calls counts where it stands beside it, such as a helper of the same notebook.
    """
    function = stubs.unwrapped(answer)
    code, space = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    compiled = [hasattr(space.get(name), "py_func") for name in getattr(code, "co_names", ())]
    if code is None or any(compiled):
        return True  # its steps cannot be counted
    counts = [steps(function, np.ones((size, size))) for size in (2, 4, 6, 8)]
    return bool(np.diff(counts, 3)[0] > 0)  # 0 for whatever grows with n² or less


def steps(function: Callable[..., Any], matrix: Matrix) -> int:
    """How many steps Python takes in a function and in others of its module, for one product."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_globals is not function.__globals__:
            return None
        frame.f_trace_opcodes = True
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(matrix, matrix.copy())
    finally:
        sys.settrace(before)
    return count


EXERCISE = Exercise(
    task="Write C = A·B with three loops.",
    reference=matmul_loops,
    cases=cases,
    difference=compare.arrays,
    kinships=(same_mistake,),
    demand=hidden_loops,
)
