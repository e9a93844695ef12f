"""The matrix product C = A·B with three loops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from gpulearn.judge import compare, stubs
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.matmul import matmul_loops

Matrix = np.ndarray[Any, Any]
answers = Answers(matmul_loops)

PRODUCT = "a[i, k] * b[k, j]"
NOT_THREE = (
    "the result is right, but your own lines do not take n³ steps: something else goes through k, "
    "such as np.dot, np.sum or a whole row at a time. Write that loop too: three loops are what "
    "everything else is compared with."
)
CARRIED = {f"c[i, j] += {PRODUCT}": f"total += {PRODUCT}\n            c[i, j] = total"}


def cases() -> list[Case]:
    """Products in which no two sizes, rows or columns can stand in for one another."""
    rng = np.random.default_rng(1)
    cases = []
    for m, n, p in ((2, 3, 4), (4, 4, 4), (5, 2, 3), (1, 6, 1), (3, 1, 5), (1, 1, 1)):
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        cases.append(Case(f"A of shape ({m}, {n}) and B of shape ({n}, {p})", (a, b)))
    whole = [rng.integers(-9, 9, size=s) for s in ((3, 4), (4, 2))]
    cases.append(Case("A and B of whole numbers, (3, 4) and (4, 2)", tuple(whole)))
    whole_a = rng.integers(-9, 9, size=(2, 3)), rng.normal(size=(3, 4))
    cases.append(Case("A of whole numbers (2, 3) and B with fractions (3, 4)", whole_a))
    whole_b = rng.normal(size=(4, 2)), rng.integers(-9, 9, size=(2, 3))
    cases.append(Case("A with fractions (4, 2) and B of whole numbers (2, 3)", whole_b))
    single = [rng.normal(size=s).astype(np.float32) for s in ((3, 7), (7, 2))]
    cases.append(Case("float32 A (3, 7) and B (7, 2)", tuple(single)))
    return cases


def hidden_loops(answer: Callable[..., Any], outcomes: Sequence[Any]) -> str | None:
    """Whether a library's matrix product did the work that the loops were to do."""
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
    if not products and not loops_thrice(answer):
        return NOT_THREE
    if products:
        return (
            f"the result is right, but {products[0]} did the work. "
            f"Write the loops yourself: they are what everything else is compared with."
        )
    return None


def same_mistake(one: Any, other: Any) -> bool:
    """Whether two products agree, whatever precision their sums were done in."""
    return compare.arrays(one.astype(np.float32), other.astype(np.float32)) is None


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


@answers.wrong("a * b multiplies element by element; C[i, j] is a sum over k.")
def elementwise(a: Matrix, b: Matrix) -> Matrix:
    return a * b


answers.edit(
    {"+=": "="},
    "each product overwrites the one before: only the last k is left in C[i, j]. Add with +=.",
)
answers.edit(
    {"range(n)": "range(n - 1)"}, "the sum stops one early: k runs over all n, 0 to n − 1."
)
answers.edit(
    {"range(n)": "range(1, n)"}, "the sum leaves out k = 0: k runs over all n, 0 to n − 1."
)
answers.edit({"b[k, j]": "b[j, k]"}, "B is read as B[j, k]; the sum needs B[k, j].")
answers.edit({"a[i, k]": "a[k, i]"}, "A is read as A[k, i]; the sum needs A[i, k].")
answers.edit({"return c": "return c.T"}, "rows and columns of the result are swapped.")


@answers.wrong("this is B·A; the order of a matrix product matters.")
def swapped(a: Matrix, b: Matrix) -> Matrix:
    return b @ a


answers.edit(
    {"m, n = a.shape\n    p = b.shape[1]": "m = n = p = a.shape[0]"},
    "all three loops run to the same size; A is (m, n), B is (n, p), C is (m, p).",
)
answers.edit(
    {"np.result_type(a, b)": "int", PRODUCT: f"int({PRODUCT})"},
    "the products lose their fractions: let C have the dtype of the inputs.",
)
answers.edit(
    {"np.result_type(a, b)": "a.dtype"},
    "C has the dtype of A: where that holds whole numbers, each sum loses its fraction. Leave "
    "dtype out, or take np.result_type(a, b).",
)
answers.edit(
    {"np.result_type(a, b)": "b.dtype"},
    "C has the dtype of B: where that holds whole numbers, each sum loses its fraction. Leave "
    "dtype out, or take np.result_type(a, b).",
)
answers.edit(
    {"    for i": "    total = 0.0\n    for i", **CARRIED},
    "the sum is never set back: each C[i, j] must start from zero.",
)
answers.edit(
    {"        for j": "        total = 0.0\n        for j", **CARRIED},
    "the sum goes on from one column to the next: each C[i, j] must start from zero.",
)
answers.edit(
    {
        "np.zeros((m, p), dtype=np.result_type(a, b))": "[[0.0] * p] * m",
        "c[i, j]": "c[i][j]",
        "return c": "return np.array(c)",
    },
    "all rows are one and the same list: [[0] * p] * m repeats it. Use np.zeros.",
)
answers.edit(
    {"np.zeros": "np.empty", ", dtype=np.result_type(a, b)": ""},
    "the sums begin with whatever memory held: np.empty fills in nothing, np.zeros begins at zero.",
)
answers.edit(
    {PRODUCT: f"{PRODUCT}\n                return c"},
    "only one product is ever done: is return inside the innermost loop?",
)
answers.edit(
    {"range(m)": "range(1, m)", "range(p)": "range(1, p)"},
    "row 0 and column 0 of C stay empty: all three loops count from 0.",
)
answers.edit(
    {"np.zeros": "np.ones"},
    "all elements are too large by 1: each sum begins at 0, so np.zeros and not np.ones.",
)
answers.edit(
    {"    return c": "        return c"}, "only the first row is filled: is return inside a loop?"
)
answers.edit(
    {"    return c": "            return c"}, "only C[0, 0] is filled: is return inside a loop?"
)


@answers.right
def other_order(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]), np.result_type(a, b))
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@answers.right
def with_accumulator(a: Matrix, b: Matrix) -> Matrix:
    rows = []
    for row in a:
        sums = []
        for j in range(len(b[0])):
            total = 0.0
            for k, value in enumerate(row):
                total += value * b[k][j]
            sums.append(total)
        rows.append(sums)
    return np.array(rows)


@answers.right
def by_a_helper(a: Matrix, b: Matrix) -> Matrix:
    c: Matrix = other_order(a, b)
    return c


@answers.right
def by_generators(a: Matrix, b: Matrix) -> Matrix:
    columns = b.T
    return np.array(
        [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in a]
    )


EXERCISE = Exercise(
    task="Write C = A·B with three loops.",
    reference=matmul_loops,
    cases=cases,
    difference=compare.arrays,
    kinships=(same_mistake,),
    demand=hidden_loops,
    answers=answers,
)
